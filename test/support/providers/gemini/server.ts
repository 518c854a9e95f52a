import {
  type Answer,
  type ProviderServer,
  type ReceivedRequest,
  serverSentEvents,
  startProvider,
} from "../local-server.js";
import { type Breach, breaches } from "../rule.js";
import { geminiStreamed } from "../streamed.js";
import { geminiRules } from "./rules.js";
import { geminiRequest } from "./wire.js";

/** What the server answers, in turn: a response of `generateContent`. The last is given again and again. */
export type GeminiScript = readonly Readonly<Record<string, unknown>>[];

/** Whose breaches Google reports with the field at fault, since they are found before the request is understood. */
const fieldRules = [
  "data-is-base64",
  "signatures-are-base64",
  "fields-are-known",
  "arguments-and-responses-are-objects",
  "text-is-unicode",
];

/**
 * Starts the Gemini API as far as it is documented: it takes what its rules allow, and refuses the rest in its own words.
 *
 * @see https://cloud.google.com/apis/design/errors, and for details https://github.com/google-gemini/gemini-cli/issues/14368
 * (both read as stored copies on 2026-11-21)
 */
export function startGemini(script: GeminiScript): Promise<ProviderServer> {
  let asked = 0;
  return startProvider({
    breaches: (received) => {
      const request = geminiRequest(received);
      return request === undefined ? [notFound(received)] : breaches(request, geminiRules);
    },
    reply: ({ path }) => {
      const json = script[Math.min(asked++, script.length - 1)] ?? {};
      return path.includes(":streamGenerateContent") ? serverSentEvents(geminiStreamed(json, 5)) : { json };
    },
    refuse: refusal,
  });
}

function notFound({ path }: ReceivedRequest): Breach {
  return { rule: "address", path, problem: `no such method: ${path}` };
}

/** The error as the API writes it. */
function refusal({ rule, path, problem }: Breach): Answer {
  const violation = { field: path, description: problem };
  const details = [{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [violation] }];
  const error = {
    code: 400,
    message: problem,
    status: "INVALID_ARGUMENT",
    ...(fieldRules.includes(rule) ? { details } : {}),
  };
  return { status: 400, json: { error } };
}
