import { type CompactOptions, compact, rollingSummary } from "sessile/compaction";
import { userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import { memorySessionStore, type Session } from "sessile/session";
import { describe, expect, it } from "vitest";

const window = 4_000;
const summary = "## Goal\nWhat was asked.";

async function talkativeSession(): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/project" });
  await talk(session);
  return session;
}

async function talk(session: Session): Promise<void> {
  for (let turn = 0; turn < 4; turn++)
    await session.appendMessage(userMessage("Something to say. ".repeat(150)));
}

const options = (generate: CompactOptions["generate"]): CompactOptions => ({
  strategy: rollingSummary({ reserveTokens: 0, keepRecentTokens: 500 }),
  window,
  generate,
});

describe("summaries that are brought up to date", () => {
  it("may stay as they were, where there is nothing new to say", async () => {
    const session = await talkativeSession();
    const answer = options(async () => ({ text: summary }));
    expect(await compact(session, answer)).toMatchObject({ status: "compacted", entry: { summary } });
    await talk(session);
    expect(await compact(session, answer)).toMatchObject({ status: "compacted", entry: { summary } });
  });

  it("are none where the model refuses every part as too long", async () => {
    const session = await talkativeSession();
    await compact(
      session,
      options(async () => ({ text: summary })),
    );
    await talk(session);
    const size = session.tree.size;
    const refusal = compact(
      session,
      options(async () => Promise.reject(new Error("prompt is too long: 2 tokens > 1 maximum"))),
    );
    const error = await refusal.catch((reason: unknown) => reason);
    expect(SessileError.is(error, "SUMMARY_FAILED") && error.details.reason).toBe("overflow");
    expect(session.tree.size).toBe(size);
  });
});
