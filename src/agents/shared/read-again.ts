/**
 * Reads the original of a session once more, for the records that its entries are of: their ids alone do not
 * tell them.
 */

import type { SessionEntry } from "../../session/index.js";
import type { AppendSource, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { formByPath, readLines } from "./lines.js";

/**
 * A source with the files of an original. Its builders give the entries of the import their ids again, in the
 * order in which they were added.
 */
export function sourceAgain({ files, original, header }: AppendSource): ForeignSource {
  const sessions = [original, ...original.children];
  const builders = new Map<string, EntryBuilder>();
  return {
    files: files.map(({ path, bytes }) => {
      const form = formByPath(path, bytes);
      return form === undefined ? { path } : { path, form };
    }),
    sessionId: header.id,
    instructions: false,
    records: (path) => fileRecords(files, path),
    json: () => undefined,
    sqlite: () => Promise.resolve(undefined),
    find: () => {},
    count: () => {},
    session: ({ id }) => {
      const known = builders.get(id) ?? sessionBuilder(sessions[builders.size], id);
      builders.set(id, known);
      return known;
    },
  };
}

function* fileRecords(files: AppendSource["files"], path: string): Generator<ForeignRecord> {
  const bytes = files.find((file) => file.path === path)?.bytes ?? new Uint8Array();
  for (const found of readLines(bytes, bytes.length + 1))
    if (found.kind === "record") {
      const { line, value, part } = found;
      yield { file: path, line, value, ...(part === undefined ? {} : { part }) };
    }
}

/** A builder that gives the ids of entries that were made before, in their order. */
function sessionBuilder(session: AppendSource["original"] | undefined, foreignId: string): EntryBuilder {
  const entries: readonly SessionEntry[] = session?.entries ?? [];
  const ids = new Map<string, string>();
  const known = new Set<string>();
  const keyByRecordId = (recordId: string, part: string | number = "") => `${recordId}\0${part}`;
  let last: string | null = null;
  return {
    get last() {
      return last;
    },
    sessionId: session?.header.id ?? foreignId,
    time: (timestamp) => (typeof timestamp === "number" ? timestamp : 0),
    add: (_draft, { recordId, part }) => {
      const key = keyByRecordId(recordId, part);
      const id = ids.get(key) ?? entries[ids.size]?.id ?? "";
      ids.set(key, id);
      known.add(id);
      last = id;
      return id;
    },
    idByRecordId: (recordId, part) => ids.get(keyByRecordId(recordId, part)),
    has: (id) => known.has(id),
    setLeaf: () => {},
  };
}
