/** The export of a session for another agent. */

import { describe } from "../core/arguments.js";
import { type LoadedSession, loadSession, writeSource } from "./export-source.js";
import { beginsWith, collectFiles, readOriginal, returned } from "./original.js";
import { ReportBuilder } from "./report.js";
import type { ExportedSession, ExportOptions, ExportSource, ForeignFile } from "./types.js";

/**
 * Writes a session as files that another agent resumes. For the agent that it was imported from: the original
 * bytes if nothing changed, lines after them if the format can express the change, else anew. Nothing is
 * written to disk, unless the option `write` does it. The report has everything that is left out or changed.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf; errors of the blob store, the session and `write`
 * @throws TypeError for invalid arguments
 * @example
 * ```ts
 * const { files, resume, report } = await exportSession(session, { to: claudeCode, blobs });
 * ```
 */
export async function exportSession(source: ExportSource, options: ExportOptions): Promise<ExportedSession> {
  const { to, provider, write } = options;
  if (typeof to?.write !== "function") throw new TypeError(`to: expected a format, got ${describe(to)}`);
  if (provider !== undefined && (typeof provider !== "string" || provider === ""))
    throw new TypeError(`provider: expected a name, got ${describe(provider)}`);
  if (write !== undefined && typeof write !== "function")
    throw new TypeError(`write: expected a function, got ${describe(write)}`);
  const report = new ReportBuilder();
  const session = await loadSession(source, options.leafId);
  const loaded: LoadedSession[] = [];
  for (const child of options.children ?? []) loaded.push(await loadSession(child));
  const children = loaded.map((child) => writeSource(child, [], options, report));
  const writable = writeSource(session, children, options, report);
  // The original bytes name the provider that they were written with.
  const original = provider === undefined ? await readOriginal(session, options) : undefined;
  const kept = original && (await returned(session, writable, original, { ...options, loaded }));
  if (original !== undefined && kept !== undefined) {
    const exact = beginsWith(kept.files, original.files);
    const files = await delivered(kept.files, write);
    return { ...kept, files, report: report.build(to.name, { exact }) };
  }
  const written = await to.write(writable);
  const files = await delivered(written.files, write);
  return { ...written, files, report: report.build(to.name, { exact: false }) };
}

/** Hands the files to a writer, else collects them. */
async function delivered(
  files: readonly ForeignFile[],
  write: ExportOptions["write"],
): Promise<ExportedSession["files"]> {
  if (write === undefined) return collectFiles(files);
  for (const { path, bytes } of files) await write({ path, bytes: readChunks(bytes) });
  return [];
}

const chunkBytes = 1024 * 1024;

async function* readChunks(bytes: ForeignFile["bytes"]): AsyncGenerator<Uint8Array, void, undefined> {
  if (!(bytes instanceof Uint8Array)) yield* bytes;
  else for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}
