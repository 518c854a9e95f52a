/** What the tests of opencode share: sessions, their requests, and the form in which requests are compared. */

import {
  type BlobStore,
  type EntryDraft,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type ToolResultMessage,
  type UserMessage,
} from "sessile";
import { type ForeignFile, type ImportedSession, importSession, type WriteSource } from "sessile/interop";
import { openaiChat } from "sessile/openai";
import { opencode } from "sessile/opencode";
import { editedPath } from "../../../src/agents/edited-path.js";
import { decodeBase64 } from "../../support/plain-values.js";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import { sqlite } from "../support/sqlite.js";
import { sourceEntries } from "../support/written-steps.js";

export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export interface Imported {
  readonly imported: ImportedSession;
  readonly session: Session;
  readonly blobs: BlobStore;
}

/** An import that a store has adopted. */
export async function adopted(files: readonly ForeignFile[], options: object = {}): Promise<Imported> {
  const blobs = memoryBlobStore();
  const imported = await importSession(files, { from: opencode, blobs, sqlite, ...options });
  const session = await memorySessionStore({ blobs }).adopt(imported);
  return { imported, session, blobs };
}

/** The messages of a session as Chat Completions has them, all attachments with their bytes. */
export async function chatOf(session: Session, blobs: BlobStore): Promise<readonly ReducedMessage[]> {
  const target = openaiChat({ model: "m1", provider: "scripted" });
  const { value } = await project(await session.context(), target, { blobs, replay: () => "full" });
  return reduceRequest(value);
}

/** Texts that only one of two agents puts into a request, beside what both say. */
const own = [
  /^What did we do so far\?$/,
  /^Attached (?:media|image\(s\)) from tool result:$/,
  /^\[image[^\]]*\]$/,
  /^$/,
];
const summaryOfOurs = /^What came before in this conversation.*?<summary>\n(.*)\n<\/summary>$/s;
const interrupted =
  /^\[(?:Tool execution was interrupted|This call was interrupted: there is no result\.)\]$/;

/**
 * The messages that two requests have to share: without reasoning, which depends on the model, and with each
 * agent's own words for a summary, an open call and the place of an image made alike. Images are listed behind.
 */
export function comparable(messages: readonly ReducedMessage[]): readonly unknown[] {
  const images = messages.flatMap((message) => ("image" in message ? [message.image] : []));
  const rest = messages.flatMap((message, index): readonly unknown[] => {
    if ("image" in message || "reasoning" in message) return [];
    if (!("text" in message)) return [message];
    const before = messages[index - 1];
    const isSummary = before !== undefined && "text" in before && before.text === "What did we do so far?";
    if (message.role === "assistant" && isSummary) return [{ summary: message.text.trim() }];
    const ours = summaryOfOurs.exec(message.text)?.[1];
    if (ours !== undefined) return [{ summary: ours.trim() }];
    if (own.some((pattern) => pattern.test(message.text)) && message.role === "user") return [];
    const text = message.text.replace(/\n?\[image[^\]]*\](?: \([^)]*\))?/g, "");
    // 1.1 and 1.2 put a line feed behind the words of a command line.
    return [{ ...message, text: interrupted.test(text) ? "(interrupted)" : text.trimEnd() }];
  });
  return [...rest, { images }];
}

const model = { provider: "anthropic", model: "claude-x", api: "anthropic-messages" };
type Parts = readonly object[];

const reply = (content: Parts, more: object = {}) => ({
  role: "assistant",
  ...model,
  content,
  usage: { input: 5, output: 7, cacheRead: 1, cacheWrite: 2 },
  stopReason: content.some((block) => "arguments" in block) ? "toolUse" : "stop",
  ...more,
});
const call = (id: string, name: string, input: object) => ({ type: "toolCall", id, name, arguments: input });
const text = (content: string) => ({ type: "text", text: content });
const image = { type: "image", data: png, mimeType: "image/png" };

/** A session of this library with everything that opencode has a place for. */
export async function richSession(blobs: BlobStore): Promise<Session> {
  const session = await memorySessionStore({ blobs }).create({ cwd: "/srv/work" });
  let timestamp = 1_795_000_000_000;
  const add = async (...drafts: readonly object[]) => {
    const made = drafts.map((draft) =>
      "role" in draft ? { type: "message", message: { timestamp: timestamp++, ...draft } } : draft,
    );
    return await session.append(made as EntryDraft[]);
  };
  const result = (id: string, content: Parts, isError = false) =>
    ({
      role: "toolResult",
      toolCallId: id,
      toolName: "bash",
      content,
      isError,
    }) as unknown as ToolResultMessage;
  const user = (content: UserMessage["content"]) => ({ role: "user", content });
  await add(user("the first question"), reply([text("the first answer")]));
  await add(user([text("look at this"), image, text("and say more")] as UserMessage["content"]));
  const [kept] = await add(user("a question that is kept"));
  const thought = { type: "thinking", thinking: "I should list them.", thinkingSignature: "c2ln" };
  await add(reply([thought, text("I list them."), call("call_1", "bash", { command: "ls" })]));
  await add(result("call_1", [text("a.txt")]));
  const compaction = { type: "compaction", summary: "A question was put, and answered.", tokensBefore: 100 };
  await add({ ...compaction, firstKeptEntryId: kept?.id });
  await add({
    type: "custom_message",
    customType: "test.note",
    content: "a note of a program",
    display: true,
  });
  await add(user([text("a new question"), image] as UserMessage["content"]));
  await add(
    reply([
      text("Three calls."),
      call("call_2", "bash", { command: "false" }),
      call("call_3", "read", { filePath: "pixel.png" }),
      call("call_4", "read", { filePath: "long.txt" }),
    ]),
  );
  await add(result("call_2", [text("exit code 1")], true), result("call_3", [text("an image"), image]));
  const [pruned] = await add(result("call_4", [text("very long")]));
  const content = [text("[Old tool result content cleared]")];
  await add({ type: "context_edit", targetId: pruned?.id, replacement: { content } });
  const command = { command: "echo hi", output: "hi", exitCode: 0, cancelled: false, truncated: false };
  await add({ role: "bashExecution", ...command }, reply([text("The last answer.")]));
  await add(user("do it"), reply([call("call_5", "bash", { command: "sleep 9" })]));
  await add(user("stop that"), reply([text("I stopp")], { stopReason: "aborted", errorMessage: "stopped" }));
  await add({ type: "session_info", title: "A rich session" });
  return session;
}

/** The source of a writer, and its media. */
export async function writeSource(
  session: Session,
  blobs: BlobStore,
  more: object = {},
): Promise<WriteSource> {
  const { header } = session;
  if (header === undefined) throw new Error("the session has no header");
  return {
    header,
    ...sourceEntries(editedPath(await session.path()).path),
    leafId: session.leafId,
    children: [],
    cwd: "/srv/work",
    now: Date.now,
    modelFor: () => undefined,
    find: () => {},
    async media(block) {
      const { data, mimeType, resource } = block as Record<string, string> & {
        readonly resource?: { readonly blob: `sha256:${string}`; readonly mediaType: string };
      };
      if (resource === undefined)
        return { bytes: decodeBase64(data ?? "") ?? new Uint8Array(), mediaType: mimeType ?? "" };
      const bytes = await blobs.get(resource.blob);
      return bytes && { bytes, mediaType: resource.mediaType };
    },
    ...more,
  };
}
