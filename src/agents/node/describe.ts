/** Describes a session by the first and last bytes of its file: its id, directory, title and parent. */

import { collapsed } from "../../core/text.js";
import { firstPrompt } from "../shared/claude-prompts.js";
import { parseCutJson } from "../shared/cut-json.js";
import { formOf } from "../shared/lines.js";
import { arrayOf, type ForeignObject, millisecondsOf, objectOf, textOf } from "../shared/values.js";
import type { ForeignFormatName } from "../types.js";
import type { Candidate, Windows } from "./walk.js";

/** The description of a session by its windows. */
export interface Described {
  readonly id: string;
  readonly cwd?: string | undefined;
  readonly title?: string | undefined;
  /** Milliseconds since 1970. */
  readonly created?: number | undefined;
  /** A later time than that of the file. */
  readonly updated?: number | undefined;
  readonly parent?: string | undefined;
  /** The session that this one was forked from, whose file it continues. */
  readonly base?: string | undefined;
  /** The file is a part of another session, and none of its own. */
  readonly partOf?: string | undefined;
}

const maxTitle = 200;
/** Lines of the start that are looked at. */
const maxLines = 100;

/** Describes a file; undefined if it is no session. */
export function describeSession(
  format: ForeignFormatName,
  candidate: Candidate,
  windows: Windows,
): Described | undefined {
  switch (format) {
    case "claude-code":
      return claudeCode(candidate, windows);
    case "codex":
      return codex(candidate, windows);
    case "gemini":
      return gemini(candidate, windows);
    case "opencode":
      return opencode(windows);
    default:
      return ownFamily(windows, format);
  }
}

/** The objects of the lines of a window. A first line that is cut at its start is no JSON, and left out. */
function* recordsOf(bytes: Uint8Array, lines = maxLines): Generator<ForeignObject> {
  const text = new TextDecoder().decode(bytes);
  let at = 0;
  for (let line = 0; line < lines && at < text.length; line++) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    const value = objectOf(parseCutJson(text.slice(at, end)));
    if (value !== undefined) yield value;
    at = end + 1;
  }
}

/** The records of the tail that have one of some texts, last first. The others are not parsed. */
function* lastRecords({ head, tail }: Windows, texts: readonly string[]): Generator<ForeignObject> {
  const text = new TextDecoder().decode(tail);
  const start = head === tail ? 0 : text.indexOf("\n") + 1;
  for (let end = text.length; end > start; ) {
    const at = Math.max(text.lastIndexOf("\n", end - 1) + 1, start);
    const line = text.slice(at, end);
    const value = texts.some((each) => line.includes(each)) ? objectOf(parseCutJson(line)) : undefined;
    if (value !== undefined) yield value;
    end = at - 1;
  }
}

/** The first value that a function finds in some records. */
function firstOf<T>(records: Iterable<ForeignObject>, find: (record: ForeignObject) => T | undefined) {
  for (const record of records) {
    const found = find(record);
    if (found !== undefined) return found;
  }
  return undefined;
}

function objectsOf(values: readonly unknown[]): ForeignObject[] {
  return values.map(objectOf).filter((value) => value !== undefined);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl?(?:\.zst)?$/, "");
}

/** One line without control characters. */
function titleOf(text: string | undefined): string | undefined {
  const clean = collapsed(text?.slice(0, 1000) ?? "", /[\p{Cc}\s]{1,1000}/gu).trim();
  if (clean === "") return undefined;
  // A cut may be within a surrogate pair.
  return clean.length <= maxTitle ? clean : clean.slice(0, maxTitle).replace(/[\ud800-\udbff]$/, "");
}

/** The text of a content: text, or blocks with one. */
function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return textOf(content);
  for (const block of arrayOf(content)) {
    const text = textOf(objectOf(block)?.text);
    if (text !== undefined) return text;
  }
  return undefined;
}

function claudeCode({ path }: Candidate, windows: Windows): Described | undefined {
  const id = nameOf(path);
  let cwd: string | undefined;
  let created: number | undefined;
  let sessionId: string | undefined;
  for (const record of recordsOf(windows.head)) {
    cwd ??= textOf(record.cwd);
    sessionId ??= textOf(record.sessionId);
    created ??= millisecondsOf(record.timestamp);
    if (cwd !== undefined && created !== undefined && sessionId !== undefined) break;
  }
  if (sessionId === undefined && cwd === undefined && created === undefined) return undefined;
  if (id.startsWith("agent-")) return { id, cwd, created, partOf: sessionId ?? "" };
  return { id, cwd, created, title: claudeTitle(windows) };
}

/** The records that name a session, the ones that count first, with the member that has the name. */
const claudeTitles = [
  ["custom-title", "customTitle"],
  ["ai-title", "aiTitle"],
  ["last-prompt", "lastPrompt"],
  ["summary", "summary"],
] as const;

/** The title that the agent itself shows. The names of a user and of a model count at both ends of the file. */
function claudeTitle({ head, tail }: Windows): string | undefined {
  const last = new Map<string, string>();
  const see = (windows: Windows, kinds: readonly (readonly [string, string])[]) => {
    const texts = kinds.map(([, member]) => `"${member}"`);
    for (const record of lastRecords(windows, texts)) {
      const member = kinds.find(([type]) => type === record.type)?.[1];
      const title = member === undefined ? undefined : textOf(record[member]);
      if (member !== undefined && title !== undefined && !last.has(member)) last.set(member, title);
      // An empty name leaves the choice to the other titles.
      if (last.get("customTitle")) break;
    }
  };
  see({ head, tail }, claudeTitles);
  if (head !== tail) see({ head, tail: head }, claudeTitles.slice(0, 2));
  for (const [, member] of claudeTitles) {
    const title = titleOf(last.get(member));
    // The last prompt may be what the program wrote, like the first.
    const isAsked = member !== "lastPrompt" || firstPrompt([asPrompt(title)]) === title;
    if (title !== undefined && isAsked) return title;
  }
  return titleOf(firstPrompt(recordsOf(head, Number.POSITIVE_INFINITY)));
}

const asPrompt = (content: unknown) => ({ type: "user", message: { content } });

const rolloutId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl?(?:\.zst)?$)/;

function codex({ path }: Candidate, { head }: Windows): Described | undefined {
  const named = rolloutId.exec(path)?.[0];
  // A compressed file has its name alone.
  if (path.endsWith(".zst")) return named === undefined ? undefined : { id: named };
  let meta: ForeignObject | undefined;
  let title: string | undefined;
  for (const record of recordsOf(head)) {
    const payload = objectOf(record.payload);
    if (record.type === "session_meta") meta ??= payload;
    else if (meta === undefined && typeof record.id === "string" && "timestamp" in record) meta = record;
    else if (meta === undefined && objectOf(record.session) !== undefined) meta = objectOf(record.session);
    if (payload?.type === "user_message") title ??= textOf(payload.message);
    if (meta !== undefined && title !== undefined) break;
  }
  const id = textOf(meta?.id) ?? named;
  if (id === undefined) return undefined;
  const spawn = objectOf(objectOf(objectOf(meta?.source)?.subagent)?.thread_spawn);
  return {
    id,
    cwd: textOf(meta?.cwd),
    created: millisecondsOf(meta?.timestamp),
    title: titleOf(title),
    parent: textOf(spawn?.parent_thread_id) ?? textOf(meta?.forked_from_id),
    base: textOf(meta?.forked_from_id) ?? textOf(objectOf(meta?.history_base)?.thread_id),
  };
}

function gemini({ path }: Candidate, windows: Windows): Described | undefined {
  const isLog = formOf(path, windows.head) === "lines";
  const whole = isLog ? undefined : objectOf(parseCutJson(new TextDecoder().decode(windows.head)));
  const records = isLog ? [...recordsOf(windows.head)] : whole === undefined ? [] : [whole];
  const start = records.find(({ sessionId }) => typeof sessionId === "string");
  const id = textOf(start?.sessionId);
  if (start === undefined || id === undefined) return undefined;
  const messages = isLog ? records : objectsOf(arrayOf(start.messages));
  const isContext = /^<(?:session|hook)_context>/;
  const questions = messages
    .filter(({ type }) => type === "user")
    .map(({ content }) => textIn(content) ?? "");
  const latest = (key: string) =>
    isLog
      ? firstOf(lastRecords(windows, [`"${key}"`]), ({ $set }) => textOf(objectOf($set)?.[key]))
      : textOf(start[key]);
  return {
    id,
    created: millisecondsOf(start.startTime),
    updated: millisecondsOf(latest("lastUpdated") ?? start.lastUpdated),
    title: titleOf(latest("summary") ?? questions.find((text) => text !== "" && !isContext.test(text))),
  };
}

function opencode({ head }: Windows): Described | undefined {
  const info = objectOf(parseCutJson(new TextDecoder().decode(head)));
  const id = textOf(info?.id);
  if (info === undefined || id === undefined) return undefined;
  const time = objectOf(info.time);
  return {
    id,
    cwd: textOf(info.directory),
    title: titleOf(textOf(info.title)),
    created: millisecondsOf(time?.created),
    updated: millisecondsOf(time?.updated),
    parent: textOf(info.parentID),
  };
}

/** Sessions of pi and of this library. */
function ownFamily(windows: Windows, format: ForeignFormatName): Described | undefined {
  const records = [...recordsOf(windows.head)];
  const [header] = records;
  const id = textOf(header?.id);
  if (header?.type !== "session" || id === undefined) return undefined;
  if (format === "sessile" && !("sessile" in header)) return undefined;
  const isInfo = (record: ForeignObject) => (record.type === "session_info" ? record : undefined);
  const info = firstOf(lastRecords(windows, ['"session_info"']), isInfo) ?? firstOf(records, isInfo);
  const question = records.find(({ message }) => objectOf(message)?.role === "user");
  return {
    id,
    cwd: textOf(header.cwd),
    created: millisecondsOf(header.timestamp),
    title: titleOf(textOf(info?.name) ?? textOf(info?.title) ?? textIn(objectOf(question?.message)?.content)),
    parent: textOf(header.parentSession),
  };
}
