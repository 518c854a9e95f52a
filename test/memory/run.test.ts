import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type ToolResultMessage,
  toolCalls,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { type MemoryBlock, type MemoryOptions, sessionMemory } from "sessile/memory";
import { openaiChat } from "sessile/openai";
import { describe, expect, it } from "vitest";
import { asked, callOf, model, replyWith, sharedText, told } from "./support.js";

const facts: readonly MemoryBlock[] = [{ label: "facts", writable: true, maxTokens: 100 }];
const policy = "Refunds take 30 days.\n# Exceptions\nNone.";
const texts: Readonly<Record<string, string>> = { refunds: policy, shipping: "By boat." };

async function started(options: Partial<MemoryOptions> = {}) {
  const session = await memorySessionStore().create({ cwd: "/" });
  await session.appendMessage(userMessage("Hello."));
  return { session, memory: sessionMemory(session, { blocks: facts, ...options }) };
}

describe("set_memory", () => {
  const set = (action: string, text: string, old?: string) => ({ label: "facts", action, text, old });

  it("adds lines once, replaces a part, and removes a line", async () => {
    const { session, memory } = await started();
    const run = (args: unknown) => asked(session, memory, "set_memory", args);
    expect(told(await run(set("add", "likes tea")))).toBe("Saved in facts. 2 of 100 tokens are used.");
    await run(set("add", "lives in Oslo\nis called Kim"));
    expect(told(await run(set("add", "lives in Oslo")))).toMatch(/^facts has this already\./);
    await run(set("replace", "coffee", "tea"));
    await run(set("replace", "", "lives in Oslo"));
    expect((await memory.get("facts")).text).toBe("likes coffee\nis called Kim");
    await run(set("rewrite", "likes milk"));
    expect((await memory.get("facts")).text).toBe("likes milk");
    await run(set("rewrite", ""));
    expect((await memory.get("facts")).text).toBe("");
  });

  it("replaces a line or a part of one where it stands, and adds no empty text", async () => {
    const { session, memory } = await started();
    const changed = async (...change: Parameters<typeof set>) => {
      await memory.set("facts", "one\ntwo three\nfour");
      await asked(session, memory, "set_memory", set(...change));
      return (await memory.get("facts")).text;
    };
    expect(await changed("replace", "2", "two three")).toBe("one\n2\nfour");
    expect(await changed("replace", "", "two three")).toBe("one\nfour");
    expect(await changed("replace", "", "three")).toBe("one\ntwo\nfour");
    expect(await changed("replace", "", "one")).toBe("two three\nfour");
    expect(await changed("replace", "", "four")).toBe("one\ntwo three");
    expect(told(await asked(session, memory, "set_memory", set("add", " \n")))).toMatch(/has this already/);
    expect((await memory.history("facts")).writes.at(-1)?.text).toBe("one\ntwo three");
  });

  it("tells the model the present text if the part to replace is not there, or is ambiguous", async () => {
    const { session, memory } = await started();
    await memory.set("facts", "tea\n# green tea");
    for (const old of ["coffee", "tea", ""]) {
      const result = await asked(session, memory, "set_memory", set("replace", "milk", old));
      expect(result.isError).toBe(true);
      expect(told(result)).toMatch(/\n> tea\n> # green tea$/);
    }
    expect((await memory.get("facts")).text).toBe("tea\n# green tea");
  });

  it("does not rewrite what the model was not shown", async () => {
    const { session, memory } = await started();
    await memory.prompt();
    await memory.set("facts", "written by a person meanwhile");
    const refused = await asked(session, memory, "set_memory", set("rewrite", "likes tea"));
    expect(refused).toMatchObject({ isError: true, details: { memory: { code: "CONCURRENT_WRITER" } } });
    expect(told(refused)).toContain("> written by a person meanwhile");
    expect((await memory.get("facts")).text).toBe("written by a person meanwhile");
    // It was told one text, and another one is there by now.
    await memory.set("facts", "changed once more");
    expect((await asked(session, memory, "set_memory", set("rewrite", "likes tea"))).isError).toBe(true);
    expect((await asked(session, memory, "set_memory", set("rewrite", "likes tea"))).isError).toBe(false);

    await memory.set("facts", "written again");
    await memory.refresh();
    expect((await asked(session, memory, "set_memory", set("rewrite", "likes milk"))).isError).toBe(false);
  });

  it("does not rewrite what the model only added to, or had in part already", async () => {
    for (const text of ["likes tea", "has this line"]) {
      const { session, memory } = await started();
      await memory.prompt();
      await memory.set("facts", "written by a person\nhas this line");
      const added = await asked(session, memory, "set_memory", set("add", text));
      expect(added.isError).toBe(false);
      const before = (await memory.get("facts")).text;
      const refused = await asked(session, memory, "set_memory", set("rewrite", "likes milk"));
      expect(refused).toMatchObject({ isError: true, details: { memory: { code: "CONCURRENT_WRITER" } } });
      expect((await memory.get("facts")).text).toBe(before);
    }
  });

  it("rewrites what the model made of a text that it was shown", async () => {
    for (const block of [facts[0] as MemoryBlock, { label: "facts", source: sharedText() }]) {
      const { session, memory } = await started({ blocks: [block] });
      await memory.set("facts", "likes tea");
      await memory.prompt();
      for (const args of [set("add", "lives in Oslo"), set("replace", "milk", "tea"), set("rewrite", "one")])
        expect((await asked(session, memory, "set_memory", args)).isError).toBe(false);
      expect((await memory.get("facts")).text).toBe("one");
    }
  });

  it("is for a block with the name of a member of every object, too", async () => {
    const { session, memory } = await started({ blocks: [{ label: "x", text: "You." }] });
    await memory.prompt();
    const more = sessionMemory(session, { blocks: [{ label: "constructor", writable: true }] });
    const args = { label: "constructor", action: "rewrite", text: "likes tea" };
    expect((await asked(session, more, "set_memory", args)).isError).toBe(false);
  });

  it("is not written again if it is answered again, as after a crash", async () => {
    const { session, memory } = await started();
    const calls = [callOf("set_memory", set("rewrite", "one")), callOf("set_memory", set("rewrite", "two"))];
    await session.appendMessage(replyWith(...calls));
    for (const call of calls) await memory.run(call);
    const { size } = await session.tree();
    const later = sessionMemory(session, { blocks: facts });
    for (const call of calls) expect((await later.run(call))?.isError).toBe(false);
    expect((await session.tree()).size).toBe(size);
    expect((await later.get("facts")).text).toBe("two");
    // The same id in a later turn, as some providers have it, is another call.
    await session.appendMessage(replyWith({ ...(calls[0] as (typeof calls)[0]) }));
    await later.run(calls[0] as (typeof calls)[0]);
    expect((await later.get("facts")).text).toBe("one");
  });

  it("is not written to a shared text again either", async () => {
    const source = sharedText();
    const { session, memory } = await started({ blocks: [{ label: "team", source }] });
    const call = callOf("set_memory", { label: "team", action: "add", text: "one" });
    await session.appendMessage(replyWith(call));
    await memory.run(call);
    await memory.run(call);
    expect(source).toMatchObject({ text: "one", version: 1 });
    const replaced = callOf("set_memory", { label: "team", action: "replace", old: "one", text: "two" });
    await session.appendMessage(replyWith(replaced));
    for (const each of [replaced, replaced]) expect((await memory.run(each))?.isError).toBe(false);
    expect(source).toMatchObject({ text: "two", version: 2 });
    const removed = callOf("set_memory", { label: "team", action: "replace", old: "two", text: "" });
    await session.appendMessage(replyWith(removed));
    for (const each of [removed, removed]) expect((await memory.run(each))?.isError).toBe(false);
    expect(source).toMatchObject({ text: "", version: 3 });
    // Another session has the line again by now.
    await source.set?.("two", "3");
    expect((await memory.run(removed))?.isError).toBe(false);
    expect(source).toMatchObject({ text: "two", version: 4 });
  });

  it("is written only over the version that was compared, whoever writes between", async () => {
    const source = sharedText("one");
    const expected: string[] = [];
    const { get, set } = source;
    let isLate = false;
    source.get = async function () {
      const value = await get.call(this, {});
      // Another session writes after each read.
      if (isLate) Object.assign(this, { text: "theirs", version: this.version + 1 });
      return value;
    };
    source.set = async function (text, version) {
      expected.push(version);
      return set?.call(this, text, version);
    };
    const { session, memory } = await started({ blocks: [{ label: "team", source }] });
    await memory.prompt();
    isLate = true;
    const before = source.version;
    const call = { label: "team", action: "add", text: "ours" };
    expect(told(await asked(session, memory, "set_memory", call))).toContain("theirs");
    expect(source.text).toBe("theirs");
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.every((version) => Number(version) < source.version)).toBe(true);
    expect(Number(expected[0])).toBe(before);
    isLate = false;
    await asked(session, memory, "set_memory", call);
    expect(source.text).toBe("theirs\nours");
  });

  it("answers wrong arguments with an error for the model", async () => {
    const source = sharedText("fixed");
    const blocks: readonly MemoryBlock[] = [
      ...facts,
      { label: "identity", text: "You." },
      { label: "team", source, writable: false },
    ];
    const { session, memory } = await started({ blocks });
    const wrong = [
      null,
      "facts",
      [],
      {},
      { label: "identity", action: "add", text: "x" },
      { label: "team", action: "add", text: "x" },
      { label: "other", action: "add", text: "x" },
      { label: "facts", action: "delete", text: "x" },
      { label: "facts", action: "add" },
      { label: "facts", action: "add", text: 3 },
      { label: "facts", action: "replace", text: "x" },
    ];
    for (const args of wrong)
      expect(await asked(session, memory, "set_memory", args)).toMatchObject({ isError: true });
    expect((await memory.get("facts")).text).toBe("");
    expect(source.text).toBe("fixed");
    expect(await memory.run(callOf("read", { path: "a" }))).toBeUndefined();
  });
});

describe("documents", () => {
  const blobs = memoryBlobStore();
  const documents = {
    list: async () => [{ name: "refunds", description: "How refunds work" }, { name: "shipping" }],
    load: async (name: string) => texts[name],
  };
  const options = { blocks: [{ label: "skills", documents }], blobs };
  const refunds = { label: "skills", name: "refunds" };
  const sent = async (session: Session, replay: ReturnType<ReturnType<typeof sessionMemory>["replay"]>) => {
    const context = await session.context();
    const claude = await project(context, anthropicMessages(model), { blobs, replay });
    const chat = await project(context, openaiChat({ model: "gpt-5.6" }), { blobs, replay });
    return [JSON.stringify(claude.value), JSON.stringify(chat.value)];
  };

  it("are listed in the prompt, loaded as a resource with one blob, and shown until they are unloaded", async () => {
    const { session, memory } = await started(options);
    const { system, tools } = await memory.refresh();
    expect(system).toMatch(/> - refunds: How refunds work\n> - shipping$/);
    const many = {
      ...documents,
      list: async () => Array.from({ length: 203 }, (_, at) => ({ name: `d${at}` })),
    };
    const others = sessionMemory(session, { ...options, blocks: [{ label: "many", documents: many }] });
    expect((await others.refresh()).system).toMatch(/> - d199\n\(3 more are not listed\)$/);
    expect(tools.map(({ name }) => name)).toEqual(["load_document", "unload_document"]);
    const result = await asked(session, memory, "load_document", refunds);
    expect(result.content[1]).toMatchObject({ resource: { mediaType: "text/plain", source: "document" } });
    expect(await memory.documents()).toMatchObject([{ ...refunds, entryId: session.leafId }]);
    expect(told(await asked(session, memory, "load_document", refunds))).toBe("refunds is loaded already.");

    // Also in later turns, for a target with documents and for one without.
    await session.appendMessage(userMessage("And?"));
    const exceptions = "# Exceptions";
    for (const request of await sent(session, memory.replay())) expect(request).toContain(exceptions);
    for (const request of await sent(session, () => "describe")) expect(request).not.toContain(exceptions);

    const { size } = await session.tree();
    await asked(session, memory, "unload_document", refunds);
    expect((await session.tree()).size).toBe(size + 3);
    expect(await memory.documents()).toEqual([]);
    for (const request of await sent(session, memory.replay())) {
      expect(request).not.toContain(exceptions);
      expect(request).toContain("[The document refunds was put away; load_document shows it again.]");
    }
    await asked(session, memory, "load_document", refunds);
    expect(await memory.documents()).toHaveLength(1);
    let stored = 0;
    for await (const _ of blobs.list()) stored++;
    expect(stored).toBe(1);
  });

  it("are unloaded one by one, each by its block and its name", async () => {
    const others = { label: "others", documents };
    const { session, memory } = await started({ ...options, blocks: [...options.blocks, others] });
    const three = [refunds, { ...refunds, name: "shipping" }, { ...refunds, label: "others" }];
    for (const each of three) await asked(session, memory, "load_document", each);
    expect(await memory.documents()).toMatchObject(three);
    await asked(session, memory, "unload_document", refunds);
    expect(await memory.documents()).toMatchObject(three.slice(1));
  });

  it("are loaded by the path: a branch, a restoring edit and a compaction decide", async () => {
    const { session, memory } = await started(options);
    const before = session.leafId;
    await asked(session, memory, "load_document", refunds);
    const { id } = (await session.tree()).node(session.leafId ?? "") ?? { id: "" };
    const loaded = await session.entry(id);
    await asked(session, memory, "unload_document", refunds);
    const after = session.leafId;
    await session.branch(id);
    expect(await memory.documents()).toHaveLength(1);
    await session.branch(before);
    expect(await memory.documents()).toEqual([]);
    await session.branch(after);
    const content = loaded?.type === "message" && "content" in loaded.message ? loaded.message.content : "";
    await session.append([{ type: "context_edit", targetId: id, replacement: { content } }]);
    expect(await memory.documents()).toMatchObject([refunds]);
    const { id: kept } = await session.appendMessage(userMessage("Next."));
    await session.append([{ type: "compaction", summary: "s", firstKeptEntryId: kept, tokensBefore: 1 }]);
    expect(await memory.documents()).toEqual([]);
    const reopened = sessionMemory(session, options);
    await session.branch(id);
    expect(await reopened.documents()).toMatchObject([refunds]);
  });

  it("that do not exist, or are not loaded, are told to the model", async () => {
    const { session, memory } = await started(options);
    const missing = { label: "skills", name: "nothing\n# Obey" };
    const refused = await asked(session, memory, "load_document", missing);
    expect(refused).toMatchObject({ isError: true });
    expect(told(refused)).toBe("skills has no document nothing # Obey.");
    expect(told(await asked(session, memory, "unload_document", refunds))).toBe("refunds is not loaded.");
    expect(await asked(session, memory, "load_document", { name: "refunds" })).toMatchObject({
      isError: true,
    });
  });
});

describe("a source of documents", () => {
  const long = "d".repeat(200);
  const asks: string[] = [];
  const documents = {
    list: async () => [{ name: "refunds" }, { name: long }, { name: "two\nlines" }, { name: "gone" }],
    load: async (name: string) => {
      asks.push(name);
      return name === "gone" ? undefined : ({ refunds: "30 days" } as Record<string, string>)[name] || name;
    },
  };

  it("is asked only for names that it lists, as they are listed", async () => {
    const { session, memory } = await started({
      blocks: [{ label: "d", documents }],
      blobs: memoryBlobStore(),
    });
    const load = (name: unknown) => asked(session, memory, "load_document", { label: "d", name });
    for (const name of ["constructor", "__proto__", "../secret", "", "Refunds", 5, "gone"])
      expect(await load(name)).toMatchObject({ isError: true });
    const shown = (await memory.prompt()).system.split("\n").flatMap((line) => line.split("> - ")[1] ?? []);
    for (const name of shown.slice(0, 3)) expect(await load(name)).toMatchObject({ isError: false });
    expect(asks).toEqual(["gone", "refunds", long, "two\nlines"]);
    for (const name of shown.slice(0, 3))
      await asked(session, memory, "unload_document", { label: "d", name });
    expect(await memory.documents()).toEqual([]);
  });
});

describe("documents that are listed alike", () => {
  it("are loaded by their own names", async () => {
    const names = ["two  words", "two words", "three\twords"];
    const documents = {
      list: async () => names.map((name) => ({ name })),
      load: async (name: string) => JSON.stringify(name),
    };
    const blobs = memoryBlobStore();
    const { session, memory } = await started({ blocks: [{ label: "d", documents }], blobs });
    for (const name of [...names, "three words"])
      await asked(session, memory, "load_document", { label: "d", name });
    const loaded = await memory.documents();
    const texts = await Promise.all(loaded.map(async ({ resource }) => blobs.get(resource.blob)));
    expect(texts.map((bytes) => JSON.parse(new TextDecoder().decode(bytes)))).toEqual([
      ...names,
      "three\twords",
    ]);
  });
});

describe("search_memory", () => {
  it("gives what the caller's search finds, bounded and quoted", async () => {
    const queries: unknown[] = [];
    const { session, memory } = await started({
      async *search(query) {
        queries.push(query);
        for (let n = 0; n < 50; n++)
          yield {
            sessionId: `s/1\n${"x".repeat(100)}`,
            entryId: `e${n}\n`,
            role: "user",
            snippet: `# tea ${n}\n\u202e${"x".repeat(600)}`,
            at: "2026-11-23T10:00:00.000Z",
          };
      },
    });
    const { tools } = await memory.prompt();
    expect(tools.map(({ name }) => name)).toEqual(["set_memory", "search_memory"]);
    const result = await asked(session, memory, "search_memory", { query: " tea\nparty " });
    expect(queries).toEqual([{ text: "tea party", limit: 200 }]);
    const lines = told(result).split("\n");
    expect(lines).toHaveLength(21);
    expect(lines[1]).toBe(`2026-11-23, user, entry e0_ of session s_1_${"x".repeat(60)}, said:`);
    expect(lines[2]).toMatch(/^> # tea 0 x{400,500}…$/);
    expect(await asked(session, memory, "search_memory", { query: " " })).toMatchObject({ isError: true });
  });

  it("does not find its own searches, here and in other sessions, however often it searched", async () => {
    const store = memorySessionStore();
    const places = [];
    for (let n = 0; n < 2; n++) {
      const session = await store.create({ cwd: "/" });
      const { id } = await session.appendMessage(userMessage("I am allergic to hazelnuts."));
      places.push(`entry ${id} of session ${session.id}, said:`);
      await session.appendMessage(assistantMessage(model, "Noted."));
      const question = await session.appendMessage(userMessage("What of hazelnuts did I say?"));
      const search: MemoryOptions["search"] = (query) => store.search({ ...query, branch: "all" });
      const memory = sessionMemory(session, { blocks: [], search });
      for (let count = 0; count < 12; count++) {
        const result = await asked(session, memory, "search_memory", {
          query: count % 2 ? "Hazelnuts" : "hazelnuts",
        });
        expect(
          told(result)
            .match(/entry \S+ of session \S+ said:/g)
            ?.sort(),
        ).toEqual([...places].sort());
      }
      // A reply with a text of its own is no echo, but for the turn that asks.
      const call = callOf("search_memory", { query: "hazelnuts" });
      const reply = await session.appendMessage(assistantMessage(model, "You named hazelnuts.", call));
      const result = (await memory.run(call)) as ToolResultMessage;
      expect(told(result)).not.toContain("> You named hazelnuts.");
      expect(told(result)).not.toContain("> What of");
      await session.appendMessage(result);
      const steering = await session.appendMessage(userMessage("Only hazelnuts."));
      expect(told((await memory.run(call)) as ToolResultMessage)).not.toContain("> What of");
      await session.appendMessage(assistantMessage(model, "So it is."));
      await session.appendMessage(userMessage("Again?"));
      const later = told((await memory.run(call)) as ToolResultMessage);
      for (const said of ["You named hazelnuts.", "What of hazelnuts did I say?", "Only hazelnuts."])
        expect(later).toContain(`> ${said}`);
      for (const { id: targetId } of [question, reply, steering])
        await session.append([{ type: "context_edit", targetId, replacement: null }]);
    }
  });

  it("says that there is none any more", async () => {
    const { session, memory } = await started();
    expect(told(await asked(session, memory, "search_memory", { query: "tea" }))).toBe(
      "There is no search any more.",
    );
  });

  it("says that nothing was found", async () => {
    const { session, memory } = await started({ async *search() {} });
    expect(told(await asked(session, memory, "search_memory", { query: "tea" }))).toMatch(
      /^Nothing was found/,
    );
  });
});

it("leaves calls of other tools to the caller", async () => {
  const { session, memory } = await started();
  const reply = replyWith(
    callOf("read", {}),
    callOf("set_memory", { label: "facts", action: "add", text: "x" }),
  );
  await session.appendMessage(reply);
  const results = await Promise.all(toolCalls(reply).map((call) => memory.run(call)));
  expect(results.map((result) => result?.toolName)).toEqual([undefined, "set_memory"]);
});
