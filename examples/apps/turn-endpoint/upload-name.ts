import { extname } from "node:path";

/** File systems take names of 255 bytes. */
const maxStemBytes = 120;
const maxExtensionBytes = 20;

/**
 * A name for a file of ours from one that a client gave: its last part, without what a file system, a terminal or a header
 * would take for something else. Whatever the name says, the file lies where all uploads lie.
 *
 * @example
 * ```ts
 * uploadName("../../etc/pass\r\nwd.png"); // "pass_wd.png"
 * ```
 */
export function uploadName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? "";
  const safe = last
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD<>:"|?*]+/gu, "_")
    .replace(/^[\s.]+|[\s.]+$/g, "");
  const extension = extname(safe);
  const stem = safe.slice(0, safe.length - extension.length) || "unnamed";
  // What is cut may end as no name should.
  return `${cut(stem, maxStemBytes)}${cut(extension, maxExtensionBytes)}`.replace(/[\s.]+$/, "");
}

function cut(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = "";
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}
