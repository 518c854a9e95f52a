import type { Fault, ProviderRule } from "../rule.js";
import {
  type BedrockRequest,
  constraint,
  isClaude,
  messagesOf,
  record,
  type WireBlock,
  type WireMessage,
  within,
} from "./wire.js";

type Rule = ProviderRule<BedrockRequest>;

const reference = "https://docs.aws.amazon.com/bedrock/latest/APIReference";
const read = "(read 2026-11-21)";

const roles: Rule = {
  id: "roles-are-user-or-assistant",
  source: `${reference}/API_runtime_Message.html (role; a system message is for changes of tools) ${read}`,
  check: (request) =>
    messagesOf(request)
      .filter(({ role }) => role !== "user" && role !== "assistant")
      .map(({ path }) => constraint(`${path}.role`, "Member must satisfy enum value set: [user, assistant]")),
};

const userFirst: Rule = {
  id: "the-user-begins",
  source: `https://github.com/langgenius/dify/issues/12340 ${read}`,
  check: (request) => {
    const [first] = messagesOf(request);
    return first?.role === "user"
      ? []
      : [
          {
            path: "messages",
            problem:
              "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
          },
        ];
  },
};

const alternate: Rule = {
  id: "roles-alternate",
  source: `https://github.com/langchain-ai/langchain-aws/issues/192 ${read}`,
  check: (request) => {
    const messages = messagesOf(request);
    return messages
      .filter(({ role }, at) => at > 0 && role === messages[at - 1]?.role)
      .map(({ path }) => ({
        path,
        problem:
          "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
      }));
  },
};

const uses = (message: WireMessage | undefined) => ofKind(message, "toolUse");
const results = (message: WireMessage | undefined) => ofKind(message, "toolResult");
const idOf = ({ value }: WireBlock): unknown => record(value).toolUseId;

function ofKind(message: WireMessage | undefined, kind: string): readonly WireBlock[] {
  return message?.content.filter((block) => block.kind === kind) ?? [];
}

const answered: Rule = {
  id: "calls-have-results-in-the-next-message",
  source: `https://github.com/agno-agi/agno/issues/6698 ${read}`,
  check: (request) => {
    const messages = messagesOf(request);
    return messages.flatMap((message, at) => {
      const given = new Set(results(messages[at + 1]).map(idOf));
      const missing = uses(message)
        .map(idOf)
        .filter((id) => !given.has(id));
      const path = `messages.${at + 1}.content`;
      return missing.length === 0
        ? []
        : [
            {
              path,
              problem: `Expected toolResult blocks at ${path} for the following Ids: ${missing.join(", ")}`,
            },
          ];
    });
  },
};

const noOrphans: Rule = {
  id: "results-answer-calls",
  source: `https://github.com/strands-agents/harness-sdk/issues/1435 ${read}`,
  check: (request) => {
    const messages = messagesOf(request);
    return messages.flatMap((message, at) => {
      const asked = new Set(uses(messages[at - 1]).map(idOf));
      const path = `${message.path}.content`;
      return results(message).every((result) => asked.has(idOf(result)))
        ? []
        : [
            {
              path,
              problem: `The number of toolResult blocks at ${path} exceeds the number of toolUse blocks of previous turn.`,
            },
          ];
    });
  },
};

const resultsFirst: Rule = {
  id: "results-come-first",
  source: `https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use (results before text, or the API answers 400) ${read}`,
  check: (request) =>
    isClaude(request.model)
      ? messagesOf(request).flatMap(({ path, content }) => {
          const last = content.findLastIndex(({ kind }) => kind === "toolResult");
          return content.slice(0, last + 1).every(({ kind }) => kind === "toolResult")
            ? []
            : [
                {
                  path,
                  problem: `The model returned the following errors: ${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
                },
              ];
        })
      : [],
};

const uniqueIds: Rule = {
  id: "ids-are-unique",
  source: `https://github.com/BerriAI/litellm/issues/20047, and across messages https://github.com/anthropics/claude-code/issues/20901 ${read}`,
  check: (request) => [
    ...duplicates(request, "toolUse", uses),
    ...duplicates(request, "toolResult", results),
  ],
};

function duplicates(
  request: BedrockRequest,
  kind: string,
  blocks: (message: WireMessage) => readonly WireBlock[],
): readonly Fault[] {
  const seen = new Set<unknown>();
  return messagesOf(request).flatMap((message) =>
    blocks(message).flatMap((block) => {
      const id = idOf(block);
      if (!seen.has(id)) {
        seen.add(id);
        return [];
      }
      const path = `${message.path}.content`;
      return [{ path, problem: `The ${kind} blocks at ${path} contain duplicate Ids: ${id}` }];
    }),
  );
}

const prefill: Rule = {
  id: "a-prefill-ends-in-no-white-space",
  source: `https://github.com/langchain-ai/langchain-aws/pull/599 ${read}`,
  check: (request) => {
    const last = messagesOf(request).at(-1);
    const words = last?.role === "assistant" ? last.content.at(-1)?.fields.text : undefined;
    return typeof words === "string" && words !== words.trimEnd()
      ? [
          {
            path: `${last?.path}`,
            problem:
              "The model returned the following errors: messages: final assistant content cannot end with trailing whitespace",
          },
        ]
      : [];
  },
};

/** Claude from 4.6 on. */
const noPrefill: Rule = {
  id: "newer-models-want-the-last-word-from-the-user",
  source: `https://github.com/NousResearch/hermes-agent/pull/101401 ${read}`,
  check: (request) => {
    const last = messagesOf(request).at(-1);
    return last?.role === "assistant" && /claude-(opus|sonnet|haiku)-(4-[6-9]|[5-9])/.test(request.model)
      ? [
          {
            path: last.path,
            problem:
              "The model returned the following errors: This model does not support assistant message prefill. The conversation must end with a user message.",
          },
        ]
      : [];
  },
};

const toolsDeclared: Rule = {
  id: "tools-are-declared-where-they-are-used",
  source: `https://github.com/vxcontrol/pentagi/pull/196 ${read}`,
  check: (request) => {
    const used = messagesOf(request).some((message) => uses(message).length + results(message).length > 0);
    return used && request.body.toolConfig === undefined
      ? [
          {
            path: "toolConfig",
            problem: "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
          },
        ]
      : [];
  },
};

const failuresSayWhy: Rule = {
  id: "failed-results-say-something",
  source: `https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15 ${read}`,
  check: (request) =>
    messagesOf(request).flatMap((message) =>
      results(message)
        .filter((result) => record(result.value).status === "error" && within(result).length === 0)
        .map(({ path }) => ({
          path: `${path}.toolResult`,
          problem: `The content field at ${path}.toolResult cannot be empty when status value is error.`,
        })),
    ),
};

/** Live checks of what may stand in and beside results. */
const familyChecks = "https://github.com/pydantic/pydantic-ai/pull";
const isAlone = (model: string) => /\b(?:meta|llama|mistral|pixtral|writer|palmyra)/.test(model);

const resultsAlone: Rule = {
  id: "results-stand-alone",
  source: `${familyChecks}/6098, and of Writer ${familyChecks}/6318 (read 2026-11-22)`,
  check: (request) =>
    messagesOf(request).flatMap((message) => {
      const given = results(message).length;
      if (!isAlone(request.model) || given === 0 || given === message.content.length) return [];
      const path = `${message.path}.content`;
      const problem = `The model returned the following errors: ${path}: tool results have to be alone in their message`;
      return [{ path, problem }];
    }),
};

const textDocumentsApart: Rule = {
  id: "text-documents-are-not-beside-results",
  source: `${familyChecks}/6098 and https://github.com/pydantic/pydantic-ai/issues/6081 (read 2026-11-22)`,
  check: (request) =>
    messagesOf(request).flatMap((message) => {
      if (!isClaude(request.model) || results(message).length === 0) return [];
      return ofKind(message, "document")
        .filter(({ value }) => record(value).format !== "pdf")
        .map(({ path }) => ({
          path,
          problem: `The model returned the following errors: ${message.path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
        }));
    }),
};

/** What a result takes by the model: images, PDF, text documents. */
const inResults: readonly (readonly [RegExp, string])[] = [
  [/anthropic|claude|meta\.|llama/, "image pdf text"],
  [/\bnova\b/, "image text"],
  [/mistral|pixtral|writer|palmyra/, "pdf text"],
];

const mediaInResults: Rule = {
  id: "results-hold-what-the-model-takes",
  source: `${familyChecks}/6254 (read 2026-11-22)`,
  check: (request) => {
    const taken = inResults.find(([pattern]) => pattern.test(request.model))?.[1] ?? "";
    return messagesOf(request).flatMap((message) =>
      results(message).flatMap((result) =>
        within(result).flatMap(({ kind, value, path }) => {
          const type = kind === "document" ? (record(value).format === "pdf" ? "pdf" : "text") : kind;
          if ((kind !== "image" && kind !== "document") || taken.includes(type)) return [];
          return [{ path, problem: `This model doesn't support the ${kind} field for tool results.` }];
        }),
      ),
    );
  },
};

const failuresAreText: Rule = {
  id: "failed-results-are-text",
  source: `https://github.com/can1357/oh-my-pi/issues/12809 and https://github.com/pydantic/pydantic-ai/issues/6081 (read 2026-11-22)`,
  check: (request) =>
    messagesOf(request).flatMap((message) =>
      results(message).flatMap((result) => {
        if (!isClaude(request.model) || record(result.value).status !== "error") return [];
        return within(result)
          .filter(({ kind }) => kind === "image" || kind === "document")
          .map(({ path }) => ({
            path,
            problem: `The model returned the following errors: ${path}: all content must be type "text" if "is_error" is true`,
          }));
      }),
    ),
};

/** Who speaks when, and calls with their results. */
export const turnRules: readonly Rule[] = [
  roles,
  userFirst,
  alternate,
  answered,
  noOrphans,
  resultsFirst,
  uniqueIds,
  prefill,
  noPrefill,
  toolsDeclared,
  failuresSayWhy,
  resultsAlone,
  textDocumentsApart,
  mediaInResults,
  failuresAreText,
];
