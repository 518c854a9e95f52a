/** A session with all that a rollout can say: two makers, images, errors, a compaction, an aborted turn. */

import type { SessionEntry } from "sessile";
import type { ExportableSession } from "sessile/interop";

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const start = Date.UTC(2026, 10, 23, 7);
const claude = { provider: "anthropic", model: "claude-opus-5", api: "anthropic-messages" };
const model = { model: "gpt-5.2-codex", api: "openai-responses" };
export const own = { ...model, provider: "mock" };
const usage = { input: 60, output: 20, cacheRead: 40, cacheWrite: 0, totalTokens: 120 };
const image = { type: "image", data: png, mimeType: "image/png" };
const text = (words: string, signature?: object) => ({
  type: "text",
  text: words,
  ...(signature === undefined ? {} : { textSignature: JSON.stringify(signature) }),
});
const call = (id: string, name: string, args: object, signature?: object) => ({
  type: "toolCall",
  id,
  name,
  arguments: args,
  ...(signature === undefined ? {} : { thoughtSignature: JSON.stringify(signature) }),
});
const user = (content: unknown) => ({ type: "message", message: { role: "user", content } });
const reply = (maker: object, stopReason: string, ...content: readonly object[]) => ({
  type: "message",
  message: {
    role: "assistant",
    ...maker,
    content,
    ...(stopReason === "aborted" ? {} : { usage }),
    stopReason,
  },
});
const result = (toolCallId: string, toolName: string, isError: boolean, ...content: readonly object[]) => ({
  type: "message",
  message: { role: "toolResult", toolCallId, toolName, content, isError },
});
const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Think." }],
  encrypted_content: "ENCX",
};

/** @param isCompacted whether it has its compaction; @param provider of the replies that came over Responses */
export function richSession(isCompacted: boolean, provider = "mock"): ExportableSession {
  const own = { ...model, provider };
  const drafts: readonly object[] = [
    {
      type: "custom_message",
      customType: "sessile.initial_context",
      content: "AGENTS.md says: be brief.",
      display: false,
    },
    user("first question"),
    reply(
      claude,
      "stop",
      { type: "thinking", thinking: "hm", thinkingSignature: "SIG" },
      text("First answer."),
    ),
    user([image, text("look")]),
    reply(
      claude,
      "toolUse",
      text("Two calls."),
      call("toolu_1", "bash", { cmd: "ls" }),
      call("toolu_2", "read", { path: "a" }),
    ),
    result("toolu_1", "bash", false, text("a.txt")),
    result("toolu_2", "read", true, text("an image:"), image),
    user("keep me"),
    reply(claude, "stop", text("Kept answer.")),
    ...(isCompacted
      ? [{ type: "compaction", summary: "They talked.", firstKeptEntryId: "00001007", tokensBefore: 1000 }]
      : []),
    { type: "model_change", provider, modelId: "gpt-5.2-codex" },
    user("after compaction"),
    reply(
      own,
      "toolUse",
      { type: "thinking", thinking: "Think.", thinkingSignature: JSON.stringify(reasoning) },
      text("Own.", { v: 1, id: "msg_1" }),
      call("call_9|fc_9", "shell", { a: 1 }),
      call("call_10", "apply_patch", { input: "*** Begin Patch" }, { v: 1, custom: "ctc_1" }),
    ),
    result("call_9|fc_9", "shell", false, text("ok")),
    result("call_10", "apply_patch", false, text("done")),
    reply(own, "stop", text("Finished.")),
    { type: "session_info", name: "A name" },
    user("stop it"),
    reply(own, "aborted", text("Stopping")),
  ];
  const idAt = (at: number) => (0x1000 + at).toString(16).padStart(8, "0");
  const entries = drafts.map((draft, at) => {
    const time = start + (at + 1) * 1000;
    const message = "message" in draft ? { message: { ...(draft.message as object), timestamp: time } } : {};
    const place = {
      id: idAt(at),
      parentId: at === 0 ? null : idAt(at - 1),
      timestamp: new Date(time).toISOString(),
    };
    return { ...draft, ...message, ...place };
  }) as unknown as readonly SessionEntry[];
  const id = `0199aaaa-bbbb-4ccc-8ddd-${isCompacted ? "eeeeeeeeeeee" : "ffffffffffff"}`;
  const header = { type: "session", version: 3, id, timestamp: new Date(start).toISOString() } as const;
  return {
    header: { ...header, cwd: "/srv/app/work", sessile: 1 },
    entries,
    leafId: entries.at(-1)?.id ?? null,
  };
}
