import { eraseEntries, memorySessionStore, userMessage } from "sessile";
import { sessionMemory } from "sessile/memory";
import { expect, it } from "vitest";
import { asked, sharedText } from "./support.js";

const blocks = [{ label: "facts", writable: true }] as const;
const reason = "a request of the person";

async function withPast() {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/" });
  const memory = sessionMemory(session, { blocks });
  await session.appendMessage(userMessage("Hello."));
  await memory.set("facts", "likes tea");
  const { id: told } = await session.appendMessage(userMessage("I live in Oslo."));
  await asked(session, memory, "set_memory", { label: "facts", action: "add", text: "lives in Oslo" });
  const value = (await memory.get("facts")).revision ?? "";
  const prompt = (await memory.refresh()).entryId ?? "";
  await session.appendMessage(userMessage("Thanks."));
  await session.close();
  const reopened = async () => sessionMemory(await store.open(session.id, { mode: "write" }), { blocks });
  return { store, session, told, value, prompt, reopened };
}

it("an erasure names the values and prompts that came after the erased message", async () => {
  const { store, session, told, value, prompt } = await withPast();
  const { sessions } = await eraseEntries(store, session.id, [told], { reason });
  const memory = sessions[0]?.derived.filter(({ kind }) => kind === "memory");
  expect(memory?.map(({ entryId }) => entryId)).toEqual([value, prompt]);
});

it("an erasure says that a shared text may still have it", async () => {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/" });
  const memory = sessionMemory(session, { blocks: [...blocks, { label: "team", source: sharedText() }] });
  const { id: first } = await session.appendMessage(userMessage("I live in Oslo."));
  await memory.set("facts", "lives in Oslo");
  const { id: second } = await session.appendMessage(userMessage("We ship on Fridays."));
  const shared = "the sources of memory blocks that sessions share";
  const before = await eraseEntries(store, session, [second], { reason });
  expect(before.remaining).not.toContain(shared);
  await session.refresh();
  const { written } = await memory.set("team", "ships on Fridays");
  for (const id of [first, written?.entryId ?? ""]) {
    const { remaining } = await eraseEntries(store, session, [id], { reason });
    expect(remaining).toContain(shared);
  }
});

it("a memory that is open sees an erasure as soon as its session reads on", async () => {
  const { store, session, value } = await withPast();
  const open = await store.open(session.id, { mode: "write" });
  const memory = sessionMemory(open, { blocks });
  expect((await memory.get("facts")).text).toContain("Oslo");
  await eraseEntries(store, session.id, [value], { reason });
  await open.refresh();
  expect((await memory.get("facts")).text).toBe("likes tea");
});

it("an erased value gives way to the newest before it, of each block", async () => {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/" });
  const both = [...blocks, { label: "tasks", writable: true }] as const;
  const memory = sessionMemory(session, { blocks: both });
  await session.appendMessage(userMessage("Hello."));
  for (const text of ["one", "two", "three"]) await memory.set("facts", text);
  for (const text of ["first", "second"]) await memory.set("tasks", text);
  const erased = await Promise.all(["facts", "tasks"].map((label) => memory.get(label)));
  await memory.refresh();
  await session.close();
  const ids = erased.map(({ revision }) => revision as string);
  await eraseEntries(store, session.id, ids, { reason });
  const anew = sessionMemory(await store.open(session.id), { blocks: both });
  expect((await anew.get("facts")).text).toBe("two");
  expect((await anew.get("tasks")).text).toBe("first");
});

it("an erased value gives way to the one before it, and an erased prompt is rendered anew", async () => {
  const { store, session, value, prompt, reopened } = await withPast();
  await eraseEntries(store, session.id, [value], { reason });
  expect(await (await reopened()).get("facts")).toMatchObject({ text: "likes tea" });
  expect((await (await reopened()).history("facts")).writes).toHaveLength(1);
  await eraseEntries(store, session.id, [prompt], { reason });
  const anew = await (await reopened()).prompt();
  expect(anew.rendered).toBe("first");
  expect(anew.system).toContain("> likes tea");
  expect(anew.system).not.toContain("Oslo");
});
