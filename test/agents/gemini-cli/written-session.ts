/** A session of several makers to write: texts, images, calls, failures, a compaction and an edit. */

import type { BlobStore, SessionEntry } from "sessile";
import type { ExportableSession } from "sessile/interop";
import { pixel } from "./chat-log.js";

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 9, 0, second)).toISOString();
const time = Date.UTC(2026, 10, 20, 9, 0, 0);
const image = { type: "image", data: pixel, mimeType: "image/png" } as const;

type Draft = SessionEntry extends infer E
  ? E extends SessionEntry
    ? Omit<E, "id" | "parentId" | "timestamp">
    : never
  : never;

/** A chain of entries with the ids e1, e2 and so on. */
export function chain(
  drafts: readonly Draft[],
  id = "0a1b2c3d-0000-4000-8000-000000000001",
): ExportableSession {
  const entries = drafts.map((draft, index): SessionEntry => {
    const { type, ...fields } = draft;
    const parentId = index === 0 ? null : `e${index}`;
    return { type, id: `e${index + 1}`, parentId, timestamp: at(index), ...fields } as SessionEntry;
  });
  return {
    header: { type: "session", version: 3, id, timestamp: at(0), cwd: "/srv/work", sessile: 1 },
    entries,
    leafId: entries.at(-1)?.id ?? null,
  };
}

export const said = (content: string | readonly unknown[]): Draft =>
  ({ type: "message", message: { role: "user", content, timestamp: time } }) as Draft;
export const replied = (content: readonly unknown[], maker: object = google): Draft =>
  ({
    type: "message",
    message: {
      role: "assistant",
      content,
      ...maker,
      usage: { input: 60, output: 25, cacheRead: 40, cacheWrite: 0, totalTokens: 125 },
      stopReason: "stop",
      timestamp: time,
    },
  }) as Draft;
export const resulted = (toolCallId: string, content: readonly unknown[], isError = false): Draft =>
  ({
    type: "message",
    message: { role: "toolResult", toolCallId, toolName: "look", content, isError, timestamp: time },
  }) as Draft;
export const words = (text: string) => ({ type: "text", text }) as const;
export const called = (id: string, args: unknown = { path: id }) =>
  ({ type: "toolCall", id, name: "look", arguments: args }) as const;
export const google = { provider: "google", model: "gemini-2.5-pro", api: "google-generative-ai" };
export const anthropic = { provider: "anthropic", model: "claude-sonnet-4-6", api: "anthropic-messages" };

/** The beginning of the session, which its compaction covers. */
const start: readonly Draft[] = [
  said([words("What is this?"), image]),
  replied([words("Let me look."), called("toolu_1"), called("toolu_2")], anthropic),
  resulted("toolu_1", [words("a picture"), image]),
  resulted("toolu_2", [words("no such file")], true),
  replied([words("A pixel.")], anthropic),
];

/** A session with all that the agent has to understand. */
export const rich: ExportableSession = chain([
  ...start,
  said("/etc/hosts: what is in it?"),
  replied([{ type: "thinking", thinking: "I read it." }, words("Both."), called("c3"), called("c4")]),
  resulted("c4", [words("second")]),
  resulted("c3", [words("first"), words("more of it")]),
  { type: "session_info", name: "Pixels" },
  replied([words("Hosts.")]),
  said([image]),
  replied([words("Again a pixel."), called("c5")]),
]);

/** A reply with a text between its calls. */
export const interleaved: ExportableSession = chain([
  said("Look."),
  replied([words("One."), called("c1"), words("And the other."), called("c2")]),
  resulted("c1", [words("first")]),
  resulted("c2", [words("second")]),
  replied([words("Both.")]),
]);

/** The same with a compaction that keeps the last messages of the beginning. */
export const compacted: ExportableSession = chain([
  ...start,
  said("Go on."),
  {
    type: "compaction",
    summary: "They looked at a pixel.",
    firstKeptEntryId: "e5",
    retain: ["e1"],
    tokensBefore: 5000,
  },
  replied([words("I go on."), called("c6")]),
  resulted("c6", [words("done")]),
]);

export const noBlobs: Pick<BlobStore, "get"> = {
  get: () => Promise.reject(new Error("no blob")),
};
