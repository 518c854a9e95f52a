import { isRecord } from "../internal/shape.js";
import type { Part } from "./turns.js";

/** Members by which providers name blocks and pair calls with their results. */
const idMembers = ["id", "call_id", "tool_call_id", "tool_use_id", "toolUseId"];

const maxTokens = 1000;
/** An id has more to it than a word: `c` or `content` may be in a message by chance. */
const isIdLike = (word: string) => word.length > 3 && /[\d_-]/.test(word);

/**
 * The part that an error names by its id, and the id, as in "The encrypted content for item rs_1 could not be verified": the
 * first id in its message that the request has.
 */
export function partNamedIn(
  message: string,
  value: unknown,
  marks: ReadonlyMap<object, Part>,
): { readonly id: string; readonly part: Part } | undefined {
  const words = message.match(/[A-Za-z0-9_-]+/g)?.slice(0, maxTokens) ?? [];
  const named = new Set(words.filter(isIdLike));
  const found = new Map<string, Part>();
  const look = (at: unknown, around: Part | undefined): void => {
    if (typeof at !== "object" || at === null || ArrayBuffer.isView(at)) return;
    const part = marks.get(at) ?? around;
    if (part !== undefined && isRecord(at)) {
      for (const member of idMembers) {
        const id = at[member];
        if (typeof id === "string" && named.has(id) && !found.has(id)) found.set(id, part);
      }
    }
    for (const field of Object.values(at)) look(field, part);
  };
  look(value, undefined);
  for (const id of named) {
    const part = found.get(id);
    if (part !== undefined) return { id, part };
  }
  return undefined;
}
