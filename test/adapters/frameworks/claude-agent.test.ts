/** The store of the Claude Agent SDK beside the SDK's own InMemorySessionStore, and through the SDK's functions. */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  deleteSession,
  foldSessionSummary,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  InMemorySessionStore,
  listSessions,
  listSubagents,
  renameSession,
  type SessionStore as SdkSessionStore,
  tagSession,
} from "@anthropic-ai/claude-agent-sdk";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { type ClaudeAgentStore, type ClaudeEntry, claudeAgentStore } from "sessile/claude-agent";
import { SessileError } from "sessile/errors";
import { beforeEach, describe, expect, expectTypeOf, it, vi } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { jsonValue } from "../../arbitraries/values.js";
import { type Stores, storesOf } from "./stores.js";

/** A project for each test, since tests share a database. */
let projects = 0;
let dir = "";
let projectKey = "";
beforeEach(() => {
  dir = `/work/project-${++projects}`;
  projectKey = `-work-project-${projects}`;
});

const image = Buffer.alloc(90_000, "pixels").toString("base64");

const storeOn = ({ sessions, blobs }: Pick<Stores, "sessions" | "blobs">): ClaudeAgentStore =>
  claudeAgentStore({ sessions, blobs, fold: foldSessionSummary });

/** A transcript of three turns; the result of a tool has its image twice, as the program writes it. */
function transcript(sessionId: string, turns = 3): ClaudeEntry[] {
  const lines: ClaudeEntry[] = [{ type: "mode", mode: "normal", sessionId }];
  let parentUuid: string | null = null;
  const add = (type: string, message: object, more: object = {}): void => {
    const uuid = randomUUID();
    const timestamp = new Date(Date.UTC(2026, 4, 4, 10, 0, lines.length)).toISOString();
    const common = { isSidechain: false, userType: "external", cwd: dir, sessionId, version: "2.1.330" };
    lines.push({ parentUuid, ...common, type, message, uuid, timestamp, ...more });
    parentUuid = uuid;
  };
  for (let turn = 1; turn <= turns; turn++) {
    const id = `toolu_${turn}`;
    add("user", { role: "user", content: `Question ${turn}` });
    const model = { model: "claude-opus-5-5", id: `msg_${turn}`, type: "message", role: "assistant" };
    add("assistant", { ...model, content: [{ type: "tool_use", id, name: "Read", input: { turn } }] });
    const source = { type: "base64", media_type: "image/png", data: image };
    const content = [{ type: "tool_result", tool_use_id: id, content: [{ type: "image", source }] }];
    add("user", { role: "user", content }, { toolUseResult: { type: "image", file: { base64: image } } });
    add("assistant", { ...model, id: `msg_${turn}b`, content: [{ type: "text", text: `Answer ${turn}` }] });
    lines.push({ type: "last-prompt", lastPrompt: `Question ${turn}`, sessionId });
  }
  return lines;
}

/** Entries that were given to a store in batches, as the SDK does. */
async function feed(store: SdkSessionStore, sessionId: string, lines: ClaudeEntry[], subpath?: string) {
  const key = { projectKey, sessionId, ...(subpath === undefined ? {} : { subpath }) };
  for (let at = 0; at < lines.length; at += 4) await store.append(key, lines.slice(at, at + 4));
}

it("has the types of the SDK", () => {
  expectTypeOf<ClaudeAgentStore>().toExtend<SdkSessionStore>();
  expectTypeOf(claudeAgentStore).toBeCallableWith({
    sessions: memorySessionStore(),
    fold: foldSessionSummary,
  });
});

describe.each(storesOf())("on %s", (_, open) => {
  it("gives the SDK's functions what InMemorySessionStore gives them", async () => {
    const [memory, own] = [new InMemorySessionStore(), storeOn(await open())];
    const [first, second] = [randomUUID(), randomUUID()] as const;
    const [one, two, sub] = [transcript(first), transcript(second, 1), transcript(first, 1)];
    for (const line of sub) line.isSidechain = true;
    const ask = async (sessionStore: SdkSessionStore) => {
      await feed(sessionStore, first, one);
      await feed(sessionStore, second, two);
      await feed(sessionStore, first, sub, "subagents/agent-a1b2c3d4");
      await renameSession(first, "A name", { dir, sessionStore });
      await tagSession(second, "a-tag", { dir, sessionStore });
      const fork = await forkSession(first, { dir, sessionStore, title: "Forked" });
      const withoutTimes = (info: object | undefined) =>
        info && { ...info, sessionId: undefined, lastModified: undefined, fileSize: undefined };
      const listed = await listSessions({ dir, sessionStore });
      const facts = {
        list: listed.map((info) => JSON.stringify(withoutTimes(info))).sort(),
        info: withoutTimes(await getSessionInfo(first, { dir, sessionStore })),
        messages: await getSessionMessages(first, { dir, sessionStore }),
        page: await getSessionMessages(first, { dir, sessionStore, limit: 2, offset: 3 }),
        forked: (await getSessionMessages(fork.sessionId, { dir, sessionStore })).length,
        subagents: await listSubagents(first, { dir, sessionStore }),
        subagent: await getSubagentMessages(first, "a1b2c3d4", { dir, sessionStore }),
      };
      await deleteSession(first, { dir, sessionStore });
      const left = await listSessions({ dir, sessionStore });
      return { ...facts, left: left.length, gone: await sessionStore.load({ projectKey, sessionId: first }) };
    };
    const expected = await ask(memory);
    expect(expected.messages.length).toBe(12);
    expect(expected.subagent.length).toBe(4);
    expect(expected.left).toBe(2);
    expect(await ask(own)).toEqual(expected);
    expect(await own.listSubkeys({ projectKey, sessionId: first })).toEqual([]);
    await own.close();
  });

  it("gives back every line in order, also to another store, with each image stored once", async () => {
    const stores = await open();
    const own = storeOn(stores);
    const sessionId = randomUUID();
    const lines = transcript(sessionId, 5);
    await feed(own, sessionId, lines);
    await own.close();
    const again = storeOn(stores);
    expect(await again.load({ projectKey, sessionId })).toEqual(lines);
    const sizes: number[] = [];
    for await (const { size } of stores.blobs.list()) sizes.push(size);
    expect(sizes).toEqual([90_000]);
    await again.close();
  });

  it("stores an entry with a uuid once, and one without each time", async () => {
    const own = storeOn(await open());
    const key = { projectKey, sessionId: "any string / with ümlauts" };
    const [named, bare] = [
      { type: "user", uuid: "u-1" },
      { type: "tag", tag: "x" },
    ];
    await own.append(key, []);
    expect(await own.load(key)).toBeNull();
    expect(await own.listSessions(projectKey)).toEqual([]);
    await own.append(key, [named, bare, named]);
    await own.append(key, [named, bare]);
    await own.append(key, [named]);
    expect(await own.load(key)).toEqual([named, bare, bare]);
    expect((await own.listSessions(projectKey)).map(({ sessionId }) => sessionId)).toEqual([key.sessionId]);
    await own.close();
  });

  it("folds each batch into a summary, with the time of the list", async () => {
    const stores = await open();
    const own = storeOn(stores);
    const sessionId = randomUUID();
    const lines = transcript(sessionId);
    await feed(own, sessionId, lines);
    const whole = foldSessionSummary(undefined, { projectKey, sessionId }, lines);
    const [listed] = await own.listSessions(projectKey);
    const summaries = await own.listSessionSummaries?.(projectKey);
    expect(summaries).toEqual([{ sessionId, mtime: listed?.mtime, data: whole.data }]);
    expect(Number.isInteger(listed?.mtime)).toBe(true);
    // After an append of a store without the function, the next one folds the whole transcript.
    const plain = claudeAgentStore({ sessions: stores.sessions, blobs: stores.blobs });
    expect(plain.listSessionSummaries).toBeUndefined();
    const tagged = { type: "tag", tag: "late", sessionId };
    await own.close();
    await plain.append({ projectKey, sessionId }, [tagged]);
    await plain.close();
    const after = { type: "custom-title", customTitle: "T", sessionId };
    await own.append({ projectKey, sessionId }, [after]);
    const expected = foldSessionSummary(undefined, { projectKey, sessionId }, [...lines, tagged, after]);
    expect((await own.listSessionSummaries?.(projectKey))?.[0]?.data).toEqual(expected.data);
    await own.close();
  });

  it("deletes subagents with their session, and one subagent alone", async () => {
    const own = storeOn(await open());
    const sessionId = randomUUID();
    const at = (subpath?: string) => ({
      projectKey,
      sessionId,
      ...(subpath === undefined ? {} : { subpath }),
    });
    for (const subpath of [undefined, "subagents/a", "subagents/B", "x".repeat(300)])
      await own.append(at(subpath), [{ type: "user", uuid: `u-${subpath}` }]);
    expect((await own.listSubkeys(at())).sort()).toEqual(["subagents/B", "subagents/a", "x".repeat(300)]);
    expect(await own.listSessions(projectKey)).toHaveLength(1);
    await own.delete(at("subagents/a"));
    expect((await own.listSubkeys(at())).sort()).toEqual(["subagents/B", "x".repeat(300)]);
    await own.delete(at());
    expect(await own.listSubkeys(at())).toEqual([]);
    expect(await own.load(at("subagents/B"))).toBeNull();
    expect(await own.load(at())).toBeNull();
    await own.delete(at());
    await own.close();
  });

  it("keeps subagents of one name apart by their session and project", async () => {
    const own = storeOn(await open());
    const keys = ["one", "two"].flatMap((sessionId) =>
      [projectKey, `${projectKey}-other`].map((project) => ({
        ...{ projectKey: project, sessionId, subpath: "subagents/a" },
      })),
    );
    for (const key of keys) {
      const { subpath: _, ...main } = key;
      await own.append(main, [{ type: "user", uuid: `main ${JSON.stringify(key)}` }]);
      await own.append(key, [{ type: "user", uuid: JSON.stringify(key) }]);
    }
    const loaded = async () =>
      Promise.all(keys.map(async (key) => (await own.load(key))?.map(({ uuid }) => uuid)));
    expect(await loaded()).toEqual(keys.map((key) => [JSON.stringify(key)]));
    await own.delete({ projectKey, sessionId: "one" });
    expect(await loaded()).toEqual(keys.map((key, at) => (at === 0 ? undefined : [JSON.stringify(key)])));
    await own.close();
  });

  it("gives back any entries of any keys", async () => {
    const stores = await open();
    const key = fc.record({
      projectKey: fc.string(),
      sessionId: fc.string(),
      subpath: fc.string({ minLength: 1 }),
    });
    const entry = fc
      .tuple(
        fc.record({ uuid: fc.uuid(), type: fc.string() }, { requiredKeys: ["type"] }),
        fc.dictionary(fc.string(), jsonValue),
      )
      .map(([known, more]): ClaudeEntry => ({ ...more, ...known }));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(key, { maxLength: 3, selector: (k) => JSON.stringify(k) }),
        fc.array(entry, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        async (keys, entries, salt) => {
          const own = claudeAgentStore(stores);
          for (const { projectKey: project, ...rest } of keys)
            await own.append({ projectKey: `${salt} ${project}`, ...rest }, structuredClone(entries));
          for (const { projectKey: project, ...rest } of keys)
            expect(await own.load({ projectKey: `${salt} ${project}`, ...rest })).toEqual(entries);
          await own.close();
        },
      ),
      { numRuns: 20 },
    );
  });

  it("keeps all lines of two stores that append to one transcript at once", async () => {
    const stores = await open();
    const key = { projectKey, sessionId: randomUUID() };
    const writers = [storeOn(stores), storeOn(stores)];
    const batches = writers.map((_, writer) =>
      Array.from({ length: 8 }, (_, batch) => [
        { type: "user", uuid: `${writer}-${batch}` },
        { type: "tag", writer, batch },
      ]),
    );
    await Promise.all(
      writers.map(async (writer, at) => {
        for (const batch of batches[at] ?? []) await writer.append(key, batch);
      }),
    );
    const loaded = (await storeOn(stores).load(key)) ?? [];
    expect(loaded).toHaveLength(32);
    for (const batch of batches)
      expect(
        loaded.filter((line) => batch.flat().some((own) => JSON.stringify(own) === JSON.stringify(line))),
      ).toEqual(batch.flat());
    for (const writer of writers) await writer.close();
  });
});

it("copies entries at the call, and refuses before anything is written", async () => {
  const sessions = memorySessionStore();
  const own = claudeAgentStore({ sessions });
  const key = { projectKey, sessionId: "s" };
  const entry = { type: "user", uuid: "u", message: { content: "kept" } };
  const appending = own.append(key, [entry]);
  entry.message.content = "changed";
  await appending;
  expect(await own.load(key)).toEqual([{ type: "user", uuid: "u", message: { content: "kept" } }]);
  const secret = "the content of the entry";
  const refused = own.append(key, [{ type: "a" }, { type: "b", [secret]: () => secret }]);
  const error = await refused.catch((thrown: unknown) => thrown);
  expect(SessileError.is(error, "INVALID_ENTRY") && error.details.path).toBe(`entries[1].${secret}`);
  expect(await own.load(key)).toHaveLength(1);
  await expect(own.append({ ...key, subpath: "" }, [entry])).rejects.toThrow(TypeError);
  // @ts-expect-error a key of numbers
  await expect(own.load({ projectKey: 1, sessionId: "s" })).rejects.toThrow("projectKey: expected a string");
  // @ts-expect-error a summary instead of a function
  expect(() => claudeAgentStore({ sessions, fold: {} })).toThrow("fold: expected a function");
  await own.close();
});

it("keeps the order of the calls, and the ids of entries that the caller drops after the call", async () => {
  const [sessions, blobs] = [memorySessionStore(), memoryBlobStore()];
  // Blobs take longer to store than entries without any.
  const put = blobs.put.bind(blobs);
  blobs.put = async (...args) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return put(...args);
  };
  const own = storeOn({ sessions, blobs });
  const key = { projectKey, sessionId: randomUUID() };
  const [first, second]: ClaudeEntry[] = [
    { type: "user", uuid: "1", image },
    { type: "user", uuid: "2" },
  ];
  const batch = [first, second] as ClaudeEntry[];
  const calls = [own.append(key, batch), own.append(key, [{ type: "user", uuid: "3" }])];
  batch.length = 0;
  await Promise.all(calls);
  await own.append(key, [second as ClaudeEntry]);
  expect((await own.load(key))?.map(({ uuid }) => uuid)).toEqual(["1", "2", "3"]);
  await own.close();
});

it("waits for another process that holds the lock", async () => {
  const sessions = memorySessionStore();
  const own = claudeAgentStore({ sessions });
  const key = { projectKey, sessionId: "locked" };
  let attempts = 0;
  const create = sessions.create.bind(sessions);
  vi.spyOn(sessions, "create").mockImplementation(async (options) => {
    if (attempts++ < 3)
      throw new SessileError("SESSION_LOCKED", "held", {
        details: { pid: 1, host: "h", path: "p", heldMs: 1 },
      });
    return create(options);
  });
  await own.append(key, [{ type: "user", uuid: "u" }]);
  expect(attempts).toBe(4);
  expect(await own.load(key)).toHaveLength(1);
});

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "agents/claude-code");
const real = (() => {
  try {
    return readdirSync(fixtures, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".jsonl"),
    );
  } catch {
    return [];
  }
})();
it.skipIf(real.length === 0)(
  "gives back every line of real transcripts, smaller than their files",
  async () => {
    const stores = { sessions: memorySessionStore(), blobs: memoryBlobStore() };
    const own = storeOn(stores);
    for (const name of real) {
      const text = readFileSync(join(fixtures, name), "utf8");
      const lines = text.split("\n").flatMap((line): ClaudeEntry[] => {
        try {
          return line === "" ? [] : [JSON.parse(line)];
        } catch {
          return [];
        }
      });
      // A line that is written twice is stored once.
      const seen = new Set<string>();
      const unique = lines.filter(({ uuid }) => uuid === undefined || (!seen.has(uuid) && seen.add(uuid)));
      await feed(own, name, lines);
      expect(await own.load({ projectKey, sessionId: name })).toEqual(unique.length === 0 ? null : unique);
    }
    await own.close();
  },
);
