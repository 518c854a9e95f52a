import { memorySessionStore, type Session, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { estimateTextTokens } from "sessile/estimate";
import { type MemoryBlock, sessionMemory } from "sessile/memory";
import { describe, expect, it } from "vitest";
import { behindLeaf } from "../../src/memory/write.js";
import { asked, callOf, replyWith, sharedText, told } from "./support.js";

const blocks: readonly MemoryBlock[] = [
  { label: "identity", text: "You are patient." },
  { label: "facts", description: "About this user.", maxTokens: 40, writable: true },
];
const create = () => memorySessionStore().create({ cwd: "/" });
const add = (text: string) => ({ label: "facts", action: "add", text });

describe("a block of the session", () => {
  it("has the newest value on the path: two branches have two memories", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks });
    const { id: root } = await session.appendMessage(userMessage("Hello."));
    await asked(session, memory, "set_memory", add("likes tea"));
    const tea = session.leafId;
    await session.branch(root);
    expect((await memory.get("facts")).text).toBe("");
    await asked(session, memory, "set_memory", add("likes coffee"));
    expect((await memory.get("facts")).text).toBe("likes coffee");
    await session.branch(tea);
    expect((await memory.get("facts")).text).toBe("likes tea");
  });

  it("goes along with a fork and with an extracted branch, which then go their own ways", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/" });
    const memory = sessionMemory(session, { blocks });
    await session.appendMessage(userMessage("Hello."));
    await asked(session, memory, "set_memory", add("likes tea"));
    const { digest } = await memory.prompt();
    const copies: Session[] = [await store.fork(session), await session.extract()];
    for (const copy of copies) {
      const own = sessionMemory(copy, { blocks });
      expect(await own.prompt()).toMatchObject({ digest, rendered: undefined });
      await own.set("facts", "likes milk");
      expect((await own.get("facts")).text).toBe("likes milk");
    }
    expect((await memory.get("facts")).text).toBe("likes tea");
  });

  it("refuses a write over its bound, and says how much is left", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks });
    const value = await memory.set("facts", "likes tea");
    const { size } = await session.tree();
    const error = await memory.set("facts", "word ".repeat(80)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "BLOCK_TOO_LONG",
      details: { label: "facts", maxTokens: 40, left: value.left },
    });
    expect(value.left).toBe(40 - value.tokens);
    expect((await session.tree()).size).toBe(size);
    const result = await asked(session, memory, "set_memory", add("word ".repeat(80)));
    expect(result).toMatchObject({ isError: true, details: { memory: { code: "BLOCK_TOO_LONG" } } });
    expect(told(result)).toMatch(/^Not saved: .* 40 is the most\. \d+ of 40 tokens are used\./);
    expect((await memory.get("facts")).text).toBe("likes tea");
    // Its bound may be less now than when it was written.
    const smaller = sessionMemory(session, { blocks: [{ label: "facts", writable: true, maxTokens: 1 }] });
    expect(await smaller.get("facts")).toMatchObject({ text: "likes tea", tokens: value.tokens, left: 0 });
  });

  it("is written by compare-and-swap on the entry that was read", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks });
    await expect(memory.set("facts", "zero", { expected: "e0000001" })).rejects.toMatchObject({
      details: { expected: "e0000001", actual: "none" },
    });
    const first = await memory.set("facts", "one", { expected: null });
    await expect(memory.set("facts", "zero", { expected: null })).rejects.toMatchObject({
      details: { expected: "none", actual: first.revision },
    });
    const second = await memory.set("facts", "two", { expected: first.revision });
    const { size } = await session.tree();
    const stale = memory.set("facts", "three", { expected: first.revision });
    await expect(stale).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
      details: { expected: first.revision, actual: second.revision },
    });
    expect((await session.tree()).size).toBe(size);
    expect(await session.entry(second.revision ?? "")).toMatchObject({
      customType: "sessile.memory",
      data: { label: "facts", text: "two", previous: first.revision, by: "program" },
    });
  });

  it("loses no write of one handle, however many are under way beside other appends", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks: [{ label: "facts", writable: true }] });
    await session.appendMessage(userMessage("Hello."));
    const calls = Array.from({ length: 20 }, (_, n) => callOf("set_memory", add(`fact ${n}`)));
    await session.appendMessage(replyWith(...calls));
    const others = calls.map((_, n) => session.append([{ type: "custom", customType: "other", data: n }]));
    const results = await Promise.all(calls.map((call) => memory.run(call)));
    await Promise.all(others);
    expect(results.every((result) => result?.isError === false)).toBe(true);
    const { text } = await memory.get("facts");
    expect(text.split("\n").sort()).toEqual(calls.map((_, n) => `fact ${n}`).sort());
  });

  it("is written behind appends of the same handle that come while it is read", async () => {
    const session = await create();
    await session.appendMessage(userMessage("Hello."));
    const memory = sessionMemory(session, { blocks });
    const written = memory.set("facts", "likes tea");
    const others = Array.from({ length: 5 }, () => session.appendMessage(userMessage("And?")));
    const { revision } = await written;
    await Promise.all(others);
    expect((await memory.get("facts")).revision).toBe(revision);
    expect(await session.leaves()).toHaveLength(1);
  });

  it("lets the second of two writers go on only from the other's value, or on its own branch", async () => {
    const store = memorySessionStore();
    const a = await store.create({ cwd: "/" });
    await a.appendMessage(userMessage("Hello."));
    const b = await store.open(a.id, { mode: "write" });
    const [one, two] = [a, b].map((session) => sessionMemory(session, { blocks }));
    await one?.set("facts", "of a");
    const refused = await two?.set("facts", "of b").catch((thrown: unknown) => thrown);
    expect(refused).toMatchObject({ code: "CONCURRENT_WRITER" });
    expect((await two?.get("facts"))?.text).toBe("");
    await b.branch((refused as { details: { leafId: string } }).details.leafId);
    expect((await two?.get("facts"))?.text).toBe("of a");
    await two?.set("facts", "of a and b");
    await a.refresh();
    expect((await one?.get("facts"))?.text).toBe("of a");
    await a.branch(b.leafId);
    expect((await one?.get("facts"))?.text).toBe("of a and b");
  });

  it("says when each fact came, and from which message", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks: [{ label: "facts", writable: true }] });
    const first = await session.appendMessage(userMessage("I like tea."));
    await asked(session, memory, "set_memory", add("likes tea"));
    const second = await session.appendMessage(userMessage("I live in Oslo, and like coffee too."));
    await asked(session, memory, "set_memory", add("lives in Oslo"));
    await asked(session, memory, "set_memory", {
      label: "facts",
      action: "rewrite",
      text: "lives in Oslo\nlikes tea\nlikes coffee",
    });
    await memory.set("facts", "lives in Oslo\nlikes tea\nlikes coffee\nis called Kim", { from: first.id });
    const { facts, writes } = await memory.history("facts");
    expect(facts.map(({ text, by, messageId }) => [text, by, messageId])).toEqual([
      ["lives in Oslo", "model", second.id],
      ["likes tea", "model", first.id],
      ["likes coffee", "model", second.id],
      ["is called Kim", "program", first.id],
    ]);
    expect(writes).toHaveLength(4);
    for (const { entryId, at, call } of writes.slice(0, 3)) {
      expect((await session.tree()).node(entryId)?.timestamp).toBe(at);
      expect((await session.tree()).node(call?.entryId ?? "")?.role).toBe("assistant");
    }
  });

  it("has no value, prompt or call of an entry of another program that is not whole", async () => {
    const session = await create();
    await session.appendMessage(userMessage("Hello."));
    const memory = sessionMemory(session, { blocks });
    const value = { label: "facts", text: "one\n\ntwo", by: "model", previous: null };
    const prompt = { digest: "0", blocks: {}, values: {}, system: "s", tools: [] };
    const append = (customType: string, data: unknown) =>
      session.append([{ type: "custom", customType: `sessile.memory${customType}`, data }]);
    await append("", { ...value, call: { id: 5 } });
    for (const wrong of [{ text: 5 }, { by: "nobody" }]) await append("", { ...value, ...wrong });
    for (const wrong of [{ digest: 5 }, { blocks: [] }, { values: undefined }, { tools: 5 }, { system: 5 }])
      await append(".prompt", { ...prompt, ...wrong });
    expect(await memory.prompt()).toMatchObject({ rendered: "first" });
    const { facts, writes } = await memory.history("facts");
    expect(facts.map(({ text }) => text)).toEqual(["one", "two"]);
    expect(writes).toMatchObject([{ text: value.text, by: "model" }]);
    expect(writes[0]).not.toHaveProperty("call");
  });

  it("follows equal facts in their order", async () => {
    const session = await create();
    const memory = sessionMemory(session, { blocks });
    const { revision: first } = await memory.set("facts", "a");
    const { revision: second } = await memory.set("facts", "a\na");
    await memory.set("facts", "a\na\nb");
    const { facts } = await memory.history("facts");
    expect(facts.map(({ entryId }) => entryId).slice(0, 2)).toEqual([first, second]);
  });

  it("is not made for labels that repeat, have no value, or are of another kind", async () => {
    const session = await create();
    const of = (given: unknown) => () => sessionMemory(session, { blocks: given as MemoryBlock[] });
    expect(of([...blocks, blocks[0]])).toThrow(/blocks\[2\]\.label: identity is the label of another block/);
    expect(of([{ label: "no spaces", text: "" }])).toThrow(/blocks\[0\]\.label/);
    expect(of([{ label: "a" }])).toThrow(/blocks\[0\]: expected text/);
    expect(of([{ label: "a", writable: true, maxTokens: 0 }])).toThrow(RangeError);
    expect(of([{ label: "a", source: {} }])).toThrow(/source: expected get/);
    expect(of([{ label: "a", source: { get: () => {} }, writable: true }])).toThrow(/has no set/);
    for (const documents of [{ list: async () => [] }, { load: async () => undefined }, null])
      expect(of([{ label: "a", documents }])).toThrow(/documents: expected list and load/);
    const documents = { list: async () => [], load: async () => undefined };
    for (const others of [[], blocks])
      expect(of([...others, { label: "a", documents }])).toThrow(/blobs: expected a blob store/);
    const memory = sessionMemory(session, { blocks });
    await expect(memory.set("identity", "x")).rejects.toThrow(TypeError);
    await expect(memory.get("nothing")).rejects.toThrow("label: expected a writable or shared block");
    expect(() => memory.history("nothing")).toThrow(TypeError);
    await expect(memory.set("facts", undefined as never)).rejects.toThrow("text: expected a string");
    expect((await session.tree()).size).toBe(0);
  });
});

describe("a step behind the leaf", () => {
  const moved = () =>
    new SessileError("CONCURRENT_WRITER", "no", { details: { expected: "1", actual: "2" } });

  it("is made again only if the session's own entries moved the leaf, and not forever", async () => {
    const steps: (string | null)[] = [];
    let queued = 0;
    const session = {
      leafId: "e0",
      // The leaf moves when what was queued is written.
      append: async () => {
        if (queued-- > 0) session.leafId = `e${steps.length}`;
        return [];
      },
    };
    const failing = (error: () => Error, until = Number.POSITIVE_INFINITY) =>
      behindLeaf(session, async (leafId) => {
        steps.push(leafId);
        if (steps.length < until) throw error();
        return leafId;
      });
    await expect(failing(moved)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(steps.splice(0)).toEqual(["e0"]);
    queued = 2;
    expect(await failing(moved, 3)).toBe("e2");
    expect(steps.splice(0)).toEqual(["e0", "e1", "e2"]);
    queued = 100;
    await expect(failing(() => new Error("no"))).rejects.toThrow("no");
    expect(steps.splice(0)).toHaveLength(1);
    await expect(failing(moved)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(steps).toHaveLength(9);
  });
});

describe("a shared block", () => {
  it("is read and written by version, by several sessions", async () => {
    const source = sharedText("We ship on Fridays.");
    const shared: readonly MemoryBlock[] = [{ label: "team", source }];
    const store = memorySessionStore();
    const a = await store.create({ cwd: "/" });
    const b = await store.create({ cwd: "/" });
    const [one, two] = [a, b].map((session) => sessionMemory(session, { blocks: shared }));
    if (one === undefined || two === undefined) throw new Error("two memories");
    expect((await one.prompt()).system).toContain("> We ship on Fridays.");
    await two.prompt();
    await asked(a, one, "set_memory", { label: "team", action: "rewrite", text: "We ship on Mondays." });
    expect(await two.get("team")).toMatchObject({ text: "We ship on Mondays.", revision: "1" });
    // The prompt of the other session still has the text of Friday: a rewrite of that is refused.
    const rewrite = { label: "team", action: "rewrite", text: "We ship on Fridays at noon." };
    const refused = await asked(b, two, "set_memory", rewrite);
    expect(refused).toMatchObject({ isError: true, details: { memory: { code: "CONCURRENT_WRITER" } } });
    expect(told(refused)).toContain("> We ship on Mondays.");
    expect(source.text).toBe("We ship on Mondays.");
    // It was told the present text, so that it can decide again.
    const again = await asked(b, two, "set_memory", { ...rewrite, text: "We ship on Mondays at noon." });
    expect(again.isError).toBe(false);
    expect(source).toMatchObject({ text: "We ship on Mondays at noon.", version: 2 });
    const written = await one.set("team", "We ship daily.");
    expect(written).toMatchObject({ revision: "3", written: { by: "program", entryId: a.leafId } });
    expect((await one.get("team")).written).toEqual(written.written);
    await two.set("team", "We ship on Mondays at noon.");
    expect((await two.get("team")).written).toMatchObject({ by: "program" });
    expect((await one.get("team")).written).toBeUndefined();
    expect((await two.history("team")).writes.map(({ by }) => by)).toEqual(["model", "program"]);
  });

  it("is refused if it changes between the read and the write", async () => {
    const source = sharedText("one");
    const set = source.set?.bind(source);
    if (set === undefined) throw new Error("a source with set");
    source.set = async (text, expected) => {
      source.text = "of another";
      source.version++;
      source.set = set;
      return set(text, expected);
    };
    const session = await create();
    const memory = sessionMemory(session, { blocks: [{ label: "team", source }] });
    const result = await asked(session, memory, "set_memory", { label: "team", action: "add", text: "two" });
    expect(result.isError).toBe(true);
    expect(told(result)).toContain("> of another");
    expect(source.text).toBe("of another");
    expect((await memory.history("team")).writes).toEqual([]);
  });

  it("that others made too long is shown in part, and can be shortened by parts alone", async () => {
    const source = sharedText(Array.from({ length: 900 }, (_, n) => `fact ${n} about the shop`).join("\n"));
    const session = await memorySessionStore().create({ cwd: "/" });
    await session.appendMessage(userMessage("Hello."));
    const memory = sessionMemory(session, { blocks: [{ label: "team", source, maxTokens: 50 }] });
    const shown = () => memory.refresh().then(({ system }) => system);
    const before = await shown();
    expect(estimateTextTokens(before)).toBeLessThan(200);
    expect(before).toMatch(/> fact 0 about the shop\n/);
    expect(before).toMatch(/> fact \d+ about the shop\n\(The rest is not shown: /);
    for (const maxTokens of [6, 7, 8, 9]) {
      const line = sharedText("👍".repeat(500));
      const { system } = await sessionMemory(session, {
        blocks: [{ label: "team", source: line, maxTokens }],
      }).refresh();
      expect(system).toMatch(/\n> (?:👍)+\n\(The rest is not shown: /u);
    }
    const set = (action: string, text: string, old?: string) =>
      asked(session, memory, "set_memory", { label: "team", action, text, old });
    for (let attempt = 0; attempt < 2; attempt++) {
      const refused = await set("rewrite", "one");
      expect(refused.isError).toBe(true);
      expect(estimateTextTokens(told(refused))).toBeLessThan(200);
    }
    expect((await set("add", "one more")).isError).toBe(true);
    expect(
      (await set("replace", "a text of far more words than the line had before it", "fact 0 about the shop"))
        .isError,
    ).toBe(true);
    expect((await set("replace", "", "fact 0 about the shop")).isError).toBe(false);
    expect(source.text).toMatch(/^fact 1 about/);
    source.text = "fact 1 about the shop";
    source.version++;
    expect(await shown()).not.toContain("The rest");
    expect((await set("rewrite", "one")).isError).toBe(false);
    // One line that is too long.
    source.text = "word ".repeat(10_000);
    source.version++;
    expect(estimateTextTokens(await shown())).toBeLessThan(200);
  });

  it("without `set` is not for the model, nor for a program", async () => {
    const session = await create();
    const { get } = sharedText("fixed");
    const source = { get, text: "fixed", version: 0 };
    const memory = sessionMemory(session, { blocks: [{ label: "team", source }] });
    const { system, tools } = await memory.prompt();
    expect(system).toContain("You cannot change them.");
    expect(tools).toEqual([]);
    await expect(memory.set("team", "x")).rejects.toThrow(/has no set/);
  });
});
