const said = (message: unknown, more: object = {}): readonly unknown[] => [
  { type: "user", message, parent_tool_use_id: null, session_id: "", ...more },
];
const hi = { role: "user", content: [{ type: "text", text: "hi" }] };

/** A message that the SDK takes. */
export const acceptedMessages = said(hi);

/** What breaks each rule first. */
export const rejectedMessages: readonly (readonly [rule: string, why: string, messages: unknown])[] = [
  ["messages", "nothing to iterate over", []],
  ["messages", "another type", said(hi, { type: "assistant" })],
  ["messages", "no session", said(hi, { session_id: undefined })],
  ["messages", "a field of its own events", said(hi, { isReplay: true })],
  [
    "messages",
    "content beside the message",
    [{ type: "user", content: hi.content, parent_tool_use_id: null, session_id: "" }],
  ],
  ["user-role", "an assistant's turn", said({ ...hi, role: "assistant" })],
  ["content", "a blank text", said({ role: "user", content: [{ type: "text", text: " " }] })],
  [
    "content",
    "a result of nothing",
    said({ role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] }),
  ],
];
