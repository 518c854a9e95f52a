import { decodeBase64 } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { type BedrockRequest, blocksOf, isClaude, messagesOf, record, type WireBlock } from "./wire.js";

type Rule = ProviderRule<BedrockRequest>;

const reference = "https://docs.aws.amazon.com/bedrock/latest/APIReference";
const read = "(read 2026-11-21)";

const prefix = "signed by ";

/** A signature, or withheld reasoning, as the server that the tests speak with makes them. */
export const signatureOf = (model: string, about: string): string => btoa(`${prefix}${model}: ${about}`);

function isOf(model: string, base64: unknown): boolean {
  const bytes = typeof base64 === "string" ? decodeBase64(base64) : undefined;
  return bytes !== undefined && new TextDecoder().decode(bytes).startsWith(`${prefix}${model}: `);
}

/** Claude alone signs; other models refuse the field. */
const signed: Rule = {
  id: "reasoning-is-signed-by-the-model",
  source: `https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html and https://github.com/maximhq/bifrost/pull/6942 ${read}`,
  check: (request) =>
    reasoningOf(request).flatMap(({ path, value }): Fault[] => {
      const { reasoningText, redactedContent } = record(value);
      const { text, signature } = record(reasoningText);
      const place = `${path}.reasoningContent`;
      if ((reasoningText === undefined) === (redactedContent === undefined)) {
        const problem = `ReasoningContentBlock object at ${place} must set one of the following keys: reasoningText, redactedContent.`;
        return [{ path: place, problem }];
      }
      if (redactedContent !== undefined) {
        return isOf(request.model, redactedContent) ? [] : [invalid(place, "data", "redacted_thinking")];
      }
      if (!isClaude(request.model)) {
        const problem = "This model doesn't support the reasoningContent.reasoningText.signature field.";
        return signature === undefined ? [] : [{ path: place, problem }];
      }
      if (signature === undefined) {
        const problem = `The model returned the following errors: ${path}.thinking.signature: Field required`;
        return [{ path: place, problem }];
      }
      return typeof text === "string" && isOf(request.model, signature)
        ? []
        : [invalid(place, "signature", "thinking")];
    }),
};

function invalid(path: string, field: string, kind: string): Fault {
  return {
    path,
    problem: `The model returned the following errors: ${path}: Invalid \`${field}\` in \`${kind}\` block`,
  };
}

function reasoningOf(request: BedrockRequest): readonly WireBlock[] {
  return messagesOf(request).flatMap(({ content }) =>
    content.filter(({ kind }) => kind === "reasoningContent"),
  );
}

const notLast: Rule = {
  id: "reasoning-is-not-the-last-block",
  source: `https://github.com/tailcallhq/forgecode/issues/2107 ${read}`,
  check: (request) =>
    messagesOf(request)
      .filter(
        ({ content }) => content.findLast(({ kind }) => kind !== "cachePoint")?.kind === "reasoningContent",
      )
      .map(({ path }) => ({
        path,
        problem: `The model returned the following errors: ${path}: The final block in an assistant message cannot be \`thinking\`.`,
      })),
};

/** Every cache point in the order in which a prompt is read: tools, system, messages. With what stands before it in its list. */
function cachePoints({
  body,
}: BedrockRequest): readonly { point: WireBlock; before: WireBlock | undefined }[] {
  const lists = [
    blocksOf(record(body.toolConfig).tools, "toolConfig.tools"),
    blocksOf(body.system, "system"),
    ...messagesOf({ model: "", body }).map(({ content }) => content),
  ];
  return lists.flatMap((blocks) =>
    blocks.flatMap((point, at) => (point.kind === "cachePoint" ? [{ point, before: blocks[at - 1] }] : [])),
  );
}

const maxCachePoints = 4;
const cacheCount: Rule = {
  id: "cache-point-count",
  source: `https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html and https://github.com/UKGovernmentBEIS/inspect_ai/pull/5131 ${read}`,
  check: (request) => {
    const points = cachePoints(request);
    const over = points[maxCachePoints];
    return over === undefined
      ? []
      : [
          {
            path: over.point.path,
            problem: `The model returned the following errors: A maximum of ${maxCachePoints} blocks with cache_control may be provided. Found ${points.length}.`,
          },
        ];
  },
};

const cachePlaces: Rule = {
  id: "cache-point-places",
  source: `https://github.com/anomalyco/opencode/issues/36517, https://github.com/vercel/ai/issues/19851 and https://github.com/strands-agents/harness-sdk/issues/1966 ${read}`,
  check: (request) =>
    cachePoints(request).flatMap(({ point: { path }, before }): Fault[] => {
      if (before === undefined || before.kind === "cachePoint") {
        const problem =
          "There is nothing available to cache. Please remove the invalid cache point and try again.";
        return [{ path, problem }];
      }
      if (before.kind === "reasoningContent") {
        const problem =
          "Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.";
        return [{ path, problem }];
      }
      const plain = before.kind === "document" && record(before.value).format !== "pdf";
      return plain && isClaude(request.model)
        ? [{ path, problem: `The model returned the following errors: ${path}.type: Field required` }]
        : [];
    }),
};

const cacheKinds: Rule = {
  id: "cache-point-kinds",
  source: `${reference}/API_runtime_CachePointBlock.html; the order of times: https://github.com/Portkey-AI/gateway/issues/1762 ${read}`,
  check: (request) => {
    const points = cachePoints(request).map(({ point }) => ({ path: point.path, ...record(point.value) }));
    return points.flatMap(({ path, type, ttl }: Point, at): Fault[] => {
      const short = points.slice(0, at).some(({ ttl: earlier }: Point) => earlier !== "1h");
      const right = type === "default" && (ttl === undefined || ttl === "5m" || (ttl === "1h" && !short));
      return right ? [] : [{ path, problem: `The cache point at ${path} is not valid.` }];
    });
  },
};

interface Point {
  readonly path: string;
  readonly type?: unknown;
  readonly ttl?: unknown;
}

/** What a model left for itself, and what marks a prompt for its cache. */
export const stateRules: readonly Rule[] = [signed, notLast, cacheCount, cachePlaces, cacheKinds];
