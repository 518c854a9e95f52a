import type { EntryDraft, Message, Session } from "sessile";
import { initialContext, summarizeBranch } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import {
  attachment,
  compactNow,
  gave,
  saidIn,
  scripted,
  sessionOf,
  told,
  tooLong,
  usage,
  user,
} from "./scripted.js";

const down = new Error("the service is down");
const say = (message: Message): EntryDraft => ({ type: "message", message });
const leave = (
  session: Session,
  to: string | null,
  options: Partial<Parameters<typeof summarizeBranch>[2]> = {},
) =>
  summarizeBranch(session, to, {
    ...scripted("LEFT"),
    window: 100_000,
    ...options,
    retry: { delayMs: () => 0, ...options.retry },
  });
const pathOf = async (session: Session) => (await session.tree()).path(session.leafId).map(({ id }) => id);

/** A session that went two ways from its second message, and stands at the end of the second. */
async function forked() {
  const session = await sessionOf([user("root"), told("fork"), user("first way"), told("first end")]);
  const [root, fork, , firstEnd] = (await pathOf(session)) as [string, string, string, string];
  await session.branch(fork);
  await session.append([say(user("second way")), say(told("second end", ["2"])), say(gave("2", "found"))]);
  return { session, root, fork, firstEnd };
}

describe("what is summarised", () => {
  test("covers the entries after the common ancestor, and the leaf moves", async () => {
    const { session, fork, firstEnd } = await forked();
    const leafId = session.leafId;
    for (const [to, shown] of [
      [firstEnd, ["user: root", "assistant: fork", "user: first way", "assistant: first end"]],
      [fork, ["user: root", "assistant: fork"]],
    ] as const) {
      await session.branch(leafId);
      const model = scripted("LEFT");
      const result = await leave(session, to, model);
      expect(model.prompts[0]?.text).toContain(
        "<conversation>\n[User]: second way\n\n[Assistant]: second end\n\n[Assistant tool calls]: read(",
      );
      expect(result.status === "summarized" && result.entry).toMatchObject({
        type: "branch_summary",
        fromId: leafId,
        parentId: to,
      });
      expect(session.leafId).toBe(result.status === "summarized" && result.entry.id);
      expect(await saidIn(session)).toEqual([
        ...shown,
        "branchSummary: LEFT\n\n<read-files>\n2.ts\n</read-files>",
      ]);
    }
  });

  test("is all of it where the next entry is a new root", async () => {
    const { session } = await forked();
    const model = scripted("LEFT");
    expect(await leave(session, null, model)).toMatchObject({
      status: "summarized",
      entry: { parentId: null },
    });
    expect(model.prompts[0]?.text).toContain("[User]: root");
  });

  test("includes a compaction's summary on the branch that is left, and no message that it covers", async () => {
    const { session, firstEnd } = await forked();
    await session.append([say(user(`third ${"x".repeat(900)}`))]);
    await session.append([say(user("fourth"))]);
    await compactNow(session, scripted("COMPACTED"));
    const model = scripted("LEFT");
    await leave(session, firstEnd, model);
    expect(model.prompts[0]?.text).toContain("[Earlier summary]: COMPACTED");
    expect(model.prompts[0]?.text).toContain("[User]: fourth");
    expect(model.prompts[0]?.text).not.toContain("third");
  });

  test("does not cover system messages, initial context and model switches; if that is all, the leaf only moves", async () => {
    const { session, fork } = await forked();
    await session.branch(fork);
    await session.append([
      initialContext("the rules"),
      {
        type: "custom_message",
        customType: "sessile.model_switch",
        content: "another model",
        display: false,
      },
      say({ role: "system", content: "be kind", timestamp: 1 }),
    ]);
    const size = (await session.tree()).size;
    const model = scripted("LEFT");
    expect(await leave(session, fork, model)).toEqual({ status: "moved" });
    expect([model.prompts, (await session.tree()).size, session.leafId]).toEqual([[], size, fork]);
    expect(await leave(session, fork, { ...model, skip: () => false })).toEqual({ status: "moved" });
  });

  test("is empty if the leaf only advances, or stays", async () => {
    const { session, fork } = await forked();
    const leafId = session.leafId as string;
    const model = scripted("LEFT");
    expect(await leave(session, leafId, model)).toEqual({ status: "moved" });
    await session.branch(fork);
    expect(await leave(session, leafId, model)).toEqual({ status: "moved" });
    expect([session.leafId, model.prompts]).toEqual([leafId, []]);
  });

  test("of a caller's own kind may be skipped; prompt and focus are the caller's", async () => {
    const { session, fork } = await forked();
    const model = scripted("LEFT");
    const prompt = { system: "S", instructions: "MINE", update: "U", maxTokens: 70 };
    await leave(session, fork, {
      ...model,
      prompt,
      focus: "FOCUS",
      skip: ({ message }) => message.role === "user",
    });
    expect(model.prompts[0]).toMatchObject({ system: "S", text: expect.stringMatching(/MINE[\s\S]*FOCUS/) });
    expect(model.prompts[0]?.text).not.toContain("second way");
    expect(model.options[0]?.maxTokens).toBe(70);
  });
});

test("files and attachments of the branch are kept in details, and the usage of all calls", async () => {
  const { session, fork } = await forked();
  await session.append([say({ ...user(""), content: [{ type: "text", text: "p", resource: attachment }] })]);
  const result = await leave(
    session,
    fork,
    scripted({ text: "", usage: usage(30) }, { text: "LEFT", usage: usage(4) }),
  );
  expect(result.status === "summarized" && result.entry).toMatchObject({
    details: { readFiles: ["2.ts"], modifiedFiles: [], resources: [{ resourceId: attachment.resourceId }] },
    usage: { input: 34, totalTokens: 34 },
  });
  // The next compaction goes on from there.
  await session.append([say(told("x".repeat(900))), say(user("go on"))]);
  const compacted = await compactNow(session, scripted("S"));
  expect(compacted.status === "compacted" && compacted.entry.details).toMatchObject({
    readFiles: ["2.ts"],
    resources: [{ resourceId: attachment.resourceId }],
  });
});

test("attachments and files that a compaction on the branch covers are among them", async () => {
  const { session, firstEnd } = await forked();
  await session.append([
    say({ ...user(""), content: [{ type: "text", text: "p", resource: attachment }] }),
    say(told("x".repeat(900))),
    say(user("go on")),
  ]);
  await compactNow(session, scripted("COMPACTED"));
  const result = await leave(session, firstEnd);
  expect(result.status === "summarized" && result.entry.details).toMatchObject({
    readFiles: ["2.ts"],
    resources: [{ resourceId: attachment.resourceId }],
  });
  expect(result.status === "summarized" && result.entry.summary).toContain(attachment.resourceId);
});

describe("the leaf stays and nothing is written", () => {
  test.each([
    ["an error", down, { code: "SUMMARY_FAILED", cause: down, details: { reason: "error", calls: 3 } }],
    ["no text", "", { code: "SUMMARY_FAILED", details: { reason: "empty" } }],
    ["a refusal", tooLong, { code: "SUMMARY_FAILED", details: { reason: "overflow" } }],
  ])("after %s", async (_, answer, error) => {
    const { session, fork } = await forked();
    const [leafId, size] = [session.leafId, (await session.tree()).size];
    await expect(leave(session, fork, scripted(answer))).rejects.toMatchObject(error);
    expect([session.leafId, (await session.tree()).size]).toEqual([leafId, size]);
  });

  test("where it is aborted, or there is no such entry, or attempts are none", async () => {
    const { session, fork } = await forked();
    const [leafId, size] = [session.leafId, (await session.tree()).size];
    const controller = new AbortController();
    const generate = () => {
      controller.abort("enough");
      return new Promise<never>(() => undefined);
    };
    await expect(leave(session, fork, { generate, signal: controller.signal })).rejects.toBe("enough");
    await expect(leave(session, "00000000")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
    await expect(leave(session, fork, { retry: { attempts: 0 } })).rejects.toThrow(RangeError);
    expect(session.leafId).toBe(leafId);
    // Also where there is nothing to ask.
    await session.branch(fork);
    await expect(leave(session, leafId, { signal: AbortSignal.abort("enough") })).rejects.toBe("enough");
    expect([session.leafId, (await session.tree()).size]).toEqual([fork, size]);
  });

  test("if the leaf advanced meanwhile", async () => {
    const { session, fork } = await forked();
    let leaf: string | null = null;
    const generate = async () => {
      await session.append([say(user("wait"))]);
      leaf = session.leafId;
      return { text: "LEFT" };
    };
    await expect(leave(session, fork, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(session.leafId).toBe(leaf);
    expect((await saidIn(session)).at(-1)).toBe("user: wait");
  });
});
