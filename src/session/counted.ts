import { SessileError } from "../errors/index.js";
import type { Session, SessionSummary } from "./types.js";

/** A summary with what only the whole session tells; undefined where the session was deleted since it was listed. */
export async function counted(
  summary: SessionSummary,
  open: () => Promise<Session>,
): Promise<SessionSummary | undefined> {
  try {
    const session = await open();
    try {
      let messages = 0;
      for (const { node } of session.tree.walk()) if (node.type === "message") messages++;
      return { ...summary, counts: { entries: session.tree.size, messages } };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}
