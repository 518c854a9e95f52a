import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  type EntryDraft,
  eraseEntries,
  memoryBlobStore,
  memorySessionStore,
  type SearchHit,
  type SearchQuery,
  type SessionStore,
  toolResult,
  userMessage,
} from "sessile";
import { importSession } from "sessile/interop";
import { type FoundSession, fileSessionStore, findSessions, sessionFiles } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { formats } from "../../src/agents/internal.js";
import type { CommandContext, Parsed } from "../../src/cli/command.js";
import { searchFound } from "../../src/cli/commands/search.js";
import type { FoundSession as FoundInStore } from "../../src/cli/named-session.js";
import { searchedList, searchedSessions } from "../../src/cli/sources.js";
import * as transcript from "../agents/claude-code/transcript.js";
import { rounds } from "../support/rounds.js";
import { call } from "./call.js";

const model = { provider: "p", model: "m" };
const folders: string[] = [];
function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "sessile-search-")));
  folders.push(made);
  return made;
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

async function hitsOf(store: SessionStore, query: SearchQuery): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = [];
  for await (const hit of store.search(query)) hits.push(hit);
  return hits;
}

describe("search", () => {
  const words = [
    "ebb",
    "Flood",
    "ebbTide",
    "潮流",
    "straße",
    "ﬁnd",
    "don't",
    "\u001b[1mreef",
    "\\n tide",
    "½",
  ];
  const word = fc.constantFrom(...words);
  const step = fc.oneof(
    { arbitrary: fc.record({ say: fc.array(word, { maxLength: 4 }), to: fc.nat(1) }), weight: 3 },
    fc.record({ call: word }),
    fc.record({ edit: fc.nat(), text: fc.option(word) }),
    fc.record({ part: fc.nat(), text: word }),
    fc.record({ label: fc.nat(), text: word }),
    fc.record({ title: word }),
    fc.record({ branch: fc.nat() }),
    fc.record({ erase: fc.nat() }),
  );
  const filters = [
    {},
    { branch: "all" },
    { role: "assistant" },
    { role: "session_info", branch: "all" },
    { limit: 3 },
    { since: 3 },
    { until: 3, branch: "all" },
  ] as const;

  it("finds what the store finds, in the same order", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 2, maxLength: 24 }),
        fc.array(word, { minLength: 1, maxLength: 2 }),
        fc.boolean(),
        async (steps, wanted, isPhrase) => {
          const dir = folder();
          let now = Date.UTC(2026, 0, 1);
          const store = fileSessionStore({ dir, durability: "os", now: () => (now += 1000) });
          const sessions = await Promise.all([
            store.create({ cwd: "/work" }),
            store.create({ cwd: "/work" }),
          ]);
          const messages: (readonly [session: number, id: string])[] = [];
          let at = 0;
          const add = async (draft: EntryDraft) => {
            const [entry] = (await sessions[at]?.append([draft])) ?? [];
            if (draft.type === "message") messages.push([at, entry?.id ?? ""]);
          };
          const select = (number: number) => {
            const [session, id] = messages[number % messages.length] as (typeof messages)[number];
            at = session;
            return id;
          };
          await add({ type: "message", message: userMessage(`the ${words.join(" ")}`) });
          for (const each of steps) {
            if ("say" in each) {
              at = each.to;
              await add({ type: "message", message: assistantMessage(model, each.say.join(" ")) });
            } else if ("call" in each) {
              const made = {
                type: "toolCall",
                id: `c${messages.length}`,
                name: "t",
                arguments: { at: each.call },
              } as const;
              await add({ type: "message", message: assistantMessage(model, "I see", made) });
              await add({ type: "message", message: toolResult(made, `result ${each.call}`) });
            } else if ("title" in each) await add({ type: "session_info", title: each.title });
            else if ("edit" in each)
              await add({
                type: "context_edit",
                targetId: select(each.edit),
                replacement: each.text === null ? null : { content: [{ type: "text", text: each.text }] },
              });
            else if ("part" in each)
              await add({
                type: "part_update",
                targetId: select(each.part),
                index: 0,
                part: { type: "text", text: each.text },
              });
            else if ("label" in each)
              await add({ type: "label", targetId: select(each.label), label: each.text });
            else if ("branch" in each) {
              const id = select(each.branch);
              await sessions[at]?.branch(id);
            } else {
              const id = select(each.erase);
              const session = sessions[at] as (typeof sessions)[number];
              await eraseEntries(store, session, [id], { reason: "a request" });
              await session.refresh();
            }
          }
          // Every query finds something.
          await add({ type: "message", message: userMessage(words.join(" ")) });
          for (const session of sessions) await session.close();
          const [first = "", ...others] = wanted;
          const text = [isPhrase ? `"${first}"` : first, ...others].join(" ");
          const times = (await hitsOf(store, { text: "e", branch: "all", limit: 1000 }))
            .map((hit) => hit.at)
            .sort();
          for (const filter of filters) {
            const [since, until] = (["since", "until"] as const).map((name) =>
              name in filter
                ? new Date(times[Math.min(filter[name as never], times.length - 1)] ?? 0)
                : undefined,
            );
            const { branch, role, limit } = filter as { branch?: "all"; role?: string; limit?: number };
            const expected = await hitsOf(store, {
              text,
              ...(branch && { branch }),
              ...(role && { role }),
              ...(limit && { limit }),
              ...(since && { since }),
              ...(until && { until }),
            });
            const options = [
              ...(branch ? ["--branch", branch] : []),
              ...(role ? ["--role", role] : []),
              ...(limit ? ["-n", String(limit)] : []),
              ...(since ? ["--since", since.toISOString()] : []),
              ...(until ? ["--until", until.toISOString()] : []),
            ];
            const { json, code, stderr } = await call(
              ["search", "--dir", dir, "--json", ...options, "--", text],
              { cwd: dir },
            );
            expect([options, text, code, stderr]).toEqual([options, text, expected.length > 0 ? 0 : 1, ""]);
            expect(json).toEqual(
              expected.map(({ sessionId, location, entryId, role, at, snippet }) => ({
                ...{ agent: "sessile", session: sessionId, path: location, entryId, role, at, snippet },
              })),
            );
            found += json.length;
          }
        },
      ),
      { numRuns: rounds(6, 120) },
    );
    expect(found).toBeGreaterThan(10);
  });

  it("reads sessions of pi as they are: a version without ids", async () => {
    const dir = folder();
    const file = join(dir, "sessions", "--work--", "2025-01-01T00-00-00-000Z_old.jsonl");
    const lines = [
      { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/work" },
      ...["an old anchor", "a rope"].map((content, at) => ({
        type: "message",
        timestamp: `2025-01-01T00:00:0${at}.000Z`,
        message: { role: "user", content, timestamp: at },
      })),
    ];
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const env = { PI_CODING_AGENT_DIR: dir };
    const { json } = await call(["search", "anchor", "--json"], { cwd: dir, env });
    expect(json).toMatchObject([
      { agent: "pi", session: "old", path: file, role: "user", snippet: "an old anchor" },
    ]);
    appendFileSync(file, '{"type":"message","id\n');
    const damaged = await call(["search", "rope"], { cwd: dir, env });
    expect([damaged.code, damaged.stderr]).toEqual([
      0,
      expect.stringMatching(/1 line is damaged.*\(damaged\)\n$/),
    ]);
  });

  it("shows the newest hundred, and says that there are more", async () => {
    const dir = folder();
    const store = fileSessionStore({ dir, durability: "os" });
    const session = await store.create({ cwd: "/work" });
    await session.append(
      Array.from(
        { length: 101 },
        (_, at) => ({ type: "message", message: userMessage(`reef ${at}`) }) as const,
      ),
    );
    await session.close();
    const run = (...more: readonly string[]) => call(["search", "reef", "--dir", dir, ...more], { cwd: dir });
    const { stdout, stderr, code } = await run();
    expect([stdout.split("\n").length - 1, code, stderr]).toEqual([
      100,
      0,
      "sessile: more than 100 entries match; -n N shows more (limit)\n",
    ]);
    expect(stdout.split("\n")[0]).toMatch(/^sessile \S+ [0-9a-f]{8} user: reef 100$/);
    const asJson = await run("--json");
    expect(JSON.parse(asJson.stderr)).toEqual({
      warning: { code: "limit", message: "more than 100 entries match; -n N shows more" },
    });
    expect(await run("-n", "101")).toMatchObject({
      stderr: "",
      stdout: expect.stringMatching(/: reef 0\n$/),
    });
    expect((await run("-n", "50")).stderr).toBe("");
    expect((await run("-n", String(Number.MAX_SAFE_INTEGER))).code).toBe(0);
  });
});

describe("a role that finds nothing", () => {
  it("is named with those that are known, unless it is one of them", async () => {
    const dir = folder();
    const store = fileSessionStore({ dir, durability: "os" });
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("a reef"));
    await session.append([{ type: "label", targetId: session.leafId as string, label: "wharf" }]);
    await session.close();
    const run = (word: string, role: string, ...more: readonly string[]) =>
      call(["search", word, "--dir", dir, "--role", role, ...more], { cwd: dir });
    const { stdout, stderr, code } = await run("reef", "User");
    expect([stdout, code]).toEqual(["", 1]);
    expect(stderr).toMatch(
      /^sessile: --role: nothing found for "User"; known are user, assistant.*; did you mean user\? \(role\)\n$/,
    );
    expect(JSON.parse((await run("reef", "User", "--json")).stderr)).toMatchObject({
      warning: { code: "role", message: expect.stringContaining("session_info") },
    });
    expect(await run("reef", "assistant")).toMatchObject({ stderr: "", code: 1 });
    expect(await run("reef", "user")).toMatchObject({ stderr: "", code: 0 });
    expect(await run("wharf", "label")).toMatchObject({ stderr: "", code: 0 });
    const { stdout: help } = await call(["search", "--help"]);
    expect(help.replace(/\s+/g, " ")).toContain("Such as: user, assistant, toolResult");
  });
});

describe("the progress of a search", () => {
  it("counts the sessions also while it is not shown", async () => {
    const dir = folder();
    const store = fileSessionStore({ dir, durability: "os" });
    const sessions: FoundInStore[] = [];
    for (let at = 0; at < 3; at++) {
      const session = await store.create({ cwd: "/work" });
      await session.appendMessage(userMessage("reef"));
      const modified = new Date(at).toISOString();
      sessions.push({ agent: "sessile", id: session.id, path: session.location, modified } as FoundInStore);
      await session.close();
    }
    const texts: (() => string)[] = [];
    const out = { progress: (text: () => string) => void texts.push(text) };
    const context = { out, signal: new AbortController().signal } as unknown as CommandContext;
    for await (const _ of searchFound(searchedList(sessions), { text: "reef" }, context));
    expect(texts.at(-1)?.()).toMatch(/^3 sessions/);
  });
});

describe("a search over files of a restored backup", () => {
  const { user, reply, text } = transcript;
  const at = (minute: number) => new Date(Date.UTC(2026, 9, 1, 0, minute));
  /** Sessions of a minute each, written in another order, of which the files have the given times. */
  async function restored(count: number, timeOf: (minute: number) => Date) {
    const home = folder();
    const dir = join(home, "projects", "-work");
    mkdirSync(dir, { recursive: true });
    for (let step = 0; step < count; step++) {
      const minute = (step * 7) % count;
      const sessionId = `00000000-0000-4000-8000-${String(minute).padStart(12, "0")}`;
      const records = [
        user("u1", null, "a reef"),
        reply("a1", "u1", `m${minute}`, text(`the tide m${minute}`)),
      ];
      const own = { sessionId, cwd: "/work", timestamp: at(minute).toISOString() };
      const path = join(dir, `${sessionId}.jsonl`);
      writeFileSync(path, records.map((each) => `${JSON.stringify({ ...each, ...own })}\n`).join(""));
      utimesSync(path, timeOf(minute), timeOf(minute));
    }
    const read: string[] = [];
    const context = {
      ...{ cwd: home, env: {}, signal: new AbortController().signal, now: Date.now },
      out: { progress: () => undefined, skip: expect.unreachable, warn: expect.unreachable },
    } as unknown as CommandContext;
    const found = await searchedSessions(
      { positionals: [], options: { dir: home, agent: "claude-code" } } as unknown as Parsed,
      context,
      { agent: "claude-code" },
    );
    const looked: string[] = [];
    const ends: string[] = [];
    const described: string[] = [];
    async function* counted(list: AsyncIterable<FoundInStore>): AsyncGenerator<FoundInStore> {
      for await (const each of list)
        yield {
          ...each,
          get files() {
            ends.push(each.id);
            return each.files ?? [];
          },
          currentFiles: async () => {
            looked.push(each.id);
            return (await each.currentFiles?.()) ?? [];
          },
          describe: async () => {
            described.push(each.id);
            const whole = await (each.describe as NonNullable<FoundInStore["describe"]>)();
            return (
              whole && {
                ...whole,
                read: (...given: Parameters<NonNullable<FoundInStore["read"]>>) => {
                  read.push(each.id);
                  return (whole.read as NonNullable<FoundInStore["read"]>)(...given);
                },
              }
            );
          },
        };
    }
    const sessions = { ...found, lists: found.lists.map(counted) };
    const hits = (query: SearchQuery) => searchFound(sessions, query, context);
    return { hits, read, looked, ends, described };
  }

  it.each([
    ["as they were", at, 1],
    ["all the same", () => at(1000), 64],
    ["one after the other in another order", (minute: number) => at(1000 - minute), 64],
  ] as const)("reads one session for its first hit, with the times of files %s", async (_, timeOf, ahead) => {
    const { hits, read, looked, ends, described } = await restored(300, timeOf);
    const search = hits({ text: "reef", limit: 1000 });
    const first = await search.next();
    expect(first.done).toBe(false);
    // The place of a hit is printed when the next session is known to be older.
    expect([read.length, described.length, looked.length]).toEqual([1, 1, 0]);
    expect(ends.length).toBeLessThanOrEqual(ahead);
    let count = 1;
    for await (const _ of search) count++;
    expect([count, new Set(ends).size, ends.length]).toEqual([300, 300, 300]);
  });

  it("describes and reads only sessions with the words, and shows a hit after 64 more sessions", async () => {
    const { hits, read, looked, ends, described } = await restored(300, () => at(1000));
    // A hundred sessions are newer.
    const search = hits({ text: "m199", limit: 1000 });
    expect((await search.next()).value).toMatchObject({ hit: { at: at(199).toISOString() } });
    expect(looked.length).toBe(100 + 64);
    expect((await search.next()).done).toBe(true);
    expect([read.length, described.length, ends.length, looked.length]).toEqual([1, 1, 1, 299]);
  });

  it("orders sessions over a number of files, and those of one time by the names of their files", async () => {
    const newestFirst = (count: number) =>
      Array.from({ length: count }, (_, of) => at(count - 1 - of).toISOString());
    const times = async (count: number, timeOf: (minute: number) => Date) => {
      const found: string[] = [];
      for await (const { hit } of (await restored(count, timeOf)).hits({ text: "reef", limit: 1000 }))
        found.push(hit.at);
      return found;
    };
    expect(await times(40, (minute) => at(1000 - minute))).toEqual(newestFirst(40));
    // The names of these files are in the order of their entries.
    expect(await times(200, () => at(1000))).toEqual(newestFirst(200));
    const further = await times(200, (minute) => at(1000 - minute));
    expect(further).not.toEqual(newestFirst(200));
    expect(further.toSorted()).toEqual(newestFirst(200).toSorted());
    expect(await times(200, (minute) => at(1000 - minute))).toEqual(further);
  });

  it("loses no entry since a time if the newest one does not stand at the end of its file", async () => {
    const home = folder();
    const store = fileSessionStore({ dir: home, durability: "os" });
    const entry = (id: string, parentId: string | null, minute: number, content: string) => ({
      ...{ type: "message" as const, id, parentId, timestamp: at(minute).toISOString() },
      message: { ...userMessage(content), timestamp: at(minute).getTime() },
    });
    const header = {
      type: "session" as const,
      version: 3,
      id: "one",
      timestamp: at(0).toISOString(),
      cwd: "/",
    };
    const entries = [
      entry("a", null, 9, "a reef"),
      entry("b", "a", 1, "x".repeat(100_000)),
      entry("c", "b", 1, "y"),
    ];
    await (await store.adopt({ header, entries, leafId: "c" })).close();
    const words = ["search", "reef", "--dir", home, "--since", at(8).toISOString(), "--json"];
    expect((await call(words, { cwd: home })).json).toMatchObject([{ session: "one", entryId: "a" }]);
  });
});

describe("a search over sessions of other agents", () => {
  const home = folder();
  const env = {
    CLAUDE_CONFIG_DIR: join(home, "claude"),
    CODEX_HOME: join(home, "codex"),
    GEMINI_CLI_HOME: join(home, "gemini"),
    XDG_DATA_HOME: join(home, "data"),
  };
  const homes = {
    "claude-code": env.CLAUDE_CONFIG_DIR,
    codex: env.CODEX_HOME,
    gemini: join(env.GEMINI_CLI_HOME, ".gemini"),
    opencode: join(env.XDG_DATA_HOME, "opencode"),
  };

  beforeAll(() => {
    const write = (path: string, content: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    };
    const lines = (all: readonly object[]) => all.map((line) => `${JSON.stringify(line)}\n`).join("");
    const { user, reply, sessionId } = transcript;
    const main = [
      user("u1", null, "Look for the ﬁsh in the Straße."),
      reply("a1", "u1", "m1", { type: "text", text: "It is under the reef." }, { requestId: "r1" }),
      // A branch that was left.
      reply("a2", "u1", "m2", { type: "text", text: "It is in the harbour." }, { requestId: "r2" }),
    ];
    write(join(env.CLAUDE_CONFIG_DIR, transcript.mainPath), lines(main));
    const agent = { isSidechain: true, agentId: "a7" };
    const child = [
      user("s1", null, "Ask the lighthouse.", agent),
      reply("s2", "s1", "m3", { type: "text", text: "The keeper knows." }, { requestId: "r3", ...agent }),
    ];
    const subagents = transcript.mainPath.replace(/\.jsonl$/, "/subagents");
    expect(subagents).toContain(sessionId);
    write(join(env.CLAUDE_CONFIG_DIR, subagents, "agent-a7.jsonl"), lines(child));
    const codex = join(env.CODEX_HOME, "sessions", "2026", "11", "23");
    cpSync(join(root, "test/agents/codex/files/agents-0.169"), codex, { recursive: true });
    cpSync(join(root, "test/agents/gemini-cli/files/0.61.0"), homes.gemini, { recursive: true });
    const storage = join(homes.opencode, "storage");
    const time = { created: 1_700_000_000_000, updated: 1_700_000_001_000 };
    write(
      join(storage, "session", "p", "ses_1.json"),
      JSON.stringify({ id: "ses_1", directory: "/p", title: "Tally", version: "1.1.65", time }),
    );
    const info = {
      id: "msg_1",
      sessionID: "ses_1",
      role: "user",
      time,
      agent: "build",
      model: { providerID: "p", modelID: "m" },
    };
    write(join(storage, "message", "ses_1", "msg_1.json"), JSON.stringify(info));
    const parts = [
      { type: "text", text: "Where is the anchor?" },
      { type: "subtask", prompt: "p", description: "d", agent: "a" },
      { type: "file", mime: "image/x", filename: "net.x", url: "" },
      { type: "file", filename: "buoy", url: "" },
    ];
    const answer = {
      id: "msg_2",
      sessionID: "ses_1",
      role: "assistant",
      time,
      providerID: "p",
      modelID: "m",
    };
    write(join(storage, "message", "ses_1", "msg_2.json"), JSON.stringify(answer));
    const times = { start: time.created, end: time.created, compacted: time.updated };
    const state = { status: "completed", input: { at: "quay" }, output: "a net", time: times };
    const stored = [
      ...parts.map((part) => ["msg_1", part] as const),
      ["msg_2", { type: "tool", callID: "c1", tool: "read", state }] as const,
    ];
    for (const [at, [messageID, part]] of stored.entries()) {
      const place = { id: `prt_${at}`, messageID, sessionID: "ses_1" };
      write(join(storage, "part", messageID, `prt_${at}.json`), JSON.stringify({ ...place, ...part }));
    }
  });

  /** The hits in each session and its subagents that are not listed, adopted into a store. */
  async function expected(query: SearchQuery): Promise<readonly object[]> {
    const hits: object[] = [];
    const all: FoundSession[] = [];
    for await (const found of findSessions({ agents: Object.keys(homes) as (keyof typeof homes)[], homes }))
      all.push(found);
    const ids = new Set(all.map(({ id }) => id));
    for (const found of all) {
      const blobs = memoryBlobStore();
      const from = await Promise.all(Object.values(formats).map((load) => load()));
      const several = found.paths.length > 1 ? { session: found.id } : {};
      const imported = await importSession(await sessionFiles(found), {
        from,
        blobs,
        keep: "none",
        ...several,
      });
      const store = memorySessionStore({ blobs });
      const children = imported.children.filter(({ header }) => !ids.has(header.id));
      for (const each of [imported, ...children]) await (await store.adopt(each)).close();
      for (const { entryId, role, at, snippet } of await hitsOf(store, query))
        hits.push({ agent: found.format, session: found.id, entryId, role, at, snippet });
    }
    return hits;
  }

  const texts = [
    "fish",
    "STRASSE",
    "keeper",
    "lighthouse",
    "anchor",
    "harbour",
    "reef",
    "the",
    "tool executed",
    "w",
    '"is in"',
    "base64",
    "attached",
    "octet",
    "cleared",
  ];
  it.each(texts)("finds what a search over the adopted imports finds: %s", async (text) => {
    for (const branch of ["path", "all"] as const) {
      const { json, stderr } = await call(["search", text, "--branch", branch, "--json", "-n", "1000"], {
        cwd: home,
        env,
      });
      expect(stderr).toBe("");
      const hits = json.map(({ path: _, ...hit }) => hit);
      // A subagent of Codex is a session of its own in the list, too.
      expect(hits).toHaveLength(new Set(hits.map(({ agent, entryId }) => `${agent} ${entryId}`)).size);
      const sorted = (all: readonly object[]) => all.map((hit) => JSON.stringify(hit)).sort();
      expect(sorted(hits)).toEqual(sorted(await expected({ text, branch, limit: 1000 })));
      const found = {
        fish: 1,
        keeper: 1,
        anchor: 1,
        reef: branch === "all" ? 1 : 0,
        harbour: 1,
        base64: 0,
        "tool executed": 1,
        attached: 1,
        octet: 1,
        cleared: 1,
      };
      if (text in found) expect(hits.length).toBe(found[text as keyof typeof found]);
    }
  });

  it("finds the words of subagents beside their sessions, as Claude Code before 2.1 has them", async () => {
    const dir = folder();
    const write = (name: string, sessionId: string, content: string) => {
      const record = { ...transcript.user("u1", null, content), sessionId, cwd: "/work" };
      writeFileSync(join(dir, "projects", "-work", name), `${JSON.stringify(record)}\n`);
    };
    mkdirSync(join(dir, "projects", "-work"), { recursive: true });
    write("one.jsonl", "one", "a jetty");
    write("two.jsonl", "two", "a pier");
    write("agent-1.jsonl", "one", "a wharf");
    write("agent-2.jsonl", "gone", "a wharf");
    const words = ["search", "wharf", "--agent", "claude-code", "--dir", dir, "--json"];
    const { json } = await call(words, { cwd: dir });
    expect(json.map((hit: { session: string }) => hit.session).sort()).toEqual(["agent-2", "one"]);
  });

  it("looks into the file that has the history of a fork of Codex", async () => {
    const dir = folder();
    const [one, two] = ["01a20441-9012-7760-80b3-e151aff74d18", "01a20442-2dc1-77d3-98b2-f954fad0d017"];
    mkdirSync(join(dir, "sessions"));
    for (const [id, more] of [
      [one, {}],
      [two, { forked_from_id: one }],
    ] as const) {
      const timestamp = "2026-11-22T17:16:15.706Z";
      const meta = { timestamp, type: "session_meta", payload: { id, timestamp, cwd: "/work", ...more } };
      writeFileSync(
        join(dir, "sessions", `rollout-2026-11-22T17-16-15-${id}.jsonl`),
        `${JSON.stringify(meta)}\n`,
      );
    }
    const context = {
      ...{ cwd: dir, env: {}, signal: new AbortController().signal, now: Date.now },
      out: { progress: () => undefined, skip: expect.unreachable, warn: expect.unreachable },
    } as unknown as CommandContext;
    const parsed = { positionals: [], options: { dir, agent: "codex" } } as unknown as Parsed;
    const { lists } = await searchedSessions(parsed, context, { agent: "codex" });
    const ids: (readonly string[] | undefined)[] = [];
    for await (const each of lists[0] as AsyncIterable<FoundInStore>)
      ids.push((await each.currentFiles?.())?.map((path) => path.slice(-42, -6)));
    expect(ids).toEqual([[two, one], [one]]);
  });

  it("names the entries as show does", async () => {
    const [{ session, entryId }] = (await call(["search", "anchor", "--json"], { cwd: home, env })).json;
    expect((await call(["show", session, "--entry", entryId], { cwd: home, env })).stdout).toContain(
      "Where is the anchor?",
    );
  });
});
