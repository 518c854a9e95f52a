import { extname } from "node:path";

/** Bytes; file systems take names of 255. */
const maxBytes = 120;

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
  const extension = extname(safe).slice(0, 10);
  return `${cut(safe.slice(0, safe.length - extname(safe).length) || "unnamed")}${extension}`;
}

function cut(stem: string): string {
  let bytes = 0;
  let kept = "";
  for (const character of stem) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}
