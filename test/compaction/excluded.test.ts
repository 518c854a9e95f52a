import {
  compact,
  fileLedger,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
} from "sessile/compaction";
import { assistantMessage, toolResult, userMessage } from "sessile/content";
import { memorySessionStore, type Session } from "sessile/session";
import { expect, test } from "vitest";

const maker = { provider: "p", model: "m" };

async function look(session: Session, id: string, path: string): Promise<readonly string[]> {
  const call = { type: "toolCall", id, name: "read", arguments: { path } } as const;
  const told = [
    userMessage(`look at ${path}`),
    assistantMessage(maker, call),
    toolResult(call, `in ${path}`),
  ];
  const entries = await session.append(told.map((message) => ({ type: "message", message })));
  return entries.map((entry) => entry.id);
}

test.each([
  rollingSummary({ keepRecentTokens: 1 }),
  recentUserMessages({ keepUserTokens: 100 }),
  pruneThenSummarize(),
])(
  "what an edit took out is shown to no model that summarises, and is in no ledger: $name",
  async (strategy) => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const excluded = await look(session, "c1", "secret.txt");
    await look(session, "c2", "plain.txt");
    await session.appendMessage(userMessage("lorem ipsum ".repeat(2000)));
    await session.appendMessage(userMessage("go on"));
    await session.append(excluded.map((targetId) => ({ type: "context_edit", targetId, replacement: null })));
    const asked: string[] = [];
    await compact(session, {
      strategy,
      window: 200_000,
      trigger: "manual",
      generate: async ({ system, text }) => {
        asked.push(system, text);
        return { text: "A summary." };
      },
    });
    expect(asked.join()).toContain("plain.txt");
    const context = await session.context();
    expect(fileLedger(context, { cwd: "/work" }).files.map(({ path }) => path)).toEqual(["plain.txt"]);
    expect(JSON.stringify([asked, context])).not.toContain("secret");
  },
);
