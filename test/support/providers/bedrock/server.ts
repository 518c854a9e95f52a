import { type Answer, type ProviderServer, startProvider } from "../local-server.js";
import { type Breach, breaches } from "../rule.js";
import { bedrockStreamed } from "../streamed.js";
import { eventStreamFrames } from "./event-stream.js";
import { bedrockRules } from "./rules.js";
import { bedrockRequest } from "./wire.js";

/** What the server answers, in turn: a response of `Converse`. The last is given again and again. */
export type BedrockScript = readonly Readonly<Record<string, unknown>>[];

/**
 * Starts Bedrock's Converse as far as it is documented: it takes what its rules allow, and refuses the rest as Bedrock does.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and for errors
 * https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html (both read as stored copies on 2026-11-21)
 */
export function startBedrock(script: BedrockScript): Promise<ProviderServer> {
  let asked = 0;
  return startProvider({
    breaches: (received) => {
      const request = bedrockRequest(received);
      return request === undefined
        ? [{ rule: "address", path: received.path, problem: "no such operation" }]
        : breaches(request, bedrockRules);
    },
    reply: ({ path }) => {
      const json = script[Math.min(asked++, script.length - 1)] ?? {};
      if (!path.endsWith("/converse-stream")) return { json };
      const bytes = eventStreamFrames(bedrockStreamed(json, 5) as Readonly<Record<string, unknown>>[]);
      return { headers: { "content-type": "application/vnd.amazon.eventstream" }, bytes };
    },
    refuse: refusal,
  });
}

/** The error as Bedrock writes it: its name is in a header, and all places are in its words. */
function refusal({ problem }: Breach): Answer {
  return {
    status: 400,
    headers: { "x-amzn-errortype": "ValidationException:http://internal.amazon.com/coral/" },
    json: { message: problem },
  };
}
