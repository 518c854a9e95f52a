import { isRecord } from "../../plain-values.js";
import { anthropicBreaches } from "../anthropic/rules.js";
import { fields, object, oneOf, text } from "../anthropic/shape.js";
import type { ProviderRule } from "../rule.js";

const source = "@anthropic-ai/claude-agent-sdk, sdk.d.ts (stored copy read 2026-11-21)";

/** What its input is iterated over for; `isSynthetic`, `uuid` and others of its fields are not for a new message. */
const message = fields({
  type: oneOf("user"),
  message: object,
  parent_tool_use_id: (value, path) => (value === null ? [] : text(value, path)),
  session_id: text,
});

/** What the Claude Agent SDK asks of the messages of its prompt. */
export const claudeAgentRules: readonly ProviderRule<unknown>[] = [
  {
    id: "messages",
    source,
    check: (messages) => {
      if (!Array.isArray(messages) || messages.length === 0) return [{ path: "", problem: "no message" }];
      return messages.flatMap((each, index) => message(each, String(index)));
    },
  },
  {
    id: "user-role",
    source: `${source}: a message of another role ends the process`,
    check: (messages) =>
      inner(messages).flatMap(({ role }, index) =>
        role === "user"
          ? []
          : [{ path: `${index}.message.role`, problem: `Expected message role 'user', got '${role}'` }],
      ),
  },
  {
    id: "content",
    source: "the rules of Anthropic's Messages API, to which it is sent",
    check: (messages) =>
      anthropicBreaches({ model: "claude-opus-5-5", max_tokens: 1, messages: inner(messages) }).map(
        ({ path, problem }) => ({ path, problem }),
      ),
  },
];

function inner(messages: unknown): readonly Record<string, unknown>[] {
  if (!Array.isArray(messages)) return [];
  return messages.map((each: unknown) => (isRecord(each) && isRecord(each.message) ? each.message : {}));
}
