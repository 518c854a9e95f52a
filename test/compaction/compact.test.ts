import {
  assistantMessage,
  type EphemeralEvent,
  type Message,
  memorySessionStore,
  type Session,
  toolResult,
  userMessage,
} from "sessile";
import { resourceObservation } from "sessile/attachments";
import {
  type CompactionPlan,
  type CompactOptions,
  compact,
  fileLedger,
  type PlanAnswer,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
} from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import { mergeCoveredResources, readCoveredResources, resourceNotes } from "../../src/compaction/boundary.js";
import { sentAttachments } from "../attachments/samples.js";
import {
  attachment,
  compactNow,
  gave,
  keepLast,
  lengthOf,
  saidIn,
  scripted,
  sessionOf,
  shortPrompt,
  told,
  tooLong,
  usage,
  user,
} from "./scripted.js";

const long = "x".repeat(400);
const talk: readonly Message[] = [user(long), told(long, ["1"]), gave("1", long), user("now this")];
const down = new Error("the service is down");

const few = { strategy: keepLast(1), window: 1000, estimate: lengthOf, generateWindow: 100_000 };

/** What was written so far, by id. */
const written = async (session: Session) => [...(await session.tree()).walk()].map(({ node }) => node.id);
/** Summarises in three texts. */
const inThree = keepLast(1, {
  choose: ({ items }) => ({
    keepFrom: 3,
    parts: [0, 1, 2].map((at) => ({ items: items.slice(at, at + 1), prompt: shortPrompt })),
  }),
});

/** That a compaction fails and leaves no trace. */
async function leavesNoTrace(
  options: Partial<CompactOptions> & Pick<CompactOptions, "generate">,
  error: unknown,
  messages = talk,
) {
  const session = await sessionOf(messages);
  const [before, ids, leaf] = [await session.context(), await written(session), session.leafId];
  const events: EphemeralEvent[] = [];
  session.on("ephemeral", (event) => events.push(event));
  const failing = compactNow(session, options);
  await (error instanceof Error
    ? expect(failing).rejects.toBe(error)
    : expect(failing).rejects.toMatchObject(error as object));
  expect([await session.context(), await written(session), session.leafId]).toEqual([before, ids, leaf]);
  expect(events).toMatchObject([
    { type: "compacting", active: true },
    { type: "compacting", active: false },
  ]);
  // Nothing is left behind that would hinder the next one.
  expect(await compactNow(session, scripted("S"))).toMatchObject({ status: "compacted" });
}

describe("a compaction", () => {
  // @covers R147 R157
  test("replaces what was said by a summary, and tells what it did", async () => {
    const session = await sessionOf([
      ...talk.slice(0, 3),
      { ...user(""), content: [{ type: "text", text: "p", resource: attachment }] },
      told(long),
      user("now this"),
    ]);
    const model = { provider: "q", modelId: "cheap" };
    const answer = { text: "SUMMARY", usage: usage(70, { output: 5 }), model };
    const { entry, ...result } = (await compactNow(session, scripted(answer))) as Extract<
      Awaited<ReturnType<typeof compactNow>>,
      { status: "compacted" }
    >;
    expect(result).toMatchObject({
      status: "compacted",
      tokensBefore: 1609,
      calls: 1,
      omitted: 0,
      usage: answer.usage,
    });
    expect(result.entries.at(-1)).toBe(entry);
    expect(entry).toMatchObject({
      type: "compaction",
      strategy: "keep-last",
      tokensBefore: 1609,
      usage: answer.usage,
      model,
      details: { readFiles: ["1.ts"], modifiedFiles: [], resources: [{ resourceId: attachment.resourceId }] },
    });
    expect(entry).not.toHaveProperty("fromHook");
    const [summary, ...rest] = await saidIn(session);
    expect(summary).toBe(`compactionSummary: ${entry.summary}`);
    expect(entry.summary).toMatch(
      /^SUMMARY\n\n<covered-resources>[\s\S]*res_00000000000000aa[\s\S]*<read-files>\n1\.ts\n<\/read-files>/,
    );
    expect(rest).toEqual(["user: now this"]);
    const { items } = await session.context();
    expect(result.tokensAfter).toBe(items.reduce((sum, { message }) => sum + lengthOf(message), 0));
  });

  test("the caller's focus reaches the prompt, and the directory the ledger: the session's, or another", async () => {
    for (const cwd of [undefined, "/home"]) {
      const session = await sessionOf([
        user(long),
        told(long, ["/home/a"]),
        gave("/home/a", long),
        user("b"),
      ]);
      const model = scripted("S");
      const options = { focus: "the colours", ...(cwd === undefined ? {} : { cwd }) };
      const result = await compactNow(session, { ...model, ...options });
      expect(model.prompts[0]?.text).toContain("<additional-focus>\nthe colours\n</additional-focus>");
      const readFiles = [cwd === undefined ? "/home/a.ts" : "a.ts"];
      expect(result.status === "compacted" && result.entry.details).toMatchObject({ readFiles });
    }
  });

  test("of a context with nothing to do writes nothing", async () => {
    const session = await sessionOf([user("a")]);
    const ids = await written(session);
    const model = scripted("S");
    expect(await compactNow(session, { ...model, strategy: keepLast(5) })).toEqual({ status: "nothingToDo" });
    expect(await compactNow(await sessionOf([]), model)).toEqual({ status: "nothingToDo" });
    expect([await written(session), model.prompts]).toEqual([ids, []]);
  });

  test.each([{ retry: { attempts: 0 } }, { retry: { attempts: 11 } }, { generateWindow: 0 }, { window: 0 }])(
    "%j is refused",
    async (wrong) => {
      await expect(compactNow(await sessionOf(talk), { ...scripted("S"), ...wrong })).rejects.toThrow(
        RangeError,
      );
    },
  );

  test("the model behind generate has the session's window where no other is named", async () => {
    const session = await sessionOf([
      ...Array.from({ length: 30 }, () => user("word ".repeat(90))),
      user("now"),
    ]);
    const model = scripted("S");
    await compact(session, { ...model, strategy: keepLast(1), window: 1000 });
    expect(model.prompts.length).toBeGreaterThan(3);
  });
});

describe("nothing is written, and nothing is lost", () => {
  // @covers R95
  test.each([1, 2, 3])("where the model fails at text %d", async (at) => {
    const answers = ["A", "B", "C"].map((text, index) => (index === at - 1 ? down : text));
    const error = { code: "SUMMARY_FAILED", cause: down, details: { reason: "error", calls: at } };
    await leavesNoTrace({ ...scripted(...answers), strategy: inThree, retry: { attempts: 1 } }, error);
  });

  // @covers security:summaries
  test("where it says nothing, or refuses everything", async () => {
    await leavesNoTrace(scripted(" "), { code: "SUMMARY_FAILED", details: { reason: "empty", calls: 3 } });
    await leavesNoTrace(scripted(tooLong), { code: "SUMMARY_FAILED", details: { reason: "overflow" } });
  });

  test("where what has to stay does not fit; no model is asked", async () => {
    const model = scripted("S");
    await leavesNoTrace(
      { ...model, window: 399, strategy: keepLast(1, { limit: () => 8 }) },
      { code: "IRREDUCIBLE", details: { reason: "kept", tokens: 8, limit: 8, tokensBefore: 1208 } },
    );
    expect(model.prompts).toEqual([]);
  });

  test("where there is nothing left to summarise, and the context asks for it all the same", async () => {
    const nothing = keepLast(0, { choose: () => undefined });
    await leavesNoTrace(
      { ...scripted("S"), strategy: nothing },
      { code: "IRREDUCIBLE", details: { reason: "nothing-to-summarize", tokens: 1208 } },
    );
  });

  test("where a hook throws, or the caller's own measure does", async () => {
    const thrown = new Error("hook");
    const throws = () => {
      throw thrown;
    };
    await leavesNoTrace({ ...scripted("S"), before: throws }, thrown);
    await leavesNoTrace({ ...scripted("S"), before: async () => throws() }, thrown);
    await leavesNoTrace({ ...scripted("S"), fits: throws }, thrown);
    await leavesNoTrace({ ...scripted("S"), strategy: keepLast(1, { choose: throws }) }, thrown);
  });

  test("where it is aborted: before, while a model that never answers is asked, in a hook, and while it waits", async () => {
    const reason = new Error("enough");
    const never = () => new Promise<never>(() => undefined);
    const session = await sessionOf(talk);
    const ids = await written(session);
    await expect(compactNow(session, { ...scripted("S"), signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(await written(session)).toEqual(ids);

    const aborting = () => {
      const controller = new AbortController();
      const abort = async () => controller.abort(reason);
      const soon = () => {
        queueMicrotask(abort);
        return 60_000;
      };
      return { signal: controller.signal, abort, soon };
    };
    const asked = aborting();
    await leavesNoTrace({ generate: () => asked.abort().then(never), signal: asked.signal }, reason);
    const hooked = aborting();
    await leavesNoTrace(
      { ...scripted("S"), before: () => hooked.abort().then(never), signal: hooked.signal },
      reason,
    );
    const waiting = aborting();
    const model = scripted(down);
    await leavesNoTrace({ ...model, signal: waiting.signal, retry: { delayMs: waiting.soon } }, reason);
    expect(model.prompts).toHaveLength(1);
    // The model sees the signal too, and its own error on it is not what is told.
    const heeded = aborting();
    const heeds: CompactOptions["generate"] = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(down));
        void heeded.abort();
      });
    await leavesNoTrace({ generate: heeds, signal: heeded.signal, retry: { attempts: 1 } }, reason);
  });
});

describe("the waits between attempts", () => {
  afterEach(() => vi.useRealTimers());

  /** When each of the first attempts was made, in milliseconds since the first. */
  async function timesOf(run: (generate: CompactOptions["generate"]) => Promise<unknown>, count: number) {
    const times: number[] = [];
    const ended = run(() => {
      times.push(Date.now());
      return Promise.reject(down);
    }).catch((error: unknown) => error);
    for (let steps = 0; steps < 400 && times.length < count; steps++) await vi.advanceTimersByTimeAsync(500);
    return { times: times.map((time) => time - (times[0] ?? 0)), ended };
  }
  const byDefault = [0, 1000, 3000, 7000, 15_000, 31_000, 61_000, 91_000, 121_000, 151_000];

  // @covers R104
  test("are 1 s, 2 s, 4 s and so on, at most 30 s, where none are given: in a compaction", async () => {
    const session = await sessionOf(talk);
    vi.useFakeTimers();
    const { times, ended } = await timesOf(
      (generate) => compact(session, { ...few, generate, retry: { attempts: 10 } }),
      10,
    );
    expect(times).toEqual(byDefault);
    expect(await ended).toMatchObject({ code: "SUMMARY_FAILED", details: { calls: 10 } });
  });

  test("and in the summary of a branch", async () => {
    const session = await sessionOf(talk);
    vi.useFakeTimers();
    const { times, ended } = await timesOf(
      (generate) => summarizeBranch(session, null, { generate, window: 100_000 }),
      3,
    );
    expect(times).toEqual(byDefault.slice(0, 3));
    expect(await ended).toMatchObject({ code: "SUMMARY_FAILED", details: { calls: 3 } });
  });

  test("end at once when the signal aborts, and leave no timer", async () => {
    const session = await sessionOf(talk);
    vi.useFakeTimers();
    const stop = new AbortController();
    const { times, ended } = await timesOf(
      (generate) => compact(session, { ...few, generate, signal: stop.signal }),
      1,
    );
    const { size } = await session.tree();
    await vi.advanceTimersByTimeAsync(400);
    stop.abort(new Error("enough"));
    await vi.advanceTimersByTimeAsync(0);
    expect(await ended).toMatchObject({ message: "enough" });
    expect(times).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
    expect((await session.tree()).size).toBe(size);
  });

  test("may be slept through in another way, which an abort ends all the same", async () => {
    const slept: number[] = [];
    const sleep = (ms: number) => Promise.resolve(slept.push(ms)).then(() => undefined);
    const failing = compact(await sessionOf(talk), {
      ...few,
      generate: () => Promise.reject(down),
      retry: { attempts: 4, sleep },
    });
    await expect(failing).rejects.toMatchObject({ code: "SUMMARY_FAILED" });
    expect(slept).toEqual([1000, 2000, 4000]);
    const stop = new AbortController();
    const stuck = () => {
      stop.abort(new Error("enough"));
      return new Promise<void>(() => undefined);
    };
    await expect(
      compact(await sessionOf(talk), {
        ...few,
        generate: () => Promise.reject(down),
        retry: { sleep: stuck },
        signal: stop.signal,
      }),
    ).rejects.toThrow("enough");
  });
});

describe("what was seen in an attachment", () => {
  const note = `- ${attachment.resourceId}, image`;

  // @covers R21
  test("survives a compaction and the next, in the summary's notes and its details, the latest of the branch", async () => {
    const session = await sessionOf([]);
    await session.appendMessage({ ...user(long), content: userMessage(attachment).content });
    await session.append([resourceObservation(attachment.resourceId, "a first look")]);
    await session.append([resourceObservation(attachment.resourceId, 'a "red"\ndialog')]);
    for (const message of [told(long), user(long), told(long), user("now this")])
      await session.appendMessage(message);
    for (const round of [1, 2]) {
      const result = await compactNow(session, scripted("S"));
      if (result.status !== "compacted") throw new Error(`round ${round}: ${result.status}`);
      expect(result.entry.summary).toContain(note);
      expect(result.entry.summary).toContain(`noted when it was seen: "a 'red' dialog"`);
      expect(result.entry.summary).not.toContain("a first look");
      expect(result.entry.details).toMatchObject({
        resources: [{ resourceId: attachment.resourceId, observation: 'a "red"\ndialog' }],
      });
      for (const message of [told(long), user(long), told(long), user("and this")])
        await session.appendMessage(message);
    }
    await session.append([resourceObservation(attachment.resourceId, "a third look")]);
    await session.appendMessage(told("t"));
    const third = await compactNow(session, scripted("S"));
    expect(third).toMatchObject({ entry: { summary: expect.stringContaining('"a third look"') } });
  });

  test("is in no note and no details where the boundary refuses the attachment", async () => {
    const session = await sessionOf([]);
    await session.appendMessage({ ...user(long), content: userMessage(attachment).content });
    await session.append([resourceObservation(attachment.resourceId, "a secret dialog")]);
    for (const message of [told(long), user("now this")]) await session.appendMessage(message);
    const target = { name: "t", model: { provider: "p", model: "m" } };
    const model = scripted("S");
    const result = await compactNow(session, { ...model, target, boundary: () => "refuse" });
    expect(JSON.stringify([result, model.prompts])).not.toContain("secret");
  });

  test("is told where the attachment is shown again after a compaction", async () => {
    const session = await sessionOf([]);
    await session.appendMessage({ ...user(long), content: userMessage(attachment).content });
    await session.append([resourceObservation(attachment.resourceId, "a red dialog")]);
    for (const message of [told(long), user("now this")]) await session.appendMessage(message);
    await compactNow(session, scripted("S"));
    await session.appendMessage(told("I look", ["v1"]));
    const viewed = { ...gave("v1", ""), content: userMessage(attachment, "shown").content } as Message;
    await session.appendMessage(viewed);
    for (const message of [told("ok"), user("and now?")]) await session.appendMessage(message);
    const attachments = await sentAttachments(await session.context());
    expect(attachments.map(({ text }) => text)).toEqual([expect.stringContaining('"a red dialog"')]);
  });

  test("is kept as bounded text, and what a foreign entry has in its place is none", () => {
    const { resourceId, kind } = attachment;
    const one = { resourceId, kind };
    const read = (observation: unknown) => readCoveredResources({ resources: [{ ...one, observation }] });
    expect(read("x".repeat(600))).toEqual([{ ...one, observation: "x".repeat(500) }]);
    for (const none of [5, null, {}, " "]) expect(read(none)).toEqual([one]);
    const notes = resourceNotes(read(`${"x".repeat(300)}`));
    expect(notes).toContain(`noted when it was seen: "${"x".repeat(199)}…"`);
    expect(mergeCoveredResources(read("old"), [one])).toEqual(read("old"));
    expect(mergeCoveredResources(read("old"), read("new"))).toEqual(read("new"));
  });
});

describe("hooks", () => {
  const long = "x".repeat(400);
  const talk: readonly Message[] = [user(long), told(long, ["1"]), gave("1", long), user("now this")];

  describe("hooks", () => {
    const hooked = async (
      answer: PlanAnswer | undefined,
      model = scripted("SUMMARY"),
      more: Partial<CompactOptions> = {},
    ) => {
      const session = await sessionOf(talk);
      const result = await compactNow(session, { ...model, before: async () => answer, ...more });
      return { session, result, model };
    };

    // @covers R149
    test("are shown the plan and the context before, and the result after", async () => {
      const seen: unknown[] = [];
      const session = await sessionOf(talk);
      const context = await session.context();
      const before = (plan: CompactionPlan, of: unknown) => {
        seen.push([plan.keepFrom, plan.tokensBefore, of]);
        return undefined;
      };
      const result = await compactNow(session, {
        ...scripted("S"),
        before,
        after: async (of) => void seen.push(of),
      });
      expect(seen).toEqual([[3, 1208, context], result]);
    });

    // @covers R149
    test("bring context, or a prompt in the place of the strategy's", async () => {
      const { model } = await hooked({ context: ["THE PLAN"], prompt: "Write a poem." });
      expect(model.prompts[0]?.text).toContain(
        "<injected-context>\nTHE PLAN\n</injected-context>\n\nWrite a poem.",
      );
      expect(model.prompts[0]?.text).not.toContain("INSTRUCTIONS");
    });

    test("bring a summary: no model is asked, and the entry says where it is from", async () => {
      const { model, result } = await hooked({ summary: "MINE" });
      expect(model.prompts).toEqual([]);
      expect(result).toMatchObject({ status: "compacted", calls: 0, entry: { fromHook: true } });
      expect(result.status === "compacted" && result.entry.summary).toMatch(/^MINE\n\n<read-files>/);
    });

    test("a hook's summary that is too long is IRREDUCIBLE, and asked for once", async () => {
      const session = await sessionOf(talk);
      let asked = 0;
      const before = () => {
        asked++;
        return { summary: "y".repeat(2000) };
      };
      const error = { code: "IRREDUCIBLE", details: { reason: "longer" } };
      await expect(compactNow(session, { ...scripted("S"), before })).rejects.toMatchObject(error);
      expect([asked, (await session.tree()).size]).toEqual([1, 4]);
    });

    test.each(["", " \n"])("a hook's summary that says nothing is refused: %j", async (summary) => {
      const session = await sessionOf(talk);
      const compacting = compactNow(session, { ...scripted("S"), before: () => ({ summary }) });
      await expect(compacting).rejects.toThrow(
        new TypeError("summary: expected a non-empty string, got an empty string"),
      );
      expect((await session.tree()).size).toBe(4);
    });

    test("cancel", async () => {
      const { session, result, model } = await hooked({ cancel: true });
      expect([result, model.prompts, (await session.tree()).size]).toEqual([{ status: "cancelled" }, [], 4]);
    });

    test("after is not called where nothing was done", async () => {
      const after = () => {
        throw new Error("called");
      };
      expect((await hooked({ cancel: true }, scripted("S"), { after })).result.status).toBe("cancelled");
      expect(
        await compactNow(await sessionOf([user("a")]), { ...scripted("S"), strategy: keepLast(5), after }),
      ).toEqual({ status: "nothingToDo" });
    });
  });
});

describe("an update of an earlier summary", () => {
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
      const size = (await session.tree()).size;
      const refusal = compact(
        session,
        options(async () => Promise.reject(new Error("prompt is too long: 2 tokens > 1 maximum"))),
      );
      const error = await refusal.catch((reason: unknown) => reason);
      expect(SessileError.is(error, "SUMMARY_FAILED") && error.details.reason).toBe("overflow");
      expect((await session.tree()).size).toBe(size);
    });
  });
});

describe("entries that are excluded", () => {
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
      await session.append(
        excluded.map((targetId) => ({ type: "context_edit", targetId, replacement: null })),
      );
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
});
