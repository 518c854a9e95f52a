/** The bytes of foreign files: collected within a limit, decompressed, distinguished by their first bytes. */

import { describe } from "../core/arguments.js";
import { abortable } from "../core/concurrency.js";
import type { ReportBuilder } from "./report.js";
import type { ForeignFile, ImportOptions } from "./types.js";

/** A file that was read. */
export interface LoadedFile {
  readonly path: string;
  readonly modified?: number;
  /** As it lies there. */
  readonly stored: Uint8Array;
  /** Decompressed; undefined if that is not possible. */
  readonly bytes: Uint8Array | undefined;
  readonly kind: "text" | "sqlite";
}

/** Reads files in order. A file beyond the limit of all bytes is left out, with a finding. */
export async function loadFiles(
  files: Iterable<ForeignFile>,
  maxBytes: number,
  options: Pick<ImportOptions, "decompress" | "signal">,
  report: ReportBuilder,
): Promise<readonly LoadedFile[]> {
  const loaded = new Map<string, LoadedFile>();
  let left = maxBytes;
  for (const file of files) {
    options.signal?.throwIfAborted();
    const path = filePath(file);
    if (loaded.has(path)) throw new TypeError(`files: two of them have the path ${describe(path)}`);
    const stored = await collect(file.bytes, left, options.signal);
    if (stored === undefined) {
      report.find({ code: "tooLong", file: path, text: `the files have more than ${maxBytes} bytes` });
      continue;
    }
    const bytes = isZstandard(stored) ? await decompressed(path, stored, left, options, report) : stored;
    left -= Math.max(stored.length, bytes?.length ?? 0);
    const modified = typeof file.modified === "number" ? { modified: file.modified } : {};
    loaded.set(path, { path, ...modified, stored, bytes, kind: isSqlite(bytes) ? "sqlite" : "text" });
  }
  return [...loaded.values()];
}

function filePath(file: ForeignFile): string {
  if (typeof file?.path === "string" && file.path !== "") return file.path;
  throw new TypeError(`files: expected a path and bytes, got ${describe(file?.path)} for a path`);
}

/** The bytes of a source; undefined if they are more than `maxBytes`. */
async function collect(
  source: ForeignFile["bytes"],
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  if (source instanceof Uint8Array) return source.length > maxBytes ? undefined : source;
  if (typeof source !== "object" || source === null || !(Symbol.asyncIterator in source)) {
    throw new TypeError(`files: expected bytes or an async iterable of them, got ${describe(source)}`);
  }
  // One buffer that grows: a list of parts would have the file in memory twice. A reader may reuse its own.
  let bytes = new Uint8Array();
  let total = 0;
  for await (const part of abortable(source, signal)) {
    const end = total + part.length;
    if (end > maxBytes) return undefined;
    if (end > bytes.length) {
      const grown = new Uint8Array(Math.max(end, Math.min(maxBytes, 2 * bytes.length)));
      grown.set(bytes.subarray(0, total));
      bytes = grown;
    }
    bytes.set(part, total);
    total = end;
  }
  return bytes.subarray(0, total);
}

async function decompressed(
  file: string,
  bytes: Uint8Array,
  maxBytes: number,
  { decompress }: Pick<ImportOptions, "decompress">,
  report: ReportBuilder,
): Promise<Uint8Array | undefined> {
  if (decompress === undefined) {
    report.find({ code: "needsReader", file, text: "Zstandard, and there is no `decompress`" });
    return undefined;
  }
  const most = Math.min(maxBytes, Math.max(minDecompressed, maxRatio * bytes.length));
  const tooLong = () =>
    report.find({ code: "tooLong", file, text: `decompressed, it has more than ${most} bytes` });
  try {
    const whole = await decompress(bytes, most);
    if (whole instanceof Uint8Array && whole.length <= most) return whole;
    tooLong();
  } catch (error) {
    // Node's error of `maxOutputLength`.
    if ((error as { readonly code?: unknown } | undefined)?.code === "ERR_BUFFER_TOO_LARGE") tooLong();
    else {
      const reason = error instanceof Error ? error.message : String(error);
      report.find({ code: "unreadable", file, text: `it cannot be decompressed: ${reason}` });
    }
  }
  return undefined;
}

/** Rollouts shrink to a tenth or a twentieth. A file that grows by more than this was made to fill memory. */
const maxRatio = 200;
/** In bytes: a short session of one word again and again shrinks more. */
const minDecompressed = 16 * 1024 * 1024;

/** https://www.rfc-editor.org/rfc/rfc8878 section 3.1.1 (read 2026-11-23) */
function isZstandard(bytes: Uint8Array): boolean {
  return startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd]);
}

const sqliteMagic = [..."SQLite format 3\0"].map((character) => character.charCodeAt(0));

/** https://www.sqlite.org/fileformat.html section 1.3 (read 2026-11-23) */
function isSqlite(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && startsWith(bytes, sqliteMagic);
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => bytes[at] === byte);
}
