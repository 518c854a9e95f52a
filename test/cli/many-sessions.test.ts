/** Lists and names over many files: what is shown or named is described, and no other file. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { claudeAgent } from "../../src/agents/claude-code/agent.js";
import { codexAgent } from "../../src/agents/codex/agent.js";
import { commands } from "../../src/cli/commands/index.js";
import { runProgram } from "../../src/cli/program.js";
import * as transcript from "../agents/claude-code/transcript.js";
import { call } from "./call.js";

const folders: string[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});
function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "sessile-many-")));
  folders.push(made);
  return made;
}

const idAt = (number: number) => `${String(number).padStart(8, "0")}-0000-4000-8000-000000000000`;

/** A home of Claude Code with sessions of one time, in two projects. */
function claudeHome(count: number): string {
  const dir = folder();
  for (let number = 0; number < count; number++) {
    const project = `project${number % 2}`;
    const path = join(dir, "projects", `-work-${project}`, `${idAt(number)}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    const record = { ...transcript.user("u1", null, `reef ${number}`), cwd: `/work/${project}` };
    writeFileSync(path, `${JSON.stringify({ ...record, sessionId: idAt(number) })}\n`);
    utimesSync(path, 1_760_000_000, 1_760_000_000);
  }
  return dir;
}

const rolloutAt = (number: number) => `rollout-2026-11-22T17-16-15-${idAt(number)}.jsonl`;
function writeRollout(dir: string, name: string, meta: object): void {
  const timestamp = "2026-11-22T17:16:15.706Z";
  const payload = { timestamp, cwd: "/work", ...meta };
  const said = { type: "user_message", message: `reef ${name}` };
  const lines = [
    { timestamp, type: "session_meta", payload },
    { timestamp, type: "event_msg", payload: said },
  ];
  mkdirSync(join(dir, "sessions"), { recursive: true });
  writeFileSync(join(dir, "sessions", name), lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
}

/** The ids in the names of the files that were described, each once, the greatest first. */
function describedBy(agent: { describe: typeof claudeAgent.describe }) {
  const spy = vi.spyOn(agent, "describe");
  return () =>
    [...new Set(spy.mock.calls.map(([path]) => Number(path.slice(-42, -34))))].sort((a, b) => b - a);
}

describe("ls over many files", () => {
  it("describes those that it shows, of one time the last names first", async () => {
    const dir = claudeHome(60);
    const described = describedBy(claudeAgent);
    const words = ["ls", "--agent", "claude-code", "--dir", dir, "-n", "3"];
    const { json } = await call([...words, "--json"], { cwd: dir });
    expect(json.map(({ id, title, turns }) => [id, title, turns])).toEqual(
      [59, 58, 57].map((number) => [idAt(number), `reef ${number}`, 1]),
    );
    expect(described()).toEqual([59, 58, 57]);
    const { stdout } = await call([...words, "--since", "2026-01-01"], { cwd: dir });
    expect([stdout, described()]).toEqual(["", [59, 58, 57]]);
  });

  it.each([
    ["in a table", []],
    ["as JSON", ["--json"]],
  ] as const)("prints the first rows before it reads the others, %s", async (_, words) => {
    const dir = claudeHome(60);
    const described = describedBy(claudeAgent);
    const writes: (readonly [rows: number, described: number])[] = [];
    let text = "";
    const stdout = {
      write(written: string, done?: () => void) {
        text += written;
        writes.push([written.split("\n").length - 1, described().length]);
        done?.();
        return true;
      },
    };
    const code = await runProgram(
      { version: "0", commands },
      ["ls", "--agent", "claude-code", "--dir", dir, ...words],
      {
        ...{ stdout, stderr: { write: () => true }, env: {}, cwd: dir, now: Date.now },
        signal: new AbortController().signal,
      },
    );
    expect([code, writes[0]?.[1], writes.at(-1)?.[1]]).toEqual([0, 20, 60]);
    const lines = text.trimEnd().split("\n");
    expect(lines.length).toBe(words.length > 0 ? 60 : 61);
    if (words.length > 0) return;
    // The blocks are one table.
    expect(new Set(lines.map((line) => line.search(/title$|reef /))).size).toBe(1);
  });

  it("reaches the number behind files that are no sessions of the project", async () => {
    const dir = claudeHome(60);
    const words = ["ls", "--agent", "claude-code", "--dir", dir, "--cwd", "/work/project0", "-n", "25"];
    const { json } = await call([...words, "--json"], { cwd: dir });
    expect(json.map(({ cwd }) => cwd)).toEqual(Array(25).fill("/work/project0"));
  });

  it("lists the newest of files whose content has one id", async () => {
    const dir = folder();
    for (const number of [1, 2]) writeRollout(dir, rolloutAt(number), { id: idAt(7) });
    const { json } = await call(["ls", "--agent", "codex", "--dir", dir, "--json"], { cwd: dir });
    expect(json.map(({ id, path }) => [id, path])).toEqual([[idAt(7), join(dir, "sessions", rolloutAt(2))]]);
  });
});

describe("the name of one of many sessions", () => {
  const named = async (agent: string, dir: string, name: string) =>
    await call(["show", name, "--agent", agent, "--dir", dir], { cwd: dir });

  it("describes the session alone", async () => {
    const dir = claudeHome(60);
    const described = describedBy(claudeAgent);
    expect((await named("claude-code", dir, "latest")).stdout).toContain("reef 59");
    expect(described()).toEqual([59]);
    expect((await named("claude-code", dir, idAt(7).slice(0, 8))).stdout).toContain("reef 7");
    expect(described()).toEqual([59, 7]);
    // Of several files the names are enough.
    expect((await named("claude-code", dir, "0000")).stderr).toContain("0000 names 60 sessions: claude-code");
    expect((await named("claude-code", dir, "1111")).stderr).toContain("no session has the id 1111");
    expect(described()).toEqual([59, 7]);
  });

  it("has the sessions that it started, and those of Codex that are named otherwise than their files", async () => {
    const dir = folder();
    for (let number = 0; number < 30; number++) {
      const parent = { subagent: { thread_spawn: { parent_thread_id: idAt(number - 1), depth: 1 } } };
      writeRollout(dir, rolloutAt(number), {
        id: idAt(number),
        ...(number === 11 || number === 12 ? { source: parent } : {}),
      });
    }
    writeRollout(dir, rolloutAt(40), { id: idAt(50) });
    const described = describedBy(codexAgent);
    const files = async (name: string) => {
      const { stdout } = await call(["stats", name, "--agent", "codex", "--dir", dir, "--json"], {
        cwd: dir,
      });
      return stdout;
    };
    expect(await files(idAt(10).slice(0, 8))).not.toBe("");
    expect(described()).toEqual([12, 11, 10]);
    expect((await named("codex", dir, idAt(50).slice(0, 8))).stdout).toContain(rolloutAt(40));
    expect(described()).not.toContain(20);
    // The same by the path of the file.
    const path = join(dir, "sessions", rolloutAt(10));
    vi.restoreAllMocks();
    const ofPath = describedBy(codexAgent);
    expect((await call(["show", path], { cwd: dir })).code).toBe(0);
    expect(ofPath()).toEqual([12, 11, 10]);
  });
});

describe("the completion of a session", () => {
  it("describes as many as it offers", async () => {
    const dir = claudeHome(150);
    const described = describedBy(claudeAgent);
    const words = ["completion", "zsh", "--", "sessile", "show", "--agent", "claude-code", "--dir", dir, ""];
    const { stdout } = await call(
      words.filter((word) => word !== "sessile"),
      { cwd: dir },
    );
    const offered = stdout.split("\n").filter((line) => line.includes("-0000-4000-")).length;
    expect(offered).toBeGreaterThan(0);
    expect(described().length).toBe(offered);
  });
});
