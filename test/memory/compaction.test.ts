import {
  type Message,
  memorySessionStore,
  type Resource,
  type Session,
  type SessionStore,
  toolCalls,
  toolResult,
  userMessage,
} from "sessile";
import {
  type CompactOptions,
  compact,
  type Generate,
  type GeneratePrompt,
  rollingSummary,
} from "sessile/compaction";
import { type FactProposal, type MemoryBlock, sessionMemory } from "sessile/memory";
import { describe, expect, it } from "vitest";
import { callOf, replyWith, sharedText } from "./support.js";

const blocks: readonly MemoryBlock[] = [
  { label: "identity", text: "You are patient." },
  { label: "facts", description: "About this user.", maxTokens: 60, writable: true },
];

/** A long conversation whose memory was written in between, and the requests of its compaction. */
async function compacted(
  answer: (
    prompt: GeneratePrompt,
    asked: number,
    place: { readonly store: SessionStore; readonly session: Session },
  ) => string | Promise<string>,
  more: Partial<CompactOptions> = {},
  own: readonly MemoryBlock[] = blocks,
  first: readonly Message[] = [],
) {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/" });
  const memory = sessionMemory(session, { blocks: own });
  await memory.prompt();
  const call = callOf("set_memory", { label: "facts", action: "add", text: "likes Darjeeling" });
  await session.appendMessage(userMessage("I like Darjeeling."));
  for (const message of first) await session.appendMessage(message);
  const thought = { type: "thinking", thinking: "A fact." } as const;
  const silent = { type: "text", text: " \n" } as const;
  await session.appendMessage({ ...replyWith(call), content: [thought, silent, call] });
  for (const each of toolCalls(replyWith(call))) {
    const result = await memory.run(each);
    if (result !== undefined) await session.appendMessage(result);
  }
  const spoken = { type: "text", text: "Is it of the first flush?" } as const;
  const again = { ...call, id: "again" };
  await session.appendMessage({ ...replyWith(again), content: [spoken, again] });
  await session.appendMessage(toolResult(again, "facts has this already."));
  for (let n = 0; n < 30; n++) {
    const read = callOf("read", { path: `${n}.md` });
    await session.appendMessage(userMessage(`Question ${n}: ${"word ".repeat(100)}`));
    await session.appendMessage(replyWith(read));
    await session.appendMessage(toolResult(read, "text ".repeat(300)));
  }
  const prompts: GeneratePrompt[] = [];
  const proposals: FactProposal[] = [];
  const generate: Generate = async (prompt) => {
    prompts.push(prompt);
    const asked = prompts.filter(isAboutFacts).length;
    return { text: await answer(prompt, asked, { store, session }), usage };
  };
  const options: CompactOptions = {
    strategy: rollingSummary({ keepRecentTokens: 1_000 }),
    window: 30_000,
    generate,
    retry: { attempts: 3, delayMs: () => 0 },
    ...more,
  };
  const onProposal = (proposal: FactProposal) => void proposals.push(proposal);
  const result = await compact(session, memory.compaction(options, { propose: "facts", onProposal }));
  return { session, memory, result, prompts, proposals };
}

const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 };
const isAboutFacts = ({ text }: GeneratePrompt) => text.includes("Write the facts for the notes facts");
const summaryOr = (facts: (asked: number) => string) => (prompt: GeneratePrompt, asked: number) =>
  isAboutFacts(prompt) ? facts(asked) : "## Goal\nTea.";

describe("a compaction beside a memory", () => {
  it("shows the request for facts no more than the request for the summary", async () => {
    const resource: Resource = {
      resourceId: "res_00000000000000aa",
      kind: "link",
      source: "link",
      name: "CANARY",
      uri: "https://canary.example/plan",
    };
    const link = { type: "text", text: "[link CANARY, https://canary.example/plan]", resource } as const;
    const thought = { type: "thinking", thinking: "CANARY thought" } as const;
    const first: readonly Message[] = [
      { role: "user", content: [{ type: "text", text: "Look at this." }, link], timestamp: 1 },
      { ...replyWith(), content: [thought, { type: "text", text: "I see." }] },
    ];
    const target = { name: "summariser", model: { provider: "other", model: "m" } };
    const asked: string[] = [];
    const boundary = (_: unknown, transfer: { readonly target: string }) => {
      asked.push(transfer.target);
      return "refuse" as const;
    };
    const answer = summaryOr(() => "- lives in Oslo");
    const { prompts, proposals } = await compacted(answer, { target, boundary }, blocks, first);
    expect(proposals).toMatchObject([{ status: "written" }]);
    expect(prompts.filter(isAboutFacts)).toHaveLength(1);
    expect(prompts.every(({ text }) => text.includes("Look at this.") && text.includes("I see."))).toBe(true);
    expect(prompts.some(({ text }) => /canary/i.test(text))).toBe(false);
    expect(new Set(asked)).toEqual(new Set(["summariser"]));

    // With leave, both requests have the attachment.
    const open = await compacted(answer, { target, boundary: () => "allow" }, blocks, first);
    expect(open.prompts.map(({ text }) => /canary/i.test(text))).toEqual(open.prompts.map(() => true));
  });

  it("keeps writes of blocks out of the summary, and tells the summariser what is kept beside it", async () => {
    const { prompts, result, memory } = await compacted(summaryOr(() => "(none)"));
    expect(result.status).toBe("compacted");
    const [summary = { text: "" }] = prompts;
    const [, conversation = ""] = /<conversation>\n(.*?)\n<\/conversation>/s.exec(summary.text) ?? [];
    expect(conversation).toContain("I like Darjeeling.");
    expect(conversation).toContain("Question 3");
    expect(conversation).toContain("first flush");
    expect(conversation).not.toContain("A fact.");
    // What is said beside a call stays, with the call.
    expect(conversation.split("set_memory")).toHaveLength(2);
    expect(conversation).not.toMatch(/Saved in facts|has this already/);
    expect(summary.text).toMatch(/Do not repeat them[^<]*facts:\n> likes Darjeeling\n/);
    expect((await memory.prompt()).rendered).toBe("compaction");
  });

  it("adds the facts that are new, with the compaction as their origin", async () => {
    const { memory, proposals, result } = await compacted(
      summaryOr(
        () => "Here they are:\n- likes Darjeeling\n- lives in Oslo\n* # is called Kim\u202e\n- lives in Oslo",
      ),
    );
    if (result.status !== "compacted") throw new Error("compacted");
    expect((await memory.get("facts")).text).toBe("likes Darjeeling\nlives in Oslo\n# is called Kim");
    const facts = ["lives in Oslo", "# is called Kim"];
    expect(proposals).toEqual([{ status: "written", facts, compactionId: result.entry.id, usage }]);
    const history = await memory.history("facts");
    expect(history.facts.map(({ by, messageId }) => [by, messageId === result.entry.id])).toEqual([
      ["model", false],
      ["compaction", true],
      ["compaction", true],
    ]);
    expect((await memory.prompt()).system).toContain("> lives in Oslo\n> # is called Kim");
  });

  it("asks again for fewer if they do not fit, and leaves the block as it is if none fit", async () => {
    const long = Array.from({ length: 4 }, (_, n) => `- ${n} ${"another thing ".repeat(20)}`).join("\n");
    const shorter = await compacted(summaryOr((asked) => (asked < 2 ? `${long}\n- b` : "- lives in Oslo")));
    expect(shorter.proposals).toMatchObject([{ status: "written", facts: ["lives in Oslo"] }]);
    expect(shorter.prompts.filter(isAboutFacts)).toHaveLength(2);
    const never = await compacted(summaryOr(() => long));
    expect(never.proposals).toMatchObject([{ status: "tooLong", facts: [] }]);
    expect(never.prompts.filter(isAboutFacts)).toHaveLength(3);
    expect((await never.memory.get("facts")).text).toBe("likes Darjeeling");
    const words = never.prompts
      .filter(isAboutFacts)
      .map(({ text }) => Number(/at most (\d+) words/.exec(text)?.[1]));
    expect(words).toEqual(words.map((_, at) => Math.floor((words[0] ?? 0) / 2 ** at)));
    expect(words[0]).toBeLessThan(60);
  });

  it("adds facts to a shared text that another session changes meanwhile, or says that it could not", async () => {
    for (const changes of [3, 1000]) {
      const source = sharedText();
      const { set } = source;
      let count = 0;
      source.set = async function (text, expected) {
        // Another session's fact comes between the read and the write.
        if (text.includes("Oslo") && count++ < changes) {
          this.text += `${this.text === "" ? "" : "\n"}fact ${count}`;
          this.version++;
        }
        return set?.call(this, text, expected);
      };
      const own = [{ label: "facts", source }];
      const { proposals, prompts, result } = await compacted(
        summaryOr(() => "- lives in Oslo"),
        {},
        own,
      );
      expect(result.status).toBe("compacted");
      expect(prompts.filter(isAboutFacts)).toHaveLength(1);
      if (changes === 3) {
        expect(proposals).toMatchObject([{ status: "written", facts: ["lives in Oslo"] }]);
        expect(source.text).toBe("likes Darjeeling\nfact 1\nfact 2\nfact 3\nlives in Oslo");
      } else
        expect(proposals).toMatchObject([
          { status: "failed", facts: [], error: { code: "CONCURRENT_WRITER" } },
        ]);
    }
  });

  it("proposes nothing if another session adds the same facts meanwhile", async () => {
    const source = sharedText();
    const { get } = source;
    let reads = 0;
    source.get = async function () {
      const value = await get.call(this);
      // After the facts are compared, and before they are written.
      if (reads > 0 && --reads === 0)
        Object.assign(this, { text: `${this.text}\nlives in Oslo`, version: 9 });
      return value;
    };
    const answer = summaryOr(() => "- lives in Oslo");
    const { proposals, prompts } = await compacted(
      (prompt, asked) => {
        if (isAboutFacts(prompt)) reads = 1;
        return answer(prompt, asked);
      },
      {},
      [{ label: "facts", source }],
    );
    expect(proposals).toMatchObject([{ status: "nothing", facts: [] }]);
    expect(prompts.filter(isAboutFacts)).toHaveLength(1);
  });

  it("is told, and stands, if another writer comes before the facts", async () => {
    const { proposals, result } = await compacted(async (prompt, _, { store, session }) => {
      if (!isAboutFacts(prompt)) return "## Goal\nTea.";
      const other = await store.open(session, { mode: "write" });
      await other.appendMessage(userMessage("Meanwhile."));
      return "- lives in Oslo";
    });
    expect(result.status).toBe("compacted");
    expect(proposals).toMatchObject([{ status: "failed", facts: [], error: { code: "CONCURRENT_WRITER" } }]);
  });

  it("stays compacted if no fact is found, or the model fails", async () => {
    const nothing = await compacted(summaryOr(() => "There is nothing - really\nto say."));
    expect(nothing.proposals).toMatchObject([{ status: "nothing", facts: [] }]);
    const failing = await compacted((prompt) => {
      if (isAboutFacts(prompt)) throw new Error("overloaded");
      return "## Goal\nTea.";
    });
    expect(failing.result.status).toBe("compacted");
    expect(failing.proposals).toMatchObject([{ status: "failed", error: { code: "SUMMARY_FAILED" } }]);
    expect((await failing.memory.get("facts")).text).toBe("likes Darjeeling");
  });

  it("calls the hooks of the caller too, and asks for no facts unless it is told to", async () => {
    const called: string[] = [];
    const { prompts } = await compacted(
      summaryOr(() => "(none)"),
      {
        before: () => {
          called.push("before");
          return { context: ["Of the caller."] };
        },
        after: () => void called.push("after"),
        skip: ({ message }) => message.role === "user",
      },
    );
    expect(called).toEqual(["before", "after"]);
    expect(prompts[0]?.text).toContain("Of the caller.");
    expect(prompts[0]?.text).not.toContain("Question 3");
    const asked = prompts.length;
    const cancelled = await compacted(
      summaryOr(() => "- a fact"),
      { before: () => ({ cancel: true }) },
    );
    expect(cancelled).toMatchObject({ result: { status: "cancelled" }, prompts: [], proposals: [] });
    const plain = sessionMemory(cancelled.session, { blocks: [{ label: "identity", text: "You." }] });
    const generate: Generate = async (prompt) => {
      prompts.push(prompt);
      return { text: "## Goal\nTea." };
    };
    const whole = { strategy: rollingSummary({ keepRecentTokens: 1000 }), window: 30_000, generate };
    expect(await compact(cancelled.session, plain.compaction(whole))).toMatchObject({ status: "compacted" });
    expect(prompts.slice(asked).map(({ text }) => text)).toEqual([
      expect.not.stringMatching(/Do not repeat|Write the facts/),
    ]);
    const session = await memorySessionStore().create({ cwd: "/" });
    const memory = sessionMemory(session, { blocks });
    const options = { strategy: rollingSummary(), window: 1000, generate: async () => ({ text: "" }) };
    expect(() => memory.compaction(options, { propose: "identity" })).toThrow(TypeError);
    expect(await compact(session, memory.compaction(options))).toEqual({ status: "nothingToDo" });
  });
});
