import { createHash } from "node:crypto";
import { encodeEntry, type Message, type SessionEntry, type StoredResource } from "sessile";
import { makePng } from "../../examples/apps/support/make-media.js";

/**
 * The session of docs/guide/look.md, the same in every run: a compaction forgot a limit, an image is wider than
 * Anthropic accepts, and a copy is damaged.
 */
export function lookFiles(): Readonly<Record<string, string | Uint8Array>> {
  const id = "01a1f0c2-7c11-7d3e-9a55-0c5f6f2b1a10";
  const photo = makePng(9_000, 2);
  const { digest, resource } = stored("photo.png", photo, 9_000, 2);
  const header = {
    ...{ type: "session", version: 3, id, timestamp: timeOf(0), cwd: "/srv/app", sessile: 1 },
  };
  const lines = [JSON.stringify(header), ...entries(resource).map((entry) => encodeEntry(entry))];
  const cut = lines.map((line, at) => (at === 4 ? line.slice(0, 150) : line));
  return {
    [`.sessile/sessions/--srv-app--/2026-11-20T09-00-00-000Z_${id}.jsonl`]: `${lines.join("\n")}\n`,
    [`.sessile/blobs/sha256/${digest.slice(0, 2)}/${digest}`]: photo,
    // A line that a disk lost, and a write that was cut off.
    "backup.jsonl": `${cut.join("\n")}\n${lines.at(-1)?.slice(0, 90)}`,
  };
}

const start = Date.UTC(2026, 10, 20, 9);
const timeOf = (number: number) => new Date(start + number * 60_000).toISOString();
const idOf = (number: number) => `f000000${number.toString(16)}`;

function stored(name: string, bytes: Uint8Array, width: number, height: number) {
  const digest = createHash("sha256").update(bytes).digest("hex");
  const resource: StoredResource = {
    ...{ resourceId: "res_a18fcdbeff48ff84", kind: "image", name, mediaType: "image/png", width, height },
    ...{ size: bytes.length, contentSha256: digest, blob: `sha256:${digest}`, source: "upload" },
  };
  return { digest, resource };
}

function entries(photo: StoredResource): readonly SessionEntry[] {
  const list: SessionEntry[] = [];
  const place = () => ({
    id: idOf(list.length + 1),
    parentId: list.length === 0 ? null : idOf(list.length),
    timestamp: timeOf(list.length + 1),
  });
  const timestamp = () => start + (list.length + 1) * 60_000;
  const say = (message: Omit<Message, "timestamp">) =>
    list.push({ type: "message", ...place(), message: { ...message, timestamp: timestamp() } as Message });
  const asked = (...content: readonly object[]) =>
    say({ role: "user", content } as Omit<Message, "timestamp">);
  const reply = (usage: readonly [number, number, number, number], ...content: readonly object[]) => {
    const [input, output, cacheRead, cacheWrite] = usage;
    const totalTokens = input + output + cacheRead + cacheWrite;
    const calls = content.some((block) => (block as { readonly type: string }).type === "toolCall");
    say({
      ...{ role: "assistant", provider: "anthropic", model: "claude-opus-5-5", api: "anthropic-messages" },
      ...{ content, stopReason: calls ? "toolUse" : "stop" },
      usage: { input, output, cacheRead, cacheWrite, totalTokens },
    } as Omit<Message, "timestamp">);
  };
  const text = (words: string) => ({ type: "text", text: words });
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const result = (toolCallId: string, toolName: string, words: string) =>
    say({ ...{ role: "toolResult", toolCallId, toolName, isError: false }, content: [text(words)] } as never);

  asked(text("Uploads of large photos fail. The limit has to stay at 8 MB."));
  reply(
    [2_140, 60, 0, 1_900],
    text("I read the handler."),
    call("toolu_1", "read", { path: "src/upload.ts" }),
  );
  result("toolu_1", "read", `export const maxBytes = 8_000_000;\n${"// handler\n".repeat(3)}`);
  reply(
    [120, 240, 4_040, 3_100],
    call("toolu_2", "edit", { path: "src/upload.ts", oldText: "handler", newText: "resizing handler" }),
  );
  result("toolu_2", "edit", "edited");
  reply([90, 70, 7_140, 180], text("Large photos are resized before they are stored."));
  asked(text("This photo still fails."), {
    ...text("[image photo.png, image/png, 9000x2]"),
    resource: photo,
  });
  reply(
    [210, 130, 7_320, 320],
    { type: "thinking", thinking: "It is too wide.", thinkingSignature: "c2lnbmVkLTE=" },
    text("It is 9,000 pixels wide."),
  );
  list.push({
    ...{ type: "compaction", ...place(), firstKeptEntryId: idOf(7), tokensBefore: 7_980 },
    summary: "Uploads of large photos failed. src/upload.ts now resizes them before they are stored.",
    usage: { input: 7_980, output: 90, cacheRead: 0, cacheWrite: 0, totalTokens: 8_070 },
  });
  asked(text("Which limit did I give you?"));
  reply([640, 30, 0, 0], text("I know of no limit."));
  return list;
}
