/**
 * Whether the bytes of files may have the words of a search: a test costs a tenth of reading entries. The
 * answer may be yes for files in which nothing is found, and is never no for others.
 */

import { foldCase, hidesLetters, isWordAt, parseQuery, rarestPart } from "../log/internal.js";
import { openRegular } from "./regular-file.js";

const chunkBytes = 512 * 1024;
/** Of a longer word its beginning is looked for. */
const maxWordLength = 256;
/** Bytes that a chunk repeats of the one before: a word, an escape or a character may be on the border. */
const overlap = maxWordLength;

/** Texts that imports add to those of an agent's files. */
const textsOfImports = [
  "that is not base64",
  "[file part]",
  "[Attached application/octet-stream",
  "[Old tool result content cleared]",
  "What did we do so far?",
  "The following tool was executed by the user",
].map(foldCase);

/** Makes the test of a query's text. */
export function filesTest(text: string): (paths: readonly string[], signal: AbortSignal) => Promise<boolean> {
  const words = parseQuery(text).flatMap((phrase) => phrase.words.map((word) => word.text));
  // JSON writes letters and digits of ASCII as they are, but for escapes that are not needed. Files without a
  // letter are rare.
  const plain = words.filter(
    (word) =>
      /^[a-z0-9]{2,256}$/.test(word.slice(0, maxWordLength)) &&
      !textsOfImports.some((each) => each.includes(word)),
  );
  const wanted = [...new Set(plain.map((word) => word.slice(0, maxWordLength)))];
  const bytes = Buffer.alloc(overlap + chunkBytes);
  return async (paths, signal) => {
    let missing: readonly string[] = wanted;
    for (const path of missing.length === 0 ? [] : paths) {
      // A compressed file and a database do not show their text.
      if (/\.(?:zst|db)$/.test(path)) return true;
      const file = await openRegular(path).catch(() => undefined);
      // Opening it tells why it is not readable.
      if (file === undefined) return true;
      try {
        for (let kept = 0; ; ) {
          signal.throwIfAborted();
          const { bytesRead } = await file.read(bytes, kept, bytes.length - kept);
          if (bytesRead === 0) break;
          const chunk = bytes.subarray(0, kept + bytesRead);
          missing = missing.filter((word) => !hasWord(chunk, word));
          if (missing.length === 0 || hidesCharacters(chunk)) return true;
          kept = Math.min(overlap, chunk.length);
          bytes.copyWithin(0, chunk.length - kept, chunk.length);
        }
      } finally {
        await file.close();
      }
    }
    return missing.length === 0;
  };
}

/** Whether a word stands in bytes in any case. `indexOf` compares 32 bytes at once. */
function hasWord(bytes: Buffer, word: string): boolean {
  const pairAt = rarestPart(word, 2);
  const [first = "", second = ""] = word.slice(pairAt);
  const cases = (letter: string) => [letter, letter.toUpperCase()];
  const pairs = cases(first).flatMap((one) => cases(second).map((two) => one + two));
  for (const pair of new Set(pairs)) {
    for (let at = bytes.indexOf(pair, 0, "latin1"); at >= 0; at = bytes.indexOf(pair, at + 1, "latin1"))
      if (isWordAt(bytes, at - pairAt, word)) return true;
  }
  return false;
}

/**
 * Whether bytes have an escape or a character that may hide a letter or a digit of ASCII, such as `ﬁ`. A step
 * over 32 bytes of ASCII takes 0.15 s for a gigabyte, one over each byte 0.9 s.
 */
function hidesCharacters(bytes: Buffer): boolean {
  for (let at = bytes.indexOf("\\u"); at >= 0; at = bytes.indexOf("\\u", at + 1)) {
    // That of a control character hides none.
    if (/^(?!00[01])[0-9a-f]{4}/i.test(bytes.toString("latin1", at + 2, at + 6))) return true;
  }
  const parts = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.ceil(bytes.length / 32) * 8);
  const part = (at: number) => parts[at] as number;
  for (let at = 0; at < parts.length; at += 8) {
    const first = part(at) | part(at + 1) | part(at + 2) | part(at + 3);
    const second = part(at + 4) | part(at + 5) | part(at + 6) | part(at + 7);
    if (((first | second) & 0x80808080) === 0) continue;
    for (let byte = at * 4; byte < at * 4 + 32; byte++)
      if ((bytes[byte] ?? 0) >= 0x80 && hidesLetters(bytes, byte)) return true;
  }
  return false;
}
