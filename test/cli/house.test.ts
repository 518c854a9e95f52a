import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandContext, Parsed } from "../../src/cli/command.js";
import { House } from "../../src/cli/house.js";
import { namedSessions } from "../../src/cli/sources.js";
import { reply, text, user } from "../agents/claude-code/transcript.js";

/** Searches that begin now wait for it. */
const searches: { end: Promise<void> | undefined } = { end: undefined };
const find: typeof namedSessions = async (...of) => {
  await searches.end;
  return await namedSessions(...of);
};

const now = Date.parse("2026-11-29T12:00:00.000Z");
const ids = [1, 2, 3].map((digit) => `${digit}a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f`);

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "sessile-house-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Writes a session of Claude Code with its last change at a time. */
function write(id = "", words: string, daysAgo: number): void {
  const dir = join(home, "projects", "-work");
  mkdirSync(dir, { recursive: true });
  const lines = [user("u1", null, words), reply("a1", "u1", `m-${id}`, text(`Done: ${words}.`))];
  const timestamp = new Date(now - daysAgo * 86_400_000).toISOString();
  const path = join(dir, `${id}.jsonl`);
  writeFileSync(
    path,
    lines.map((line) => `${JSON.stringify({ ...line, sessionId: id, timestamp })}\n`).join(""),
  );
  utimesSync(path, new Date(timestamp), new Date(timestamp));
}

function open() {
  let clock = now;
  const told = vi.fn();
  const out = { warn: told, note: told, skip: told, progress() {}, clean: String };
  const parsed: Parsed = { positionals: [], options: { agent: "claude-code", dir: home } };
  const context = {
    ...{ out, cwd: home, env: {}, commands: [], signal: new AbortController().signal },
    now: () => clock,
  } as unknown as CommandContext;
  const wait = (ms: number) => {
    clock += ms;
  };
  const house = new House(parsed, context, find);
  /** All of the sessions, however the file system orders its answers. */
  const whole = async () => {
    await vi.waitFor(async () => expect((await house.list(0)).isWhole).toBe(true), { timeout: 20_000 });
    return house.list(0);
  };
  return { house, wait, whole, told };
}

describe("the sessions of all agents", () => {
  it("come with the newest ones first, and then only what changed", async () => {
    write(ids[0], "fix the parser", 0);
    write(ids[1], "an older one", 30);
    const { house, whole, wait } = open();
    const first = await house.list(0);
    expect(first.sessions.map(({ id }) => id)).toContain(ids[0]);
    const all = await whole();
    expect(all.sessions.map(({ id, title, cwd }) => [id, title, cwd])).toEqual([
      [ids[0], "fix the parser", "/work"],
      [ids[1], "an older one", "/work"],
    ]);
    expect(all.now).toBe(now);
    expect((await house.list(all.version)).sessions).toEqual([]);
    write(ids[2], "a new one", -1 / 86_400);
    // The files are listed again after a while.
    expect((await house.list(all.version)).sessions).toEqual([]);
    wait(10_000);
    const later = await house.list(all.version);
    expect(later.sessions.map(({ id }) => id)).toEqual([ids[2]]);
    const [key = ""] = later.sessions.map(({ key }) => key);
    expect(key).toMatch(/^[0-9a-f]{16}$/);
    expect(house.session(key)?.id).toBe(ids[2]);
    expect(house.session("0".repeat(16))).toBeUndefined();
  });

  it("leave the list with their files, and are there again with them", async () => {
    write(ids[0], "fix the parser", 0);
    write(ids[1], "an older one", 30);
    const { house, whole, wait } = open();
    const { version, sessions } = await whole();
    const key = sessions.find(({ id }) => id === ids[1])?.key ?? "";
    const path = join(home, "projects", "-work", `${ids[1]}.jsonl`);
    renameSync(path, `${path}.away`);
    wait(10_000);
    const gone = await house.list(version);
    expect([gone.sessions, gone.gone, house.session(key)]).toEqual([[], [key], undefined]);
    expect((await house.list(gone.version)).gone).toEqual([]);
    const found = [];
    for await (const hit of house.search("older", new AbortController().signal)) found.push(hit);
    expect(found).toEqual([]);
    renameSync(`${path}.away`, path);
    wait(10_000);
    const again = await house.list(gone.version);
    expect([again.sessions.map(({ id }) => id), again.gone]).toEqual([[ids[1]], []]);
    expect(house.session(key)?.id).toBe(ids[1]);
  });

  it("reach a page that asks between the ends of two searches for changes", async () => {
    write(ids[0], "fix the parser", 0);
    const { house, whole, wait } = open();
    const { version } = await whole();
    write(ids[1], "one", -1 / 8640);
    wait(10_000);
    const first = house.list(version);
    write(ids[2], "two", -2 / 8640);
    wait(10_000);
    let goOn = () => {};
    searches.end = new Promise<void>((done) => {
      goOn = done;
    });
    const second = house.list(version);
    searches.end = undefined;
    const seen = await first;
    write(ids[2], "two again", -2 / 8640);
    goOn();
    await second;
    const later = await house.list(seen.version);
    expect([...seen.sessions, ...later.sessions].map(({ id }) => id)).toContain(ids[2]);
    expect(later.version).toBeGreaterThan(seen.version);
  });

  it("have a key that is the same in the next run, and a command that a shell takes as one", async () => {
    write(ids[0], "fix the parser", 0);
    const path = join(home, "projects", "-work", `${ids[1]}.jsonl`);
    const cwd = "/work/it's; rm -rf\n~";
    writeFileSync(path, `${JSON.stringify({ ...user("u1", null, "odd"), sessionId: ids[1], cwd })}\n`);
    // An agent would take this id for an option.
    write("--yolo", "odd", 0);
    const [one, other] = [await open().whole(), await open().whole()];
    expect(one.sessions.map(({ key }) => key).sort()).toEqual(other.sessions.map(({ key }) => key).sort());
    const resume = new Map(one.sessions.map(({ id, resume }) => [id, resume]));
    expect([resume.has("--yolo"), resume.get("--yolo")]).toEqual([true, undefined]);
    expect(resume.get(ids[0] ?? "")).toBe(`cd /work && claude --resume ${ids[0]}`);
    expect(resume.get(ids[1] ?? "")).toBe(`cd '/work/it'\\''s; rm -rf?~' && claude --resume ${ids[1]}`);
  });

  it("are searched, with an answer to words that find nothing", async () => {
    write(ids[0], "fix the parser", 0);
    write(ids[1], "look at the parser", 30);
    const { house, whole, told } = open();
    const { sessions } = await whole();
    const search = async (words: string) => {
      const hits = [];
      for await (const hit of house.search(words, new AbortController().signal)) hits.push(hit);
      return hits;
    };
    const keys = new Map(sessions.map(({ key, id }) => [key, id]));
    const hits = await search("parser look");
    expect(hits.map((hit) => ("key" in hit ? [keys.get(hit.key), hit.role, hit.snippet] : hit))).toEqual([
      [ids[1], "assistant", "Done: look at the parser."],
      [ids[1], "user", "look at the parser"],
    ]);
    expect(await search("nowhere")).toEqual([]);
    for (const words of ["", "..."])
      expect(await search(words)).toEqual([{ problem: expect.stringMatching(/^expected /) }]);
    expect(told).not.toHaveBeenCalled();
  });

  it("have their costs summed by day and model, each call once", async () => {
    write(ids[0], "fix the parser", 0);
    write(ids[1], "an older one", 30);
    const { house } = open();
    house.costs();
    await vi.waitFor(() => expect(house.costs()).toMatchObject({ done: 2, total: 2 }), { timeout: 20_000 });
    const { groups } = house.costs();
    expect(groups.map(({ day, model, calls, tokens }) => [day, model, calls, tokens])).toEqual([
      ["2026-10-30", "claude-opus-5-5", 1, 16],
      ["2026-11-29", "claude-opus-5-5", 1, 16],
    ]);
    expect(groups.every(({ cost }) => cost > 0)).toBe(true);
  });
});
