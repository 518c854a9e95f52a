/**
 * Whether the bytes of files may have the words of a search: bytes are cheaper than entries. The answer may
 * be yes for files in which nothing is found, and is never no for others.
 */

import type { FileHandle } from "node:fs/promises";
import { foldCase, hidesLetters, isWordAt, parseQuery, rarestPart } from "../session/internal.js";
import { type PairSearch, pairSearch } from "./pair-search.js";
import { openRegular } from "./regular-file.js";

const chunkBytes = 512 * 1024;
/** Bytes that a chunk repeats of the one before, for an escape or a character on the border. */
const minOverlap = 8;

/** Of a longer word its beginning is looked for, which bounds the bytes that a chunk repeats. */
const maxWordLength = 256;

/** Texts that imports add to those of an agent's files. */
export const textsOfImports = [
  "that is not base64",
  "[file part]",
  "[Attached application/octet-stream",
  "[Old tool result content cleared]",
  "What did we do so far?",
  "The following tool was executed by the user",
];

/** Whether the words may be in these files. */
export type FilesTest = (paths: readonly string[], signal: AbortSignal) => Promise<boolean>;

/**
 * Makes the test of a query's text.
 * @param added texts of entries that are not in the files
 */
export function filesTest(text: string, added: readonly string[] = []): FilesTest {
  const words = parseQuery(text).flatMap((phrase) => phrase.words.map((word) => word.text));
  const known = added.map(foldCase);
  // JSON writes letters and digits of ASCII as they are, but for escapes that are not needed. Files without a
  // letter are rare.
  const plain = words.filter(
    (word) => word.length > 1 && !/[^a-z0-9]/.test(word) && !known.some((each) => each.includes(word)),
  );
  const wanted = [...new Set(plain.map((word) => word.slice(0, maxWordLength)))];
  const overlap = wanted.reduce((most, word) => Math.max(most, word.length), minOverlap);
  /** New memory costs as much as the search in it. */
  const searches: PairSearch[] = [];
  return async (paths, signal) => {
    if (wanted.length === 0) return true;
    const search = searches.pop() ?? pairSearch(overlap + chunkBytes);
    if (search === undefined) return true;
    try {
      return await mayHave(search, paths, signal);
    } finally {
      searches.push(search);
    }
  };

  async function mayHave(search: PairSearch, paths: readonly string[], signal: AbortSignal) {
    let missing: readonly string[] = wanted;
    for (const path of paths) {
      // A compressed file and a database do not show their text.
      if (/\.(?:zst|db)$/.test(path)) return true;
      const file = await openRegular(path).catch(() => undefined);
      // Opening it tells why it is not readable.
      if (file === undefined) return true;
      try {
        for await (const length of chunksOf(file, search.bytes, overlap)) {
          signal.throwIfAborted();
          const found = missing.map((word) => find(search, length, word));
          if (found.includes("hidden")) return true;
          missing = missing.filter((_, at) => found[at] === undefined);
          if (missing.length === 0) return true;
        }
      } finally {
        await file.close();
      }
    }
    return false;
  }
}

/** Reads a file into the same bytes again and again; yields how many of them there are. */
async function* chunksOf(file: FileHandle, bytes: Buffer, overlap: number): AsyncGenerator<number> {
  for (let kept = 0; ; ) {
    const { bytesRead } = await file.read(bytes, kept, bytes.length - kept);
    if (bytesRead === 0) return;
    const length = kept + bytesRead;
    yield length;
    kept = Math.min(overlap, length);
    bytes.copyWithin(0, length - kept, length);
  }
}

const backslash = 0x5c;

/**
 * Looks for a word in the first bytes, and for an escape or a character that may hide a letter or a digit of
 * ASCII, such as `ﬁ`.
 */
function find({ bytes, next }: PairSearch, length: number, word: string): "word" | "hidden" | undefined {
  const pairAt = rarestPart(word, 2);
  const first = word.charCodeAt(pairAt);
  const second = word.charCodeAt(pairAt + 1);
  for (let at = next(0, length, first, second); at < length; at = next(at, length, first, second)) {
    let byte = bytes[at] as number;
    if (byte === backslash) {
      if (isHiddenCharacter(bytes, at, length)) return "hidden";
      at++;
    } else if (byte < 0x80) {
      const start = at - pairAt;
      if (start >= 0 && start + word.length <= length && isWordAt(bytes, start, word)) return "word";
      at++;
    } else {
      for (; at < length && byte >= 0x80; byte = bytes[++at] as number)
        if (hidesLetters(bytes, at)) return "hidden";
    }
  }
  return undefined;
}

/** Whether an escape is that of no control character, in JSON or in JSON within a text. */
function isHiddenCharacter(bytes: Buffer, at: number, length: number): boolean {
  return at + 6 <= length && /^(?!00[01])[0-9a-f]{4}/i.test(bytes.toString("latin1", at + 2, at + 6));
}
