/** The export of a session for another agent. */

import type { ExportedSession, ExportOptions, ExportSource } from "./types.js";

/** Writes a session as the files that another agent resumes. */
export async function exportSession(_source: ExportSource, options: ExportOptions): Promise<ExportedSession> {
  const report = { format: options.to.name, exact: false, counts: {}, findings: [] } as const;
  return { files: [], resume: [], report };
}
