import type { CallPart, ResultPart } from "./turns.js";

/** What targets say in words for which they have no form. Prompt caches live on these bytes, as on those of words.ts. */

/** A call as a text: its tool, its id and its arguments. */
export function callText({ name, id, arguments: input }: CallPart): string {
  return `[call of ${name}, ${id}]\n${JSON.stringify(input) ?? ""}`.trimEnd();
}

/** What stands before the parts of a result. */
export function resultHeading({
  name,
  callId,
  isError,
}: Pick<ResultPart, "name" | "callId" | "isError">): string {
  return `[${isError ? "error" : "result"} of ${name}, ${callId}]`;
}

/** Before instructions, where there is no other place for them. */
export const instructionsHeading = "[instructions]";

/** Before a conversation that is told to an agent as one prompt. */
export const transcriptOpening =
  "[What follows is a conversation from its beginning. Go on from its end, as the assistant.]";

/** Before what each side says in such a conversation. */
export const roleHeadings = { user: "[user]", assistant: "[assistant]" } as const;
