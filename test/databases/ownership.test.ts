/** Erasures of entries that others repeat, describe or derive from: no byte of a store has the text after it. */

import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import {
  type EntryMap,
  type EntryType,
  eraseEntries,
  memorySessionStore,
  type SessionEntry,
  type SessionStore,
  toolResult,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { OwnCustomType } from "../../src/log/internal.js";
import { pglite, startMs } from "../postgres/pglite.js";
import { temporaryDirectory } from "../session/node/temporary-directory.js";
import { closeDatabases } from "../sqlite/databases.js";
import { bytesWithCanary, canary, filesWithCanary } from "../support/canary.js";
import { rounds } from "../support/rounds.js";
import { engines, storeOf } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);

const reason = "a request";
const text = `about ${canary} and more`;
const digest = "a digest of the text";
const resourceId = "res_0123456789abcdef";
const resource = {
  ...{ resourceId, kind: "file", mediaType: "text/plain", size: 3, blob: `sha256:${"0".repeat(64)}` },
  ...{ contentSha256: "0".repeat(64), name: text, source: "user" },
};
const call = { type: "toolCall", id: "call_1", name: "read", arguments: { path: text } } as const;

const uuid = "6867ccc7-0000-4000-8000-000000000001";
const lcMessage = (content: string) => ({
  ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"] },
  kwargs: { content, id: "m1", name: text, additional_kwargs: { text } },
});

/** The requested entries, one after the other below `root`. */
const requested = {
  user: {
    type: "message",
    message: { ...userMessage(text), content: [{ type: "text", text, resource }] as never },
  },
  reply: {
    type: "message",
    message: {
      ...{ role: "assistant", provider: "p", model: "m", timestamp: 1, stopReason: "toolUse" },
      content: [{ type: "text", text }, { type: "thinking", thinking: text }, call],
    },
  },
  chat: {
    type: "message",
    message: { role: "user", content: text, timestamp: 1 },
    details: { of: "ai-sdk", id: "m", digest, difference: { v: { metadata: [{ about: text }] } } },
  },
  line: {
    type: "custom",
    customType: "sessile.value",
    data: {
      of: "claude-agent",
      value: { v: { type: "user", uuid, message: { role: "user", content: text } } },
    },
  },
  item: {
    type: "custom",
    customType: "sessile.value",
    data: { of: "openai-agents", value: { v: { type: "message", role: "user", content: text } } },
  },
  value: {
    type: "custom",
    customType: "sessile.langgraph.value",
    data: { type: "json", value: { v: lcMessage(text) } },
  },
  checkpoint: {
    type: "custom",
    customType: "sessile.langgraph.checkpoint",
    data: { head: "v0", metadata: "v1", values: [["messages", "held"]] },
  },
} as const satisfies Readonly<Record<string, { readonly type: EntryType; readonly [key: string]: unknown }>>;

type Name = keyof typeof requested;
const ids = Object.fromEntries(
  Object.keys(requested).map((name) => [name, name === "line" ? `u/${uuid}` : `e.${name}`]),
) as Readonly<Record<Name, string>>;

interface At {
  readonly id: string;
  readonly parentId: string;
}
type Related<F> = (at: At) => F;

/** Entries of each type that are of the requested ones, in every way of the table; empty for a type that is of none. */
const related: { readonly [T in EntryType]: readonly Related<EntryMap[T]>[] } = {
  message: [
    () => ({ message: { ...toolResult(call, text), details: { text } } }),
    () => ({ message: userMessage(text), details: { of: "ai-sdk", digest, difference: parcel([text]) } }),
  ],
  thinking_level_change: [],
  model_change: [],
  compaction: [
    ({ id }) => ({ summary: text, firstKeptEntryId: id, tokensBefore: 1, details: { files: [text] } }),
  ],
  branch_summary: [() => ({ fromId: ids.user, summary: text, details: text })],
  custom: [() => ({ customType: "acme.todo", data: { text, about: [ids.reply] } })],
  custom_message: [
    () => ({ customType: "acme.note", content: text, display: true, details: { entryId: ids.user } }),
  ],
  label: [() => ({ targetId: ids.reply, label: text }), () => ({ targetId: ids.chat, label: text })],
  session_info: [() => ({ title: text }), () => ({ name: text, slug: text })],
  usage: [],
  context_edit: [() => ({ targetId: ids.user, replacement: { content: text } })],
  message_update: [() => ({ targetId: ids.user, message: userMessage(text) })],
  part_update: [() => ({ targetId: ids.reply, index: 0, part: { type: "text", text } })],
  leaf: [({ parentId }) => ({ targetId: parentId === ids.user ? ids.user : ids.reply, name: text })],
  context_pin: [],
  revert: [() => ({ targetId: ids.user, diff: text, snapshot: text })],
  resource_view: [() => ({ resourceId, reason: text })],
  resource_observation: [() => ({ resourceId, text })],
};

const parcel = (v: unknown) => ({ v });

/** The same of the custom types: of each the data of an entry, and whether it is of the requested ones. */
const relatedData: { readonly [T in OwnCustomType]: readonly unknown[] } = {
  "sessile.turn": [],
  "sessile.tool_started": [],
  "sessile.turn_taken": [],
  "sessile.steering": [{ messageId: ids.user, message: userMessage(text) }],
  "sessile.subagent": [],
  "sessile.lost": [],
  "sessile.removed": [],
  "sessile.memory": [{ label: "facts", text, by: "model", previous: null, from: ids.user }],
  "sessile.memory.prompt": [{ digest: "d", blocks: {}, values: {}, system: text, tools: [] }],
  "sessile.foreign": [{ v: 1, files: [{ path: text }] }],
  "sessile.foreign_line": [{ file: "f", line: 1, text }],
  "sessile.queued": [{ text }],
  "sessile.user_event": [{ text }],
  "sessile.instructions": [],
  "sessile.api_error": [],
  "sessile.command": [],
  "sessile.unreadable": [],
  "opencode.error": [],
  "sessile.ai-sdk.key": [],
  "sessile.value": [
    { of: "ai-sdk", digest, value: parcel({ role: "user", text }) },
    { of: "claude-agent", value: parcel({ type: "summary", summary: `of ${canary}`, leafUuid: uuid }) },
    { of: "claude-agent", value: parcel({ type: "last-prompt", lastPrompt: text }) },
  ],
  "sessile.ai-sdk.ui": [
    {
      messageId: "m",
      entryId: ids.user,
      metadata: { text },
      parts: [{ at: 0, put: { type: "data-x", text } }],
    },
  ],
  "sessile.openai-agents.key": [],
  "sessile.openai-agents.clear": [],
  "sessile.openai-agents.operation": [],
  "sessile.claude-agent.key": [],
  "sessile.claude-agent.summary": [{ summary: parcel({ firstPrompt: text }) }],
  "sessile.langgraph.key": [],
  "sessile.langgraph.value": [{ type: "json", value: parcel({ input: { messages: [lcMessage(text)] } }) }],
  "sessile.langgraph.checkpoint": [],
  "sessile.langgraph.write": [],
};

type Maker = Related<{ readonly type: EntryType }>;
const makers: readonly Maker[] = [
  ...Object.entries(related).flatMap(([type, list]) =>
    (list as readonly Related<object>[]).map(
      (make): Maker =>
        (at) => ({ type: type as EntryType, ...make(at) }),
    ),
  ),
  ...Object.entries(relatedData).flatMap(([customType, list]) =>
    list.map(
      (data): Maker =>
        () => ({ type: "custom", customType, data }),
    ),
  ),
];

interface Plan {
  readonly order: readonly number[];
  readonly backs: readonly number[];
  readonly damage: readonly number[];
  readonly fork: "none" | "of" | "above";
}

const plan: fc.Arbitrary<Plan> = fc.record({
  order: fc.shuffledSubarray(
    makers.map((_, at) => at),
    { minLength: 1 },
  ),
  backs: fc.array(fc.nat({ max: 3 }), { minLength: makers.length, maxLength: makers.length }),
  damage: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
  fork: fc.constantFrom("none", "of", "above"),
});

const timestamp = "2026-01-01T00:00:00.000Z";

/** The entries of a session: the requested ones, then others that are of them. */
function entriesOf({ order, backs }: Plan): readonly SessionEntry[] {
  const entries: unknown[] = [
    { type: "model_change", id: "root", parentId: null, timestamp, provider: "p", modelId: "m" },
  ];
  let parentId = "root";
  const add = (fields: object, id: string, parent = parentId) => {
    entries.push({ ...fields, id, parentId: parent, timestamp });
    return id;
  };
  for (const [name, fields] of Object.entries(requested)) parentId = add(fields, ids[name as Name]);
  add(
    {
      type: "custom",
      customType: "sessile.langgraph.value",
      data: { type: "json", value: parcel(`held ${canary}`) },
    },
    "held",
  );
  const placed = [ids.reply, ids.line, parentId];
  for (const [at, index] of order.entries()) {
    const make = makers[index] as Maker;
    const id = `r${at}`;
    // After the reply and the line, which some are of by their places.
    const parent = placed[placed.length - 1 - ((backs[at] as number) % (placed.length - 2))] as string;
    const fields = make({ id, parentId: parent });
    if (fields.type === "branch_summary") add(fields, id, "root");
    else placed.push(add(fields, id, parent));
  }
  return entries as SessionEntry[];
}

/** A store, and the bytes that it has. */
interface Subject {
  readonly store: SessionStore;
  hits(): Promise<number>;
}

async function hitsIn(contents: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0;
  for await (const bytes of contents) if (bytesWithCanary(bytes)) count++;
  return count;
}

async function* linesOf(store: SessionStore): AsyncGenerator<Uint8Array> {
  for await (const { id } of store.list()) {
    const log = await store.backend.open(id, { partition: "", mode: "read" });
    if (log === undefined) continue;
    for await (const { lines } of log.read(undefined))
      if (!("bounds" in lines)) yield* lines;
      else yield lines.bytes;
    await log.close();
  }
}

const subjects: readonly { readonly name: string; readonly few: number; start(): Promise<Subject> }[] = [
  {
    name: "memory",
    few: 20,
    async start() {
      const store = memorySessionStore();
      return { store, hits: () => hitsIn(linesOf(store)) };
    },
  },
  {
    name: "files",
    few: 10,
    async start() {
      const dir = temporaryDirectory();
      return {
        store: fileSessionStore({ dir, durability: "os" }),
        hits: async () => filesWithCanary(dir).length,
      };
    },
  },
  ...engines.map(({ name, start }) => ({
    name,
    few: 4,
    async start() {
      const tables = await start({ search: true });
      return { store: storeOf(tables.direct({ search: true })), hits: () => hitsIn(tables.contents()) };
    },
  })),
];

/** Damages a file as crashes and writers without locks do. */
function damageFile(path: string, kinds: readonly number[]): void {
  const lines = readFileSync(path, "utf8").split("\n");
  const at = lines.findIndex((line) => line.includes(`"id":"${ids.user}"`));
  const line = lines[at] as string;
  const end = line.indexOf(canary) + canary.length + 4;
  const torn = line.slice(0, end).replace(ids.user, "torn");
  const [, last] = [lines.at(-1), line.slice(line.indexOf(canary) - 3)];
  for (const kind of kinds) {
    if (kind === 0) lines.splice(at, 0, `${torn}\t`);
    else if (kind === 1)
      lines.splice(
        lines.length - 1,
        0,
        `${torn}${line.replace(ids.user, "whole").replaceAll(canary, "another text, ")}`,
      );
    else if (kind === 2) lines.splice(lines.length - 1, 0, `\0\0\0${last}`);
    else if (kind === 3) lines[lines.length - 1] = torn;
    else if (kind === 4) lines.splice(at, 0, `${line.slice(0, end)}\t`);
    else lines.splice(lines.length - 1, 0, `${torn}"}]}`);
  }
  writeFileSync(path, lines.join("\n"));
}

async function check(subject: Subject, given: Plan): Promise<void> {
  const { store, hits } = subject;
  const entries = entriesOf(given);
  const header = { type: "session", version: 3, id: "s", timestamp, cwd: "/", sessile: 1 } as const;
  await store.adopt({ header, entries, leafId: entries.at(-1)?.id ?? null });
  const path = (await store.open("s")).location;
  let [erasedIn, forkId] = ["s", ""];
  if (given.fork !== "none") {
    const fork = await store.fork("s", { id: "f", upTo: ids.checkpoint });
    forkId = fork.id;
    await fork.close();
    if (given.fork === "above") [erasedIn, forkId] = [forkId, "s"];
  }
  if (path !== undefined) damageFile(path, given.damage);
  for await (const row of store.list()) expect(row.id).toBeDefined();
  const options = { reason, forks: true };
  const { sessions } = await eraseEntries(store, erasedIn, Object.values(ids), options);
  expect(sessions.map(({ id }) => id)).toEqual(forkId === "" ? ["s"] : [erasedIn, forkId]);
  for (const { id, derived } of sessions)
    await eraseEntries(
      store,
      id,
      derived.map(({ entryId }) => entryId),
      { reason },
    );
  expect(await hits()).toBe(0);
  for (const { id } of sessions) {
    const session = await store.open(id);
    expect((await session.tree()).has(ids.user)).toBe(true);
    expect([...(await session.tree()).walk()].length).toBeGreaterThanOrEqual(Object.keys(ids).length);
    await session.context();
    await session.close();
  }
}

describe.each(subjects)("in $name", ({ few, start }) => {
  // @covers security:erasure durability:erased-bytes
  it("nothing of an erased entry is left in entries that are of it, in forks and in damaged lines", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => check(await start(), given)),
      { numRuns: rounds(few, few * 20) },
    );
  });
});
