/** Rows of `session/list`. */

import type { SessionSummary } from "../../session/index.js";

/** A session as a client lists it. */
export type AcpSessionInfo = {
  sessionId: string;
  cwd: string;
  title?: string;
  /** ISO 8601. */
  updatedAt: string;
};

/**
 * A session of a store's list as a row of `session/list`. The title is the session's title or name, else the
 * start of the first message. The reply's `nextCursor` is the `cursor` of the last summary.
 */
export function acpSessionInfo(summary: SessionSummary): AcpSessionInfo {
  const { id, cwd, modified, firstMessage } = summary;
  const title = summary.title || summary.name || firstMessage;
  return { sessionId: id, cwd, ...(title ? { title } : {}), updatedAt: modified };
}
