/** The writer: an exchange file for each session, as `opencode import` takes it. */

import { encodeTexts } from "../../core/bytes.js";
import type { SessionEntry } from "../../session/index.js";
import { readMilliseconds } from "../shared/values.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { AscendingIds, sessionIdFor } from "./ids.js";
import { type DraftMessage, MessageWriter } from "./write-messages.js";

/** The version of opencode whose schema the files follow. Older ones take them too. */
const writtenVersion = "1.18.33";

/**
 * Writes a session and its children as one exchange file each. The ids are new, since an import of opencode
 * never changes a message that it has; the ids of this library are in the metadata.
 */
export function writeOpencode(source: WriteSource): WrittenSession {
  const files: WrittenSession["files"][number][] = [];
  const id = writeInto(files, source, undefined);
  return { files, resume: ["opencode", "import", `${id}.json`] };
}

function writeInto(
  files: WrittenSession["files"][number][],
  source: WriteSource,
  parentID: string | undefined,
): string {
  const { header, leafId } = source;
  const id = sessionIdFor(header.id, leafId ?? "");
  source.find({ code: "id", text: `session ${header.id} is ${id}` });
  const children = new Map<string, string>();
  for (const child of source.children) children.set(child.header.id, writeInto(files, child, id));
  files.unshift({ path: `${id}.json`, bytes: encodeTexts(fileTexts(source, { id, parentID, children })) });
  return id;
}

/** The JSON of a file, indented by two, message by message. */
async function* fileTexts(
  source: WriteSource,
  init: {
    readonly id: string;
    readonly parentID: string | undefined;
    readonly children: ReadonlyMap<string, string>;
  },
): AsyncGenerator<string, void, undefined> {
  const { id, parentID, children } = init;
  const indented = (value: object, by: string) => JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
  const writer = new MessageWriter(source, children);
  const info = await sourceInfo(source, id, parentID, writer.plan.last);
  yield `{\n  "info": ${indented(info, "  ")},\n  "messages": [`;
  let separator = "";
  const place = { id, session: source.header.id, now: source.now() };
  for await (const message of numbered(writer, place)) {
    yield `${separator}\n    ${indented(message, "    ")}`;
    separator = ",";
  }
  yield separator === "" ? "]\n}\n" : "\n  ]\n}\n";
}

/** The members that the schema requires, and those that the session_info of the path has. */
async function sourceInfo(
  source: WriteSource,
  id: string,
  parentID: string | undefined,
  lastTime: number | undefined,
): Promise<object> {
  const { header, outline, cwd, now } = source;
  const last = outline.findLast((entry) => entry.type === "session_info");
  const found = last && (await source.entry(last.id));
  const { title, name, slug, permission, stats, archivedAt } = { ...found } as Partial<
    SessionEntry & { readonly type: "session_info" }
  >;
  const created = Math.max(0, readMilliseconds(header.timestamp) ?? now());
  const updated = Math.max(created, lastTime ?? created);
  const archived = readMilliseconds(archivedAt);
  return {
    id,
    slug: slug ?? `sessile-${header.id.slice(0, 8).toLowerCase()}`,
    projectID: "global",
    directory: cwd,
    path: "",
    ...(parentID === undefined ? {} : { parentID }),
    title: title ?? name ?? (await sourceTitle(source)) ?? "Imported session",
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
async function sourceTitle(source: WriteSource): Promise<string | undefined> {
  for (const outline of source.outline) {
    if (outline.type !== "message" || outline.message.role !== "user") continue;
    const entry = await source.entry(outline.id);
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
  readonly info: object;
  readonly parts: readonly object[];
}

/** Gives the ids, in the order of the file. */
async function* numbered(
  writer: MessageWriter,
  { id: sessionID, session, now }: { readonly id: string; readonly session: string; readonly now: number },
): AsyncGenerator<NumberedMessage, void, undefined> {
  const { first = now, last = now, maxIds } = writer.plan;
  const ids = new AscendingIds(sessionID, { first, last, now, count: maxIds });
  const byKey = new Map<string, string>();
  let isFirst = true;
  for await (const { key, time, info, asked, parts } of writer.write()) {
    const id = ids.next("msg", time, key);
    if (info.role === "user") byKey.set(key, id);
    const place = (part: number | string) => ({
      id: ids.next("prt", time, `${key} ${part}`),
      sessionID,
      messageID: id,
    });
    const placed = parts.map((part, at) => {
      // 1.2 drops the metadata of the session.
      const annotated = isFirst ? withSession(part, { session, of: sessionID }) : part;
      const own = { ...annotated, ...place(at) };
      const files = stateAttachments(part.state);
      if (files === undefined) return own;
      const attachments = files.map((file, each) => ({ ...file, ...place(`${at} ${each}`) }));
      return { ...own, state: { ...(part.state as object), attachments } };
    });
    const parentID = asked === undefined ? {} : { parentID: byKey.get(asked) ?? id };
    isFirst = false;
    yield { info: { ...info, time: { ...info.time }, ...parentID, id, sessionID }, parts: placed };
  }
}

function stateAttachments(state: unknown): readonly object[] | undefined {
  return (state as { readonly attachments?: readonly object[] } | undefined)?.attachments;
}

function withSession(part: DraftMessage["parts"][number], annotation: object): DraftMessage["parts"][number] {
  const { metadata } = part;
  if (metadata?.sessile === undefined) return part;
  return { ...part, metadata: { ...metadata, sessile: { ...(metadata.sessile as object), ...annotation } } };
}
