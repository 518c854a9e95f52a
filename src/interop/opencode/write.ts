/** The writer: an exchange file for each session, as `opencode import` takes it. */

import { encodeTexts } from "../../internal/bytes.js";
import type { SessionEntry } from "../../session/index.js";
import { millisecondsOf } from "../shared/values.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { AscendingIds, sessionIdFor } from "./ids.js";
import { type DraftMessage, MessageWriter } from "./write-messages.js";

/** The version of opencode whose schema the files follow. Older ones take them too. */
const writtenVersion = "1.18.33";

/**
 * Writes a session and its children as one exchange file each. The ids are new, since an import of opencode
 * never changes a message that it has; the ids of this library are in the metadata.
 */
export async function writeOpencode(source: WriteSource): Promise<WrittenSession> {
  const files: WrittenSession["files"][number][] = [];
  const id = await writeInto(files, source, undefined);
  return { files, resume: ["opencode", "import", `${id}.json`] };
}

async function writeInto(
  files: WrittenSession["files"][number][],
  source: WriteSource,
  parentID: string | undefined,
): Promise<string> {
  const { header, leafId } = source;
  const id = sessionIdFor(header.id, leafId ?? "");
  source.find({ code: "id", text: `session ${header.id} is ${id}` });
  const children = new Map<string, string>();
  for (const child of source.children) children.set(child.header.id, await writeInto(files, child, id));
  const drafts = await new MessageWriter(source, children).write();
  const messages = numbered(drafts, { id, session: header.id, now: source.now() });
  const info = infoOf(source, id, parentID, messages);
  files.unshift({ path: `${id}.json`, bytes: encodeFile(info, messages) });
  return id;
}

/** The JSON of a file, indented by two, message by message: the whole may be longer than a string can be. */
function encodeFile(info: object, messages: readonly object[]): Uint8Array {
  const indented = (value: object, by: string) => JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
  const texts = [`{\n  "info": ${indented(info, "  ")},\n  "messages": [`];
  for (const [at, message] of messages.entries())
    texts.push(`${at === 0 ? "" : ","}\n    ${indented(message, "    ")}`);
  texts.push(messages.length === 0 ? "]\n}\n" : "\n  ]\n}\n");
  return encodeTexts(texts);
}

/** The members that the schema requires, and those that the session_info of the path has. */
function infoOf(
  { header, path, cwd, now }: WriteSource,
  id: string,
  parentID: string | undefined,
  messages: readonly { readonly info: { readonly time: { readonly created: number } } }[],
): object {
  const found = path.findLast((entry) => entry.type === "session_info");
  const { title, name, slug, permission, stats, archivedAt } = { ...found } as Partial<
    SessionEntry & { readonly type: "session_info" }
  >;
  const created = Math.max(0, millisecondsOf(header.timestamp) ?? now());
  const updated = Math.max(created, messages.at(-1)?.info.time.created ?? created);
  const archived = millisecondsOf(archivedAt);
  return {
    id,
    slug: slug ?? `sessile-${header.id.slice(0, 8).toLowerCase()}`,
    projectID: "global",
    directory: cwd,
    path: "",
    ...(parentID === undefined ? {} : { parentID }),
    title: title ?? name ?? titleOf(path) ?? "Imported session",
    version: writtenVersion,
    metadata: { sessile: { session: header.id, of: id } },
    time: { created, updated, ...(archived === undefined ? {} : { archived }) },
    ...(permission === undefined ? {} : { permission }),
    ...(stats === undefined
      ? {}
      : { summary: { additions: stats.additions, deletions: stats.deletions, files: stats.files } }),
  };
}

/** The first line of the first question. */
function titleOf(path: WriteSource["path"]): string | undefined {
  for (const entry of path) {
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    const { content } = entry.message;
    const text = typeof content === "string" ? content : content.find(({ type }) => type === "text");
    const line = (typeof text === "object" && "text" in text ? text.text : String(text ?? "")).trim();
    const [first = ""] = line.split("\n", 1);
    if (first !== "") return first.length > 60 ? `${first.slice(0, 59)}…` : first;
  }
  return undefined;
}

interface NumberedMessage {
  readonly info: { readonly time: { readonly created: number } };
  readonly parts: readonly object[];
}

/** Gives the ids, in the order of the file. */
function numbered(
  drafts: readonly DraftMessage[],
  { id: sessionID, session, now }: { readonly id: string; readonly session: string; readonly now: number },
): readonly NumberedMessage[] {
  const count = drafts.reduce((sum, { parts }) => {
    const files = parts.reduce((all, { state }) => all + (attachmentsOf(state)?.length ?? 0), 0);
    return sum + 1 + parts.length + files;
  }, 0);
  const ids = new AscendingIds(sessionID, {
    first: drafts[0]?.time ?? now,
    last: drafts.at(-1)?.time ?? now,
    now,
    count,
  });
  const byKey = new Map<string, string>();
  return drafts.map(({ key, time, info, asked, parts }, index) => {
    const id = ids.next("msg", time, key);
    byKey.set(key, id);
    const place = (part: number | string) => ({
      id: ids.next("prt", time, `${key} ${part}`),
      sessionID,
      messageID: id,
    });
    const placed = parts.map((part, at) => {
      // 1.2 drops the metadata of the session.
      const annotated = index === 0 ? withSession(part, { session, of: sessionID }) : part;
      const own = { ...annotated, ...place(at) };
      const files = attachmentsOf(part.state);
      if (files === undefined) return own;
      const attachments = files.map((file, each) => ({ ...file, ...place(`${at} ${each}`) }));
      return { ...own, state: { ...(part.state as object), attachments } };
    });
    const parentID = asked === undefined ? {} : { parentID: byKey.get(asked) ?? id };
    return { info: { ...info, time: { ...info.time }, ...parentID, id, sessionID }, parts: placed };
  });
}

function attachmentsOf(state: unknown): readonly object[] | undefined {
  return (state as { readonly attachments?: readonly object[] } | undefined)?.attachments;
}

function withSession(part: DraftMessage["parts"][number], annotation: object): DraftMessage["parts"][number] {
  const { metadata } = part;
  if (metadata?.sessile === undefined) return part;
  return { ...part, metadata: { ...metadata, sessile: { ...(metadata.sessile as object), ...annotation } } };
}
