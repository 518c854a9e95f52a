import { decodeBase64 } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { allParts, contentsOf, type GeminiRequest, versionOf } from "./wire.js";

type Rule = ProviderRule<GeminiRequest>;

const page = "https://ai.google.dev/gemini-api/docs/thought-signatures";

/** What stands for a signature that there never was, so that a history of another model is taken. */
const dummySignatures = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

const prefix = "signed by ";

/** A signature as the server that the tests speak with makes them: one model's, about something. */
export const signatureOf = (model: string, about: string): string => btoa(`${prefix}${model}: ${about}`);

/** Protobuf's JSON takes the alphabet for addresses too, with padding or without. */
function bytesOf(signature: string): string | undefined {
  const plain = signature.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  const bytes = decodeBase64(plain.padEnd(Math.ceil(plain.length / 4) * 4, "="));
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

const base64: Rule = {
  id: "signatures-are-base64",
  source: "https://github.com/google-gemini/gemini-cli/issues/14368 (read 2026-11-21)",
  check: (request) =>
    signed(request).flatMap(({ path, signature }) =>
      typeof signature === "string" && bytesOf(signature) !== undefined
        ? []
        : [
            {
              path,
              problem: `Invalid value at '${path}' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(signature)}`,
            },
          ],
    ),
};

const valid: Rule = {
  id: "signatures-are-the-models-own",
  source:
    "https://github.com/earendil-works/pi/issues/471 and https://github.com/NousResearch/hermes-agent/pull/111559 (read 2026-11-21)",
  check: (request) =>
    signed(request).flatMap(({ path, signature }) => {
      if (typeof signature !== "string" || dummySignatures.includes(signature)) return [];
      const text = bytesOf(signature);
      return text === undefined || text.startsWith(`${prefix}${request.model}: `)
        ? []
        : [{ path, problem: "Corrupted thought signature." }];
    }),
};

const onCalls: Rule = {
  id: "the-first-call-of-each-step-is-signed",
  source: `${page} (from version 3, for the current turn; read 2026-11-21)`,
  check: (request) => {
    if (versionOf(request.model) < 3) return [];
    const contents = contentsOf(request);
    const turn = contents.findLastIndex(
      ({ role, parts }) => role === "user" && parts.some(({ response }) => !response),
    );
    return contents.slice(turn + 1).flatMap(({ parts }): Fault[] => {
      const first = parts.find(({ call }) => call !== undefined);
      if (first === undefined || typeof first.fields.thoughtSignature === "string") return [];
      return [
        {
          path: first.path,
          problem:
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, " +
            "and missing thought_signature may lead to degraded model performance. " +
            `Additional data, function call \`default_api:${first.call?.name}\` , position ${contents.findIndex(({ parts: own }) => own === parts) + 1}.`,
        },
      ];
    });
  },
};

const onOwnParts: Rule = {
  id: "only-the-model-signs",
  source: `${page} (signatures come with a model's parts and go back where they were; read 2026-11-21)`,
  check: (request) =>
    contentsOf(request)
      .filter(({ role }) => role !== "model")
      .flatMap(({ parts }) => parts)
      .filter(({ fields }) => fields.thoughtSignature !== undefined || fields.thought !== undefined)
      .map(({ path }) => ({ path, problem: "Request contains an invalid argument." })),
};

function signed(request: GeminiRequest): readonly { path: string; signature: unknown }[] {
  return allParts(request).flatMap(({ path, fields }) =>
    fields.thoughtSignature === undefined
      ? []
      : [{ path: `${path}.thought_signature`, signature: fields.thoughtSignature }],
  );
}

/** Thought signatures: sound, of the model itself, and where they must be. */
export const signatureRules: readonly Rule[] = [base64, valid, onCalls, onOwnParts];
