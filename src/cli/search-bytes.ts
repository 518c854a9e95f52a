/**
 * Whether the bytes of files may have the words of a search: bytes are cheaper than entries. The answer may
 * be yes for files in which nothing is found, and is never no for others.
 */

import { isAscii } from "node:buffer";
import { type FileHandle, open } from "node:fs/promises";
import { foldCase, normalizedText, parseQuery } from "../session/internal.js";

const chunkBytes = 512 * 1024;
/** Bytes that a chunk repeats of the one before, for an escape or a character on the border. */
const minOverlap = 8;

/** Of a longer word its beginning is looked for: a regular expression has a maximum size. */
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
  // JSON writes letters and digits of ASCII as they are, but for escapes that nobody needs.
  const plain = words.filter(
    (word) => /^[a-z0-9]+$/.test(word) && !known.some((each) => each.includes(word)),
  );
  const wanted = [...new Set(plain.map((word) => word.slice(0, maxWordLength)))];
  const overlap = wanted.reduce((most, word) => Math.max(most, word.length), minOverlap);
  /** New memory costs as much as the search in it. */
  const buffers: Buffer[] = [];
  return async (paths, signal) => {
    let missing = wanted.map((word) => new RegExp(word, "i"));
    const buffer = buffers.pop() ?? Buffer.from(new ArrayBuffer(overlap + chunkBytes));
    for (const path of paths) {
      if (missing.length === 0) return true;
      // A compressed file and a database do not show their text.
      if (/\.(?:zst|db)$/.test(path)) return true;
      const file = await open(path).catch(() => undefined);
      // Opening it tells why it is not readable.
      if (file === undefined) return true;
      try {
        for await (const chunk of chunksOf(file, buffer, overlap)) {
          signal.throwIfAborted();
          for (const block of blocksOf(chunk, overlap)) {
            missing = missing.filter((word) => !word.test(block));
            if (missing.length === 0) return true;
          }
          if (hidesLetters(chunk)) return true;
        }
      } finally {
        await file.close();
      }
    }
    buffers.push(buffer);
    return missing.length === 0;
  };
}

async function* chunksOf(file: FileHandle, buffer: Buffer, overlap: number): AsyncGenerator<Buffer> {
  for (let kept = 0; ; ) {
    const { bytesRead } = await file.read(buffer, kept, buffer.length - kept);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, kept + bytesRead);
    yield chunk;
    kept = Math.min(overlap, chunk.length);
    buffer.copy(buffer, 0, chunk.length - kept, chunk.length);
  }
}

/** Strings over 128 KiB have memory of their own, which takes several times as long as a search in them. */
const blockBytes = 64 * 1024;

/** The bytes as characters, one each. */
function* blocksOf(chunk: Buffer, overlap: number): Generator<string> {
  for (let from = 0; from < chunk.length; from += blockBytes)
    yield chunk.toString("latin1", Math.max(0, from - overlap), from + blockBytes);
}

const unicodeEscape = Buffer.from("\\u");
/** An escape that is no control character, in JSON or in JSON within a text. */
const hiddenCharacter = /\\u(?!00[01])[0-9a-f]{4}/i;

/** Whether a letter or digit of ASCII may stand there as an escape, or as another character such as `ﬁ`. */
function hidesLetters(chunk: Buffer): boolean {
  const first = chunk.indexOf(unicodeEscape);
  if (first >= 0)
    for (const block of blocksOf(chunk.subarray(first), minOverlap))
      if (hiddenCharacter.test(block)) return true;
  if (isAscii(chunk)) return false;
  // Sixteen bytes at once: most have ASCII alone.
  const quads = new Int32Array(chunk.buffer, chunk.byteOffset, chunk.length >> 2);
  const end = quads.length & ~3;
  for (let at = 0; at < end; at += 4) {
    const bits =
      (quads[at] as number) |
      (quads[at + 1] as number) |
      (quads[at + 2] as number) |
      (quads[at + 3] as number);
    if ((bits & 0x80808080) !== 0 && hasLettersIn(chunk, 4 * at, 4 * at + 16)) return true;
  }
  return hasLettersIn(chunk, 4 * end, chunk.length);
}

function hasLettersIn(chunk: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = chunk[at] as number;
    if (byte >= firstLead && hasLetters(codePointAt(chunk, at, byte))) return true;
  }
  return false;
}

/** The first bytes of characters in UTF-8 are not below it, and all others are. */
const firstLead = 0xc2;

function codePointAt(bytes: Buffer, at: number, lead: number): number {
  const next = (offset: number) => (bytes[at + offset] ?? 0) & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | next(1);
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (next(1) << 6) | next(2);
  return ((lead & 0x07) << 18) | (next(1) << 12) | (next(2) << 6) | next(3);
}

/** For each code point: 0 not yet known, 1 no letters, 2 letters. */
const letters = new Uint8Array(0x20_0000);

/** Whether the folded form of a character has letters or digits of ASCII. */
function hasLetters(codePoint: number): boolean {
  const known = letters[codePoint] as number;
  if (known > 0) return known === 2;
  const isCharacter = codePoint <= 0x10_ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
  const found = isCharacter && /[a-z0-9]/.test(foldCase(normalizedText(String.fromCodePoint(codePoint))));
  letters[codePoint] = found ? 2 : 1;
  return found;
}
