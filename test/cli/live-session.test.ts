import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import type { CommandContext, Parsed } from "../../src/cli/command.js";
import { LiveSession } from "../../src/cli/commands/serve.js";
import { newestSession, readNewest, readViewed } from "../../src/cli/commands/view.js";
import type { NamedSession } from "../../src/cli/named-session.js";
import { foreignFile } from "../../src/cli/sources.js";
import { keyedSources, viewerEvents } from "../../src/viewer/internal.js";
import { SessionModels } from "../../src/viewer/model/session-model.js";
import type { PageUpdate } from "../../src/viewer/page-data.js";
import { reply, result, sessionId, text, user } from "../agents/claude-code/transcript.js";

let dir: string;
let clock = 0;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-live-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const parsed: Parsed = { positionals: [], options: {} };
const context = {
  signal: new AbortController().signal,
  cwd: "/",
  env: {},
  out: { warn() {}, note() {}, skip() {}, progress() {}, clean: String },
  now: () => 0,
} as unknown as CommandContext;

function follow(path: string) {
  const live = new LiveSession({
    locate: async () =>
      (await foreignFile(path, context)) ?? ({ agent: "sessile", path } as unknown as NamedSession),
    read: (named) => readViewed(named, parsed, context),
    // Subagents in other places are looked for with every call.
    now: () => (clock += 60_000),
  });
  // A page, which takes every event.
  let models: SessionModels | undefined;
  let version = 0;
  return {
    live,
    async poll(): Promise<SessionModels> {
      const { source } = await live.read();
      if (models === undefined) {
        const keyed = keyedSources(source);
        models = new SessionModels(
          keyed.map(({ key, source: { leafId } }) => ({
            key,
            leafId,
            diagnostics: { total: 0, listed: [] },
          })),
          (index) => keyed[index]?.source.entries ?? [],
        );
        for (const key of models.keys) models.get(key);
      } else {
        for await (const event of viewerEvents(live.changes(version), { version: live.version })) {
          const update: PageUpdate = JSON.parse(event.split("data: ")[1] ?? "");
          for (const session of update.sessions) models.update(session);
        }
      }
      version = live.version;
      // The page always has what a new page would have.
      const now = keyedSources(source);
      expect(models.keys).toEqual(now.map(({ key }) => key));
      for (const { key, source: each } of now) {
        const entries: unknown = JSON.parse(JSON.stringify(each.entries));
        expect(JSON.parse(JSON.stringify(models.get(key).entries))).toEqual(entries);
        expect(models.get(key).leafId).toBe(each.leafId);
      }
      return models;
    },
  };
}

/**
 * Grows a file line by line: a line that is half written is not there yet. The page is away for two of three
 * changes.
 */
async function grow(
  path: string,
  lines: readonly string[],
  { live, poll }: ReturnType<typeof follow>,
): Promise<void> {
  const whole = existsSync(path) ? readFileSync(path, "utf8") : "";
  for (let at = 0; at < lines.length; at++) {
    const before = `${whole}${lines.slice(0, at).join("")}`;
    const line = lines[at] ?? "";
    for (const part of [line.slice(0, line.length / 2), line]) {
      writeFileSync(path, before + part);
      if (at % 3 === 2) await poll();
      else await live.read();
    }
  }
}

const linesOf = (lines: readonly object[]) => lines.map((each) => `${JSON.stringify(each)}\n`);

describe("the first screen", () => {
  async function sessionOf(turns: number, length: number) {
    const sessions = fileSessionStore({ dir });
    await using session = await sessions.create({ cwd: "/" });
    for (let at = 0; at < turns; at++) {
      const before = session.leafId;
      await session.appendMessage(userMessage(`question ${at} ${"x".repeat(length)}`));
      // A branch that was left.
      if (at === turns - 2) await session.branch(before);
    }
    return { file: session.location ?? "", path: await session.path(), leafId: session.leafId };
  }

  it("of a long session is the end of its path, from the file as from memory", async () => {
    const { file, path, leafId } = await sessionOf(40, 100_000);
    const newest = await readNewest(file);
    expect(newest).toMatchObject({ isPart: true, leafId, header: { type: "session", cwd: "/" } });
    expect(JSON.stringify(newest?.entries).length).toBeLessThan(600_000);
    expect(newest?.entries).toEqual(path.slice(-(newest?.entries.length ?? 0)));
    const { source } = await readViewed({ path: file } as NamedSession, parsed, context);
    expect(await newestSession(source)).toEqual(newest);
  });

  it("of a short session is the session", async () => {
    const { file } = await sessionOf(4, 1000);
    expect(await readNewest(file)).toBeUndefined();
    const { source } = await readViewed({ path: file } as NamedSession, parsed, context);
    expect(await newestSession(source)).toBeUndefined();
  });

  it("of a file without a header is left to those who read it in whole", async () => {
    const file = join(dir, "other.jsonl");
    writeFileSync(file, "no session\n".repeat(200_000));
    expect(await readNewest(file)).toBeUndefined();
  });

  it("ends where parents close a cycle", async () => {
    const entry = (id: string, parentId: string | null, length: number) =>
      ({ type: "message", id, parentId, timestamp: "", message: userMessage("x".repeat(length)) }) as const;
    const entries = [entry("beside", null, 1_200_000), entry("a", "b", 10), entry("b", "a", 10)];
    const newest = await newestSession({ header: undefined, entries, leafId: "b" });
    expect(newest?.entries.map(({ id }) => id)).toEqual(["a", "b"]);
  });
});

describe("a live session", () => {
  it("of Claude Code grows by blocks of a reply, and by subagents before their results", async () => {
    const path = join(dir, `${sessionId}.jsonl`);
    writeFileSync(path, linesOf([user("u1", null, "hello")]).join(""));
    const page = follow(path);
    const { poll, live } = page;
    await poll();
    const task = { type: "tool_use", id: "c1", name: "Task", input: { prompt: "say hi" } };
    await grow(path, linesOf([reply("a1", "u1", "m1", text("I ask."))]), page);
    const said = (models: SessionModels) =>
      models.get(models.main).entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    expect(said(await poll())).toHaveLength(2);
    await grow(path, linesOf([reply("a2", "a1", "m1", task)]), page);
    // The reply is the same one, with a block more.
    expect(said(await poll())).toMatchObject([{}, { content: [{ text: "I ask." }, { id: "c1" }] }]);
    const agent = join(dir, sessionId, "subagents", "agent-b1.jsonl");
    mkdirSync(dirname(agent), { recursive: true });
    const side = { isSidechain: true, agentId: "b1" };
    const inside = [user("s1", null, "say hi", side), { ...reply("s2", "s1", "m9", text("hi")), ...side }];
    await grow(agent, linesOf(inside), page);
    const begun = await poll();
    expect(begun.keys).toEqual([sessionId, `${sessionId}.agent-b1`]);
    expect(begun.get(`${sessionId}.agent-b1`).facts.messages).toBe(2);
    const answer = user("r1", "a2", [result("c1", "hi")], { toolUseResult: { agentId: "b1" } });
    await grow(path, linesOf([answer, reply("a3", "r1", "m2", text("done"))]), page);
    const done = await poll();
    expect(said(done)).toHaveLength(4);
    expect(done.startedBy(done.get(done.main), "c1")).toEqual([
      { id: `${sessionId}.agent-b1`, key: `${sessionId}.agent-b1` },
    ]);
    const { version } = live;
    await poll();
    expect(live.version).toBe(version);
  });

  it("of Codex grows with its subagent, whose rollout is another file of the home", async () => {
    const files = join(root, "test/agents/codex/files/agents-0.169");
    const day = join(dir, "sessions", "2026", "11", "23");
    mkdirSync(day, { recursive: true });
    const names = readdirSync(files).sort();
    const main = names.find((name) => !name.includes("20a3-7991") && !name.includes("_")) ?? "";
    writeFileSync(join(day, main), "");
    const lines = (name: string) => readFileSync(join(files, name), "utf8").split(/(?<=\n)/);
    const [head = "", ...rest] = lines(main);
    writeFileSync(join(day, main), head);
    const page = follow(join(day, main));
    const { poll } = page;
    await poll();
    for (const name of names.filter((each) => each !== main)) cpSync(join(files, name), join(day, name));
    await grow(join(day, main), rest, page);
    const models = await poll();
    expect(models.keys).toHaveLength(2);
    const [, child = ""] = models.keys;
    expect(models.startByKey(child)?.entryId).toBeDefined();
    expect(models.get(child).facts.messages).toBeGreaterThan(0);
  });

  it("of this library has the sessions of its subagents, which are files beside it", async () => {
    const sessions = fileSessionStore({ dir });
    const main = await sessions.create({ cwd: "/work" });
    await main.appendMessage({ role: "user", content: "go", timestamp: 1 });
    const path = main.location ?? "";
    const { poll } = follow(path);
    expect((await poll()).keys).toEqual([main.id]);
    const id = "subagent-1";
    const data = { toolCallId: "c1", sessionId: id };
    await main.append([{ type: "custom", customType: "sessile.subagent", data }]);
    expect((await poll()).keys).toEqual([main.id]);
    const child = await sessions.create({ id, cwd: "/work", parentSession: main.id });
    await child.appendMessage({ role: "user", content: "look closer", timestamp: 1 });
    expect((await poll()).keys).toEqual([main.id, child.id]);
    await child.appendMessage({ role: "user", content: "closer still", timestamp: 1 });
    const models = await poll();
    expect(models.get(child.id).facts.messages).toBe(2);
    await Promise.all([main.close(), child.close()]);
  });
});
