/** The export of a session for another agent. */

import { describe } from "../internal/arguments.js";
import { type LoadedSession, loadSession, writeSource } from "./export-source.js";
import { beginsWith, readOriginal, returned } from "./original.js";
import { ReportBuilder } from "./report.js";
import type { ExportedSession, ExportOptions, ExportSource } from "./types.js";

/**
 * Writes a session as files that another agent resumes. For the agent that it was imported from: the original
 * bytes if nothing changed, lines after them if the format can express the change, else anew. Nothing is
 * written to disk. The report has everything that is left out or changed.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf; errors of the blob store
 * @throws TypeError for invalid arguments
 * @example
 * ```ts
 * const { files, resume, report } = await exportSession(session, { to: claudeCode, blobs });
 * ```
 */
export async function exportSession(source: ExportSource, options: ExportOptions): Promise<ExportedSession> {
  const { to, provider } = options;
  if (typeof to?.write !== "function") throw new TypeError(`to: expected a format, got ${describe(to)}`);
  if (provider !== undefined && (typeof provider !== "string" || provider === ""))
    throw new TypeError(`provider: expected a name, got ${describe(provider)}`);
  const report = new ReportBuilder();
  const session = await loadSession(source, options.leafId);
  const loaded: LoadedSession[] = [];
  for (const child of options.children ?? []) loaded.push(await loadSession(child));
  const children = loaded.map((child) => writeSource(child, [], options, report));
  const path = writeSource(session, children, options, report);
  // The original bytes name the provider that they were written with.
  const original = provider === undefined ? await readOriginal(session, options) : undefined;
  const kept = original && (await returned(session, path, original, { ...options, loaded }));
  if (original !== undefined && kept !== undefined) {
    const exact = beginsWith(kept.files, original.files);
    return { ...kept, report: report.build(to.name, { exact }) };
  }
  const written = await to.write(path);
  return { ...written, report: report.build(to.name, { exact: false }) };
}
