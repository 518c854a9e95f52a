/** The entries of one imported session: ids by hash, parents that exist, times that go on. */

import { isName } from "../core/ids.js";
import { copyJson } from "../core/json.js";
import { defaultLimits, entryProblem, formatVersion, jsonProblem } from "../log/internal.js";
import type { SessionEntry, SessionHeader } from "../session/index.js";
import { EntryHash } from "./shared/entry-hash.js";
import { derivedSessionId, textDigest, uuidOfDigest } from "./shared/ids.js";
import { readMilliseconds, readText } from "./shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignFormatName, ImportFindingCode } from "./types.js";

/** The arguments of {@link EntryBuilder.add} beside the draft. */
type Place = Parameters<EntryBuilder["add"]>[1];

/** The parts of an import that a builder uses. */
export interface BuilderInit {
  readonly format: ForeignFormatName;
  readonly id: unknown;
  readonly cwd?: unknown;
  readonly timestamp?: unknown;
  readonly parentSession?: unknown;
  find(finding: { readonly code: ImportFindingCode; readonly entryId?: string; readonly text: string }): void;
}

/** An {@link EntryBuilder} with its result. */
export class SessionEntries implements EntryBuilder {
  readonly sessionId: string;
  readonly #init: BuilderInit;
  /** The id as the agent has it, which the hashes are of. */
  readonly #foreignId: string;
  readonly #entries: SessionEntry[] = [];
  readonly #hash: EntryHash;
  /** Entry ids by record id, of entries without a part. */
  readonly #byRecord = new Map<string, string>();
  /** Entry ids by record id and part. */
  readonly #byPart = new Map<string, string>();
  readonly #ids = new Set<string>();
  /** The last entry of the verbatim lines, a branch of their own. */
  #lastLine: string | null = null;
  #last: string | null = null;
  #leaf: string | null | undefined;
  #time: number | undefined;
  #created: number | undefined;

  constructor(init: BuilderInit) {
    this.#init = init;
    this.#foreignId = readText(init.id) ?? "";
    this.#hash = new EntryHash(init.format, this.#foreignId);
    this.sessionId = derivedSessionId(init.format, this.#foreignId);
    this.#created = readMilliseconds(init.timestamp);
  }

  get last(): string | null {
    return this.#last;
  }

  time(timestamp: unknown): number {
    return readMilliseconds(timestamp) ?? this.#time ?? this.#created ?? 0;
  }

  idByRecordId(recordId: string, part: string | number = ""): string | undefined {
    return part === "" ? this.#byRecord.get(recordId) : this.#byPart.get(keyByRecordId(recordId, part));
  }

  has(entryId: string): boolean {
    return this.#ids.has(entryId);
  }

  setLeaf(entryId: string | null): void {
    if (entryId === null || this.#ids.has(entryId)) this.#leaf = entryId;
  }

  add(draft: DraftEntry, place: Place): string {
    const known = this.idByRecordId(place.recordId, place.part);
    if (known !== undefined) return known;
    const { recordId, part = "" } = place;
    const parentId = this.#placeParent(place);
    // A later import of a grown file gives other ids to the changed entries and all after them.
    const id = this.#isFree(place.id)
      ? place.id
      : this.#newId([recordId, String(part), parentId ?? ""], draftContent(draft));
    this.#register(id, recordId, part);
    const entry = this.#placed(draft, id, parentId, place.timestamp);
    this.#entries.push(entry);
    this.#last = id;
    return id;
  }

  /** Adds an unmapped line, on a branch of such lines. */
  addLine(data: { readonly file: string; readonly line: number; readonly text: string }): void {
    const recordId = `${data.file}\0${data.line}`;
    if (this.idByRecordId(recordId, "line") !== undefined) return;
    const id = this.#newId([recordId, "line"]);
    this.#register(id, recordId, "line");
    const draft: DraftEntry = { type: "custom", customType: "sessile.foreign_line", data };
    const time = this.#time;
    this.#entries.push(this.#placed(draft, id, this.#lastLine, undefined));
    this.#time = time;
    this.#lastLine = id;
  }

  /** The entry that names the files, with an id of its own for each state of them. A root of its own. */
  addForeign(data: unknown, digests: readonly string[]): void {
    const id = this.#newId(["sessile.foreign", digests.join(" ")]);
    const timestamp = new Date(this.#created ?? this.#time ?? 0).toISOString();
    this.#entries.unshift({
      type: "custom",
      id,
      parentId: null,
      timestamp,
      customType: "sessile.foreign",
      data,
    });
  }

  finish(): {
    readonly header: SessionHeader;
    readonly entries: readonly SessionEntry[];
    readonly leafId: string | null;
  } {
    const { cwd, parentSession, format } = this.#init;
    const created = this.#created ?? 0;
    const parent = readText(parentSession);
    const header: SessionHeader = {
      type: "session",
      version: formatVersion,
      id: this.sessionId,
      timestamp: new Date(created).toISOString(),
      cwd: readCwd(cwd),
      ...(parent === undefined || parent === ""
        ? {}
        : { parentSession: isName(parent) ? parent : derivedSessionId(format, parent) }),
      sessile: 1,
    };
    return { header, entries: this.#entries, leafId: this.#leaf === undefined ? this.#last : this.#leaf };
  }

  #register(id: string, recordId: string, part: string | number): void {
    this.#ids.add(id);
    if (part === "") this.#byRecord.set(recordId, id);
    else this.#byPart.set(keyByRecordId(recordId, part), id);
  }

  #isFree(id: string | undefined): id is string {
    return isName(id) && !this.#ids.has(id);
  }

  #newId(texts: readonly string[], content?: DraftEntry): string {
    let id = this.#hash.textId(texts, content);
    if (!this.#ids.has(id)) return id;
    // A record may carry the id that another one would get.
    let next = textDigest(this.#init.format, this.#foreignId, ...texts, id);
    for (; this.#ids.has(id); next = textDigest(next)) id = uuidOfDigest(next);
    return id;
  }

  #placeParent({ parentId, recordId }: Place): string | null {
    if (parentId === undefined) return this.#last;
    if (parentId === null || parentId === this.#last || this.#ids.has(parentId)) return parentId;
    this.#init.find({ code: "missingParent", text: `record ${recordId}: its parent is missing` });
    return this.#last;
  }

  #placed(draft: DraftEntry, id: string, parentId: string | null, timestamp: unknown): SessionEntry {
    const time = this.time(timestamp);
    this.#time = time;
    this.#created ??= readMilliseconds(timestamp);
    const { type, ...fields } = withOwnId(draft, id);
    const place = { id, parentId, timestamp: new Date(time).toISOString() };
    const entry = { type, ...place, ...fields } as SessionEntry;
    const problem = entryProblem(entry) ?? jsonProblem(entry, defaultLimits.maxDepth);
    if (problem === undefined) return entry;
    if (problem.expected === "a finite number") {
      // JSON.parse reads 1e999 as infinite.
      const finite = copyJson(entry) as unknown as SessionEntry;
      if (entryProblem(finite) === undefined) return finite;
    }
    const text = `${type}: ${problem.path}: expected ${problem.expected}`;
    this.#init.find({ code: "unreadable", entryId: id, text });
    return { type: "custom", ...place, customType: "sessile.unreadable", data: { text } };
  }
}

/** The draft of an entry, if it counts: the opening of a harness may be another text after each resume. */
function draftContent(draft: DraftEntry): DraftEntry | undefined {
  const isOpening = draft.type === "custom_message" && draft.customType === "sessile.initial_context";
  return isOpening ? undefined : draft;
}

/** The draft of a compaction that keeps nothing, with its own id. */
function withOwnId(draft: DraftEntry, id: string): DraftEntry {
  return draft.type === "compaction" && draft.firstKeptEntryId === ""
    ? { ...draft, firstKeptEntryId: id }
    : draft;
}

/** The directory of a header: text that a path can be. */
export function readCwd(value: unknown): string {
  const cwd = readText(value);
  return cwd === undefined || cwd === "" || cwd.includes("\0") ? "/" : cwd;
}

function keyByRecordId(recordId: string, part: string | number): string {
  return `${recordId}\0${part}`;
}
