/** A transcript file: its lines, and its records of state and titles. */

import { collapsed } from "../../core/text.js";
import { readObject, readText } from "../shared/values.js";
import type { ForeignRecord, ForeignSource } from "../types.js";
import { firstPrompt } from "./agent.js";
import { plainText } from "./content.js";
import { countedType, isPrompt, type Line, readId, readType, recordLine } from "./lines.js";
import type { Titles } from "./reply-entries.js";

/** A transcript file with the facts of the session in its records. */
export interface TranscriptFile {
  readonly path: string;
  /** The name without folder and extension. */
  readonly name: string;
  readonly lines: readonly Line[];
  /** Lines that a later one with the same uuid replaces. */
  readonly superseded: readonly Line[];
  /** Records without a uuid. */
  readonly others: readonly ForeignRecord[];
  readonly sessionId: string | undefined;
  readonly cwd: string | undefined;
  readonly version: string | undefined;
  readonly forkedFrom: string | undefined;
}

/** Types of records without a uuid that are known to have no home. */
const stateTypes =
  /^(?:agent-(?:color|name|setting)|api-request(?:-blob|-shape)?|atis-latch|attribution-snapshot|bridge-session|content-replacement|cost-state|file-history-snapshot|frame-link|host-row|last-prompt|mode|permission-mode|pr-link|queue-operation|relocated|result|started|tag|tools-used|worktree-state)$/;
const lineTypes = new Set(["assistant", "attachment", "progress", "system", "user"]);

/** The last part of a path, without its extension. */
export function nameByPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.[A-Za-z]\w{0,7}$/, "");
}

/**
 * The lines of a file, one a uuid. A copy of old history, or a later state of a line, stays at the place where
 * the line was written first.
 */
export class LineCollection {
  /** Lines that a later one with the same uuid replaces. */
  readonly superseded: Line[] = [];
  readonly #byId = new Map<string, Line>();
  #at = 0;

  get lines(): readonly Line[] {
    return Array.from(this.#byId.values());
  }

  /** Adds the line of a record. Returns undefined for a record without a uuid. */
  add(record: ForeignRecord): Line | undefined {
    const at = this.#at++;
    const known = this.#byId.get(readId(record.value.uuid) ?? "");
    const line = recordLine(record, known?.at ?? at, known && at);
    if (line === undefined) return undefined;
    if (known !== undefined) this.superseded.push(known);
    this.#byId.set(line.uuid, line);
    return line;
  }
}

/** Reads a transcript file once. */
export function sourceFile(source: ForeignSource, path: string): TranscriptFile {
  const collection = new LineCollection();
  const others: ForeignRecord[] = [];
  let sessionId: string | undefined;
  let cwd: string | undefined;
  let version: string | undefined;
  let forkedFrom: string | undefined;
  let moved = false;
  for (const record of source.records(path)) {
    const { value } = record;
    sessionId ??= readId(value.sessionId);
    forkedFrom ??= readId(readObject(value.forkedFrom)?.sessionId);
    version = readId(value.version) ?? version;
    const now = readId(value.cwd);
    if (now !== undefined && cwd !== undefined && now !== cwd && !moved) {
      moved = true;
      const text = `the working directory changes to ${now}`;
      source.find({ code: "moved", file: path, line: record.line, text });
    }
    cwd ??= now;
    if (collection.add(record) === undefined) others.push(record);
  }
  const { lines, superseded } = collection;
  return { path, name: nameByPath(path), lines, superseded, others, sessionId, cwd, version, forkedFrom };
}

/** Counts the records of a file without a place in the conversation. */
export function reportState(
  source: ForeignSource,
  { path, others, superseded, lines }: TranscriptFile,
): void {
  const unknown = new Set<string>();
  const isNew = (type: string, record: ForeignRecord) => {
    if (unknown.has(type) || unknown.size >= 100) return;
    unknown.add(type);
    source.find({ code: "newer", file: path, line: record.line, text: `an unknown type of record: ${type}` });
  };
  for (const record of others) {
    const type = readType(record.value);
    if (recordTitle(record) === undefined) source.count(type, "unmapped", record);
    else source.count(type, "mapped", record);
    if (!stateTypes.test(type) && !titleTypes.has(type) && !lineTypes.has(type)) isNew(type, record);
  }
  for (const line of superseded) source.count(countedType(line), "unmapped", line.record);
  const [again] = superseded;
  if (again !== undefined) {
    const text = `${superseded.length} lines are written again, the first with the uuid ${again.uuid}`;
    source.find({ code: "superseded", file: path, line: again.record.line, text });
  }
  for (const { type, record } of lines)
    if (!lineTypes.has(type) && !titleTypes.has(type)) isNew(type, record);
}

const titleTypes = new Map([
  ["custom-title", "customTitle"],
  ["ai-title", "aiTitle"],
  ["summary", "summary"],
]);

function recordTitle({ value }: ForeignRecord): string | undefined {
  const member = titleTypes.get(readType(value));
  const text = member === undefined ? undefined : readText(value[member]);
  return text === "" ? undefined : text;
}

const maxPromptTitle = 200;

/** The words of the first prompt, if the first message begins with what the program added. */
function promptTitle(lines: readonly Line[]): string | undefined {
  const first = lines.find((line) => isPrompt(line) && line.value.isSidechain !== true);
  const words = first && firstPrompt(lines.map(({ value }) => value));
  if (first === undefined || words === undefined) return undefined;
  if (plainText(readObject(first.value.message)?.content).trim().startsWith(words)) return undefined;
  return collapsed(words, /\s{1,4096}/g)
    .slice(0, maxPromptTitle)
    .toWellFormed();
}

/** The titles of a session, one after the other. The last of each kind counts. */
export function transcriptTitles({ others, lines }: TranscriptFile): readonly Titles[] {
  const known = new Set(lines.map(({ uuid }) => uuid));
  const records = [...others, ...lines.map(({ record }) => record)]
    .filter((record) => recordTitle(record) !== undefined)
    .sort((a, b) => a.line - b.line);
  const states: Titles[] = [];
  const last = new Map<unknown, string>();
  let other = promptTitle(lines);
  if (other !== undefined) states.push({ name: undefined, title: other });
  let isOther = false;
  for (const record of records) {
    const title = recordTitle(record) as string;
    const { type, leafUuid } = record.value;
    // The summary of another session of the project, with which old versions begin a file.
    if (type !== "summary" || known.has(leafUuid as string)) last.set(type, title);
    else if (!isOther) [other, isOther] = [title, true];
    const state = {
      name: last.get("custom-title"),
      title: last.get("ai-title") ?? last.get("summary") ?? other,
    };
    const before = states.at(-1);
    if (state.name !== before?.name || state.title !== before?.title) states.push(state);
  }
  return states;
}
