// The chat agent of the design, as far as its modules exist: what comes from blobs, projections and compaction is a
// parameter here, and becomes an import with those modules.
import { type AssistantMessage, type Context, toolCalls, toolResult, userMessage } from "sessile/content";
import type { Session } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";

export async function chat(
  dir: string,
  cwd: string,
  ask: (context: Context) => Promise<AssistantMessage>,
  warn: (code: string, line: number) => void,
): Promise<Session> {
  const sessions = fileSessionStore({ dir });
  const recent = await sessions.latest({ cwd });
  const session = recent ? await sessions.open(recent.id, { mode: "write" }) : await sessions.create({ cwd });
  try {
    for (const { code, line } of session.diagnostics) warn(code, line);
    await session.appendMessage(userMessage("What is wrong?"));
    for (;;) {
      const message = await ask(await session.context());
      await session.appendMessage(message);
      const calls = toolCalls(message);
      if (calls.length === 0) break;
      await session.append(calls.map((call) => ({ type: "message", message: toolResult(call, "ok") })));
    }
  } finally {
    await session.close();
  }
  return session;
}
