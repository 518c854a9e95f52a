import type { Fault, ProviderRule } from "../rule.js";
import { isRecent } from "./models.js";
import { type AnthropicRequest, textOf } from "./request.js";
import { isPaused } from "./server-tools.js";
import { sources } from "./sources.js";

/** White space as either side may understand it: what JavaScript trims, and what Python does besides. */
const space = String.raw`[\s\u001c-\u001f\u0085]`;
const blank = new RegExp(`^${space}*$`, "u");
/** Whether text is nothing but white space, or nothing. */
export const isBlank = (text: string): boolean => blank.test(text);
const trailing = new RegExp(`${space}$`, "u");

/** Text, and what a request may end with. */
export const textRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "no-blank-text",
    source: sources.blankText,
    check: ({ blocks }) =>
      blocks.flatMap((block) => {
        const text = textOf(block);
        // With a cache marker it is refused for that.
        if (text === undefined || !isBlank(text) || block.value.cache_control != null) return [];
        const path = block.place === "system" ? "system" : "messages";
        const problem = `text content blocks must ${text === "" ? "be non-empty" : "contain non-whitespace text"}`;
        return [{ path, problem }];
      }),
  },
  {
    id: "no-empty-messages",
    source: sources.emptyMessage,
    check: ({ turns }) =>
      turns
        .filter(({ content, role }, index) => {
          const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
          return isEmpty && !(role === "assistant" && index === turns.length - 1);
        })
        .map(({ path }) => ({
          path,
          problem: "all messages must have non-empty content except for the optional final assistant message",
        })),
  },
  {
    id: "well-formed-strings",
    source: sources.surrogate,
    check: ({ json }) =>
      malformed(json).map((path) => ({
        path: "",
        problem: `The request body is not valid JSON: no low surrogate in string: ${path}`,
      })),
  },
  {
    id: "no-space-at-the-end",
    source: sources.trailingSpace,
    check: ({ model, turns }) => {
      if (isRecent(model)) return [];
      const last = turns.at(-1);
      const block = last?.role === "assistant" ? last.blocks.at(-1) : undefined;
      const text = block === undefined ? undefined : textOf(block);
      if (text === undefined || !trailing.test(text)) return [];
      return [{ path: "messages", problem: "final assistant content cannot end with trailing whitespace" }];
    },
  },
  {
    id: "no-prefill",
    source: `${sources.errors}#prefill-not-supported`,
    check: ({ model, turns }) => {
      const last = turns.at(-1);
      if (last?.role !== "assistant" || isPaused(last) || !isRecent(model)) return [];
      const problem =
        "This model does not support assistant message prefill. The conversation must end with a user message.";
      return [{ path: "", problem }];
    },
  },
  {
    id: "system-turns",
    source: sources.midConversation,
    check: ({ turns }) => turns.flatMap(misplacedSystem),
  },
  {
    id: "turn-scoped",
    source: `${sources.midConversation}#turn-scoped-system-messages`,
    check: ({ turns }) => turns.flatMap(wronglyScoped),
  },
];

function wronglyScoped({ role, clearAt, path, blocks }: AnthropicRequest["turns"][number]): readonly Fault[] {
  if (clearAt == null) return [];
  if (role !== "system")
    return [{ path: `${path}.clear_at`, problem: "clear_at is only permitted on role 'system' messages" }];
  if (clearAt !== "next_user_message") return [];
  const scoped = "a turn-scoped system message (clear_at: 'next_user_message')";
  // Blocks other than text are refused in any system message.
  return blocks
    .filter(({ value }) => value.cache_control != null)
    .map((block) => ({ path: block.path, problem: `cache_control is not permitted on ${scoped}` }));
}

function misplacedSystem(
  { role, path }: { readonly role: string; readonly path: string },
  index: number,
  turns: AnthropicRequest["turns"],
): readonly Fault[] {
  if (role !== "system" || turns[index - 1]?.role === "system") return [];
  const before = turns[index - 1];
  const after = turns.slice(index).find((turn) => turn.role !== "system");
  const follows = before !== undefined && (before.role === "user" || isPaused(before));
  if (follows && (after === undefined || after.role === "assistant")) return [];
  const problem = "a `system` message must follow a `user` message and precede an `assistant` message";
  return [{ path, problem }];
}

/** The paths of strings that are no UTF-16. */
function malformed(value: unknown, path = ""): readonly string[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [
    ...(key.isWellFormed() ? [] : [`${path}.${JSON.stringify(key)}`]),
    ...malformed(each, path === "" ? key : `${path}.${key}`),
  ]);
}
