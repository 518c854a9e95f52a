/** The rules that every adapter keeps; docs/decisions/026-frameworks.md names the test of each. */

import * as module from "@langchain/langgraph-checkpoint";
import type { AgentInputItem } from "@openai/agents-core";
import {
  type BlobMark,
  collectGarbage,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  sessionBlobRoots,
} from "sessile";
import { langgraphCheckpointer } from "sessile/langgraph";
import { openaiAgentsSession } from "sessile/openai-agents";
import { describe, expect, it } from "vitest";
import { importsOf } from "../../support/layers.js";
import { readSources } from "../../support/sources.js";
import type { Stores } from "./stores.js";

/** What is done with an adapter: the same key again and again. */
interface Case {
  readonly adapter: string;
  /** Keeps a value under the key; the same call again is the same value. */
  write(stores: Stores, value: unknown): Promise<void>;
  read(stores: Stores): Promise<unknown>;
  remove(stores: Stores): Promise<void>;
}

const key = "Key/with …";
const checkpoint = module.emptyCheckpoint();
const thread = { configurable: { thread_id: key } };
const cases: readonly Case[] = [
  {
    adapter: "langgraph",
    async write(stores, value) {
      const saver = langgraphCheckpointer(module, stores);
      const values = { ...checkpoint, channel_values: { value } };
      await saver.put(thread, values, { source: "update", step: 1, parents: {} }, { value: 1 });
      await saver.close();
    },
    async read(stores) {
      return (await langgraphCheckpointer(module, stores).getTuple(thread))?.checkpoint.channel_values.value;
    },
    remove: (stores) => langgraphCheckpointer(module, stores).deleteThread(key),
  },
  {
    adapter: "openai-agents",
    async write(stores, value) {
      const session = openaiAgentsSession<AgentInputItem>({ ...stores, sessionId: key });
      const item: AgentInputItem = { role: "user", content: "look", providerData: { value } };
      const transaction = { type: "append_items" as const, items: [item] };
      await session.applyHistoryTransaction({ operationId: "one", transaction });
      await session.close();
    },
    async read(stores) {
      const items = await openaiAgentsSession<AgentInputItem>({ ...stores, sessionId: key }).getItems();
      expect(items.length).toBeLessThanOrEqual(1);
      return items[0]?.providerData?.value;
    },
    async remove({ sessions, partition }) {
      for await (const summary of sessions.list({ partition })) await sessions.delete(summary, { partition });
    },
  },
];

const image = Buffer.alloc(9000, 7).toString("base64");
/** The lease of a blob ends when it was put in an earlier millisecond. */
const soon = () => Date.now() + 1000;
const storesNow = (): Stores => ({
  sessions: memorySessionStore(),
  blobs: memoryBlobStore(),
  partition: "test",
});

it("adapters import no package", () => {
  const files = readSources().filter(({ path }) => path.startsWith("src/frameworks/"));
  expect(files.length).toBeGreaterThan(10);
  for (const file of files)
    for (const { specifier } of importsOf(file))
      expect(specifier, file.path).toMatch(file.path.includes("/node/") ? /^(\.\.?\/|node:)/ : /^\.\.?\//);
});

describe.each(cases)("$adapter", ({ adapter, write, read, remove }) => {
  it("keeps all data in messages and its own entries behind one with the key", async () => {
    const stores = storesNow();
    await write(stores, { image });
    const session = await opened(stores);
    const entries = await session.path();
    expect(entries[0]).toMatchObject({ customType: `sessile.${adapter}.key`, data: { key } });
    for (const { node } of (await session.tree()).walk())
      expect(["custom", "message", "leaf"]).toContain(node.type);
    const types = entries.flatMap((entry) => (entry.type === "custom" ? entry.customType : []));
    for (const type of types) expect(type.startsWith(`sessile.${adapter}.`)).toBe(true);
  });

  it("writes nothing again if the answer to an append was lost", async () => {
    const stores = storesNow();
    let loses = true;
    const lossy = losing(stores, () => loses);
    await expect(write(lossy, { image })).rejects.toThrow("killed");
    const size = (await (await opened(stores)).tree()).size;
    loses = false;
    await write(stores, { image });
    await write(lossy, { image });
    expect((await (await opened(stores)).tree()).size).toBe(size);
    expect(await read(stores)).toEqual({ image });
  });

  it("names its blobs for a garbage collection, and deletes none itself", async () => {
    const stores = storesNow();
    await write(stores, { image });
    expect(await blobsOf(stores)).toEqual([9000]);
    const kept = await collectGarbage(stores.blobs, { marks: [await markOf(stores)], graceMs: 0, now: soon });
    expect(kept.trashed.count).toBe(0);
    expect(await read(stores)).toEqual({ image });
    await remove(stores);
    expect(await read(stores)).toBeUndefined();
    expect(await blobsOf(stores)).toEqual([9000]);
    const empty: BlobMark = { root: "none", refs: new Set(), complete: true };
    const collected = await collectGarbage(stores.blobs, { marks: [empty], graceMs: 0, now: soon });
    expect(collected.trashed.count).toBe(1);
  });

  it("says that a blob is missing, and gives no other value", async () => {
    const stores = storesNow();
    await write(stores, { image });
    for await (const { ref } of stores.blobs.list()) await stores.blobs.delete(ref);
    await expect(read({ ...stores })).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });
});

async function opened({ sessions, partition }: Stores): Promise<Session> {
  const summary = await sessions.latest({ partition });
  return sessions.open(summary ?? "none", { partition });
}

async function markOf(stores: Stores): Promise<BlobMark> {
  const session = await opened(stores);
  const lines = [JSON.stringify(session.header)];
  for (const { node } of (await session.tree()).walk())
    lines.push(new TextDecoder().decode(await session.raw(node.id)));
  return sessionBlobRoots("log", new TextEncoder().encode(`${lines.join("\n")}\n`));
}

async function blobsOf({ blobs }: Stores): Promise<number[]> {
  const sizes: number[] = [];
  for await (const { size } of blobs.list()) sizes.push(size);
  return sizes;
}

/** Stores whose appends are written, and then fail as if the process were killed before the answer. */
function losing(stores: Stores, loses: () => boolean): Stores {
  const { sessions } = stores;
  const lossy = (session: Session): Session =>
    new Proxy(session, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name !== "append") return member.bind(target);
        return async (...call: Parameters<Session["append"]>) => {
          const entries = await target.append(...call);
          if (loses()) throw new Error("killed");
          return entries;
        };
      },
    });
  const proxy = new Proxy(sessions, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== "create" && name !== "open") return member.bind(target);
      return async (...call: unknown[]) => lossy(await member.apply(target, call));
    },
  });
  return { ...stores, sessions: proxy };
}
