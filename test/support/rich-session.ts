import {
  assistantMessage,
  type BlobStore,
  type Context,
  type ContextMessage,
  contextFrom,
  type LinkResource,
  memoryBlobStore,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { base64, bytesOf, gif, pdf, png } from "../attachments/samples.js";

/** A history in which two models spoke, with everything that a user can attach and a tool can show. */
export interface RichSession {
  readonly context: Context;
  readonly messages: readonly ContextMessage[];
  readonly blobs: BlobStore;
  readonly shot: StoredResource;
  readonly report: StoredResource;
  readonly notes: StoredResource;
  readonly link: LinkResource;
  /** Of the tool. */
  readonly seen: StoredResource;
  /** Of the last message. */
  readonly latest: StoredResource;
}

export const shotBytes = png(2, 3);
export const seenBytes = png(4, 5);
export const inlineBytes = png(6, 7);
export const latestBytes = gif;
export const reportBytes = pdf;
export const notesText = "# Notes\nOne, two.";

export async function richSession(): Promise<RichSession> {
  const blobs = memoryBlobStore();
  const store = (bytes: Uint8Array, name: string) => ingest({ bytes, name }, { blobs });
  const [shot, report, notes, seen, latest] = await Promise.all([
    store(shotBytes, "screen shot.png"),
    store(reportBytes, "report.pdf"),
    store(bytesOf(notesText), "notes.md"),
    store(seenBytes, "seen.png"),
    store(latestBytes, "latest.gif"),
  ]);
  const link: LinkResource = {
    resourceId: "res_00000000000000ff",
    kind: "link",
    name: "A page",
    source: "link",
    uri: "https://example.com/page",
  };
  const calls = [
    { type: "toolCall" as const, id: "call_a", name: "screenshot", arguments: { window: 1 } },
    { type: "toolCall" as const, id: "call_b", name: "read", arguments: { path: "gone.txt" } },
  ];
  const first = userMessage("What is wrong here? 🧷", shot, report, notes, link);
  const image = { type: "image" as const, data: base64(inlineBytes), mimeType: "image/png" };
  const messages: readonly ContextMessage[] = [
    { role: "system", content: "Be brief.", timestamp: 1 },
    { ...first, content: [...first.content, image], name: "Alice" } as typeof first,
    assistantMessage(
      { provider: "elsewhere", model: "other-1" },
      { type: "thinking", thinking: "Hm.", thinkingSignature: "foreign" },
      "Let me look.",
      ...calls,
    ),
    toolResult({ id: "call_a", name: "screenshot" }, "Here.", seen),
    { ...toolResult({ id: "call_b", name: "read" }, "no such file"), isError: true },
    assistantMessage({ provider: "elsewhere", model: "other-1" }, "The button is grey."),
    userMessage("And this?", latest),
  ];
  return { context: contextFrom(messages), messages, blobs, shot, report, notes, link, seen, latest };
}
