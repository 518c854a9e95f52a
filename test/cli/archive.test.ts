import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { claudeAgent } from "../../src/agents/claude-code/agent.js";
import type { CommandContext, Parsed } from "../../src/cli/command.js";
import { bodies } from "../../src/cli/commands/archive.js";
import * as transcript from "../agents/claude-code/transcript.js";
import { call } from "./call.js";

let dir = "";
const homes = () => ({
  HOME: dir,
  CLAUDE_CONFIG_DIR: join(dir, "claude"),
  CODEX_HOME: join(dir, "codex"),
  PI_CODING_AGENT_DIR: join(dir, "pi"),
});
const run = (...words: string[]) => call(words, { cwd: dir, env: homes() });
const { user, reply, text, sessionId, mainPath } = transcript;
const lines = (records: readonly object[]) => records.map((each) => `${JSON.stringify(each)}\n`).join("");
const modified = new Date("2026-11-21T12:00:00.000Z");
const main = () => join(dir, "claude", mainPath);
const subagent = () => join(main().replace(/\.jsonl$/, ""), "subagents", "agent-a1.jsonl");

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, modified, modified);
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-archive-"));
  write(
    main(),
    lines([{ ...user("u1", null, "Keep me."), cwd: dir }, reply("a1", "u1", "m1", text("I stay."))]),
  );
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const index = () => join(dir, ".sessile", "archive.json");
const readIndex = () => JSON.parse(readFileSync(index(), "utf8"));
const otherId = "1a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";

/** A run of the archive with a step of another program at the first session. */
async function archiveWhile(step: () => void, positionals: readonly string[] = []) {
  let isDone = false;
  const values: { readonly archived: readonly string[]; readonly failed: number }[] = [];
  const out = {
    ...{ json: true, partial: false, value: async (value: never) => values.push(value) },
    skip() {
      this.partial = true;
    },
    warn() {},
    progress(text: () => string) {
      if (isDone || !text().endsWith(positionals.length === 0 ? "unchanged" : "changed sessions")) return;
      isDone = true;
      step();
    },
  };
  const context = { out, signal: new AbortController().signal, env: { HOME: dir }, cwd: dir, now: Date.now };
  vi.stubEnv("CLAUDE_CONFIG_DIR", homes().CLAUDE_CONFIG_DIR);
  vi.stubEnv("CODEX_HOME", homes().CODEX_HOME);
  vi.stubEnv("PI_CODING_AGENT_DIR", homes().PI_CODING_AGENT_DIR);
  vi.stubEnv("HOME", dir);
  try {
    await bodies.archive.run({ positionals, options: {} } as Parsed, context as unknown as CommandContext);
  } finally {
    vi.unstubAllEnvs();
  }
  return values[0];
}

describe("archive", () => {
  it("keeps sessions with their times, and a further run does what changed", async () => {
    const first = await run("archive", "--json");
    expect([first.code, first.json[0]]).toEqual([
      0,
      { dir: join(dir, ".sessile"), archived: [`claude-code ${sessionId}`], failed: 0, total: 1 },
    ]);
    const store = join(dir, ".sessile", "sessions");
    const [listed] = (await run("ls", store, "--json")).json;
    expect(listed).toMatchObject({ agent: "sessile", modified: modified.toISOString() });
    expect((await run("archive", "--json")).json[0].archived).toEqual([]);
    appendFileSync(main(), lines([user("u2", "a1", "A word more.")]));
    expect((await run("archive", "--json")).json[0].archived.length).toBe(1);
    expect((await run("ls", store, "--json")).json).toMatchObject([{ turns: 2 }]);
    expect((await run("search", "word more", "--dir", store, "--json")).json.length).toBe(1);
  });

  it("sees a subagent that went on alone", async () => {
    write(subagent(), lines([{ ...user("s1", null, "Look."), isSidechain: true, agentId: "a1" }]));
    await run("archive");
    appendFileSync(
      subagent(),
      lines([{ ...user("s2", "s1", "Look again."), isSidechain: true, agentId: "a1" }]),
    );
    expect((await run("archive", "--json")).json[0].archived.length).toBe(1);
    expect((await run("archive", "--json")).json[0].archived.length).toBe(0);
  });

  it("reads what may have changed: a session, that of a new subagent, one whose copy is gone", async () => {
    const other = main().replace(sessionId, otherId);
    write(other, lines([{ ...user("u1", null, "Other."), sessionId: otherId }]));
    await run("archive");
    const described = vi.spyOn(claudeAgent, "describe");
    const changed = async (change: () => void) => {
      change();
      described.mockClear();
      const status = await run("archive", "status", "--json");
      const { archived } = (await run("archive", "--json")).json[0];
      const ids = new Set(described.mock.calls.map(([path]) => basename(path, ".jsonl")));
      return [status.json[0].waiting, archived, [...ids]];
    };
    const [key, otherKey] = [sessionId, otherId].map((id) => `claude-code ${id}`);
    try {
      expect(await changed(() => undefined)).toEqual([[], [], []]);
      const more = lines([user("u2", "u1", "A word more.")]);
      expect(await changed(() => appendFileSync(other, more))).toEqual([[otherKey], [otherKey], [otherId]]);
      const asked = lines([{ ...user("s1", null, "Look."), isSidechain: true, agentId: "a1" }]);
      expect(await changed(() => write(subagent(), asked))).toEqual([[key], [key], [sessionId]]);
      const beside = join(dirname(main()), "agent-b2.jsonl");
      const part = await changed(() => write(beside, lines([{ ...user("s1", null, "Look."), sessionId }])));
      expect(part).toEqual([[key], [key], ["agent-b2", sessionId]]);
      const { file } = readIndex().sessions[otherKey ?? ""];
      const [, archived] = await changed(() => {
        rmSync(join(dir, ".sessile", file));
        appendFileSync(main(), more);
      });
      expect(archived.sort()).toEqual([key, otherKey].sort());
    } finally {
      described.mockRestore();
    }
  });

  it("reads a session of Codex again with a new one that it started", async () => {
    const idAt = (number: number) => `01a2077b-20a3-7991-a7e1-5e437c938e2${number}`;
    const rollout = (number: number, more: object) => {
      const timestamp = "2026-11-22T17:16:15.706Z";
      const payload = { id: idAt(number), timestamp, cwd: "/work", ...more };
      const said = { type: "user_message", message: "Look." };
      write(
        join(dir, "codex", "sessions", `rollout-2026-11-22T17-16-15-${idAt(number)}.jsonl`),
        lines([
          { timestamp, type: "session_meta", payload },
          { timestamp, type: "event_msg", payload: said },
        ]),
      );
    };
    for (const number of [1, 2]) rollout(number, {});
    await run("archive");
    rollout(3, { source: { subagent: { thread_spawn: { parent_thread_id: idAt(1), depth: 1 } } } });
    const { archived } = (await run("archive", "--json")).json[0];
    expect(archived.sort()).toEqual([1, 3].map((number) => `codex ${idAt(number)}`));
    expect((await run("archive", "status", "--json")).json[0].waiting).toEqual([]);
  });

  it("writes nothing into the home of an agent", async () => {
    const before = [readFileSync(main(), "utf8"), statSync(main()).mtimeMs];
    await run("archive");
    expect([readFileSync(main(), "utf8"), statSync(main()).mtimeMs]).toEqual(before);
  });

  it("keeps the longer copy of a file that an agent cut", async () => {
    await run("archive");
    const whole = readFileSync(main(), "utf8");
    truncateSync(main(), whole.indexOf("\n") + 1);
    await run("archive");
    const copy = join(dir, ".sessile", "originals", "claude-code", mainPath);
    expect(readFileSync(copy, "utf8")).toBe(readFileSync(main(), "utf8"));
    expect(readFileSync(`${copy}.${modified.getTime()}`, "utf8")).toBe(whole);
    expect((await run("show", "latest", "--dir", join(dir, ".sessile", "sessions"))).stdout).toContain(
      "I stay.",
    );
  });

  it("names a session that cannot be read, keeps its bytes and the others, and tries it again", async () => {
    const bad = join(dirname(main()), "00000000-0000-4000-8000-00000000bad0.jsonl");
    // A directory in the place of a blob would do too: what fails is the store of this one session.
    write(bad, lines([{ ...user("u1", null, "x"), sessionId: "00000000-0000-4000-8000-00000000bad0" }]));
    mkdirSync(join(dir, ".sessile"), { recursive: true });
    writeFileSync(join(dir, ".sessile", "sessions"), "a file in the place of the store");
    const failed = await run("archive", "--json");
    expect([failed.code, failed.json[0]]).toMatchObject([3, { archived: [], failed: 2 }]);
    expect(existsSync(join(dir, ".sessile", "originals", "claude-code", mainPath))).toBe(true);
    rmSync(join(dir, ".sessile", "sessions"));
    expect((await run("archive", "--json")).json[0].archived.length).toBe(2);
  });

  it("goes on behind a session that is deleted meanwhile, and looks again", async () => {
    await run("resume", sessionId, "--in", "pi", "--yes");
    const other = main().replace(sessionId, otherId);
    write(other, lines([{ ...user("u1", null, "Other."), sessionId: otherId }]));
    const words = readFileSync(main(), "utf8");
    // Both: their order is that of their times.
    const value = await archiveWhile(() => [main(), other].map((path) => rmSync(path)));
    expect(value).toMatchObject({ archived: [`pi ${sessionId}`], failed: 2 });
    expect(Object.keys(readIndex().homes)).not.toContain("claude-code");
    write(main(), words);
    expect((await run("archive", "--json")).json[0].archived).toEqual([`claude-code ${sessionId}`]);
  });

  it("names a session that is deleted while its state is asked for", async () => {
    await run("archive");
    appendFileSync(main(), lines([user("u2", "a1", "A word more.")]));
    const value = await archiveWhile(() => rmSync(main()), ["status"]);
    expect(value).toMatchObject({ onlyHere: [{ id: sessionId }], waiting: [] });
  });

  it("keeps its copies for the user alone", async () => {
    chmodSync(main(), 0o444);
    await run("archive");
    const copy = join(dir, ".sessile", "originals", "claude-code", mainPath);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });

  it("keeps the copy that it has if a further one fails", async () => {
    await run("archive");
    const whole = readFileSync(main(), "utf8");
    truncateSync(main(), whole.indexOf("\n") + 1);
    // Modules that a file of tests before this one has loaded see it too.
    const { copyFile } = promises;
    promises.copyFile = () => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    syncBuiltinESMExports();
    try {
      expect(await run("archive")).toMatchObject({ code: 3 });
    } finally {
      promises.copyFile = copyFile;
      syncBuiltinESMExports();
    }
    const copy = join(dir, ".sessile", "originals", "claude-code", mainPath);
    expect(readFileSync(copy, "utf8")).toBe(whole);
    expect(readdirSync(dirname(copy))).toEqual([basename(copy)]);
  });

  it("keeps what another run has written to the index meanwhile", async () => {
    await run("archive");
    const { sessions, ...rest } = readIndex();
    const [known] = Object.values<object>(sessions);
    const added = { ...sessions, "codex x": { ...known, agent: "codex", id: "x" } };
    appendFileSync(main(), lines([user("u2", "a1", "A word more.")]));
    await archiveWhile(() => writeFileSync(index(), JSON.stringify({ ...rest, sessions: added })));
    expect(Object.keys(readIndex().sessions)).toEqual([`claude-code ${sessionId}`, "codex x"]);
    expect(readIndex().sessions[`claude-code ${sessionId}`].files[0].bytes).toBe(statSync(main()).size);
  });

  it("is not kept from its index by the file of a run that was killed", async () => {
    mkdirSync(join(dir, ".sessile"), { recursive: true });
    writeFileSync(`${index()}.${process.pid}.tmp`, "");
    expect(await run("archive")).toMatchObject({ code: 0 });
  });

  it("takes an index that cannot be read for none", async () => {
    await run("archive");
    writeFileSync(join(dir, ".sessile", "archive.json"), "{");
    const again = await run("archive", "--json");
    expect([again.code, again.json[0].archived.length]).toEqual([0, 1]);
    expect(again.stderr).toContain("copied again");
    expect((await run("ls", join(dir, ".sessile", "sessions"), "--json")).json).toMatchObject([{ turns: 1 }]);
    writeFileSync(index(), '{"v":1,"homes":null,"sessions":null}');
    expect(await run("archive", "status")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("copied again"),
    });
  });

  it("says what is only there, and gives it back with its bytes and time", async () => {
    write(subagent(), lines([{ ...user("s1", null, "Look."), isSidechain: true, agentId: "a1" }]));
    await run("archive");
    const bytes = readFileSync(main(), "utf8");
    expect((await run("archive", "status", "--json")).json[0]).toMatchObject({
      archived: 1,
      onlyHere: [],
      waiting: [],
    });
    rmSync(main());
    const { json, code } = await run("archive", "status", "--json");
    expect([code, json[0].onlyHere]).toMatchObject([0, [{ agent: "claude-code", id: sessionId }]]);
    expect((await run("archive", "status")).stdout).toContain(`only here: claude-code ${sessionId}`);
    expect((await run("restore", sessionId.slice(0, 6))).stdout).toBe(`${main()}\n`);
    expect([readFileSync(main(), "utf8"), statSync(main()).mtimeMs]).toEqual([bytes, modified.getTime()]);
    expect(await run("restore", sessionId)).toMatchObject({ code: 2 });
    expect(await run("restore", "none-such")).toMatchObject({ code: 2 });
    appendFileSync(main(), lines([user("u2", "a1", "New.")]));
    expect(await run("archive", "status")).toMatchObject({ code: 1 });
  });

  it("gives back the outputs of tools beside the session, also those of one name", async () => {
    const folder = main().replace(/\.jsonl$/, "");
    const outputs = ["one", "two"].map((name) => join(folder, "tool-results", name, "out.txt"));
    for (const path of outputs) write(path, path);
    await run("archive");
    rmSync(dirname(outputs[0] ?? ""), { recursive: true });
    appendFileSync(main(), lines([user("u2", "a1", "A word more.")]));
    await run("archive");
    rmSync(dirname(main()), { recursive: true });
    await run("restore", sessionId);
    expect(outputs.map((path) => readFileSync(path, "utf8"))).toEqual(outputs);
  });

  it("gives back a file that the agent deleted while it kept the session", async () => {
    write(subagent(), lines([{ ...user("s1", null, "Look."), isSidechain: true, agentId: "a1" }]));
    await run("archive");
    rmSync(subagent());
    appendFileSync(main(), lines([user("u2", "a1", "A word more.")]));
    expect((await run("archive", "--json")).json[0].archived.length).toBe(1);
    expect((await run("archive", "--json")).json[0].archived.length).toBe(0);
    expect((await run("archive", "status")).code).toBe(0);
    rmSync(main());
    const { json } = await run("restore", sessionId, "--json");
    expect(json[0].files.toSorted()).toEqual([main(), subagent()].toSorted());
  });

  it("gives back a file at the place that it was moved to alone", async () => {
    await run("archive");
    const moved = main().replace("-work", "-moved");
    write(moved, readFileSync(main(), "utf8"));
    rmSync(main());
    await run("archive");
    expect(await run("restore", sessionId)).toMatchObject({ code: 2 });
    rmSync(moved);
    expect((await run("restore", sessionId)).stdout).toBe(`${moved}\n`);
  });

  it("gives back the last state that was read, with its time", async () => {
    const time = Date.parse("2026-11-21T12:00:00.123Z");
    const whole = readFileSync(main(), "utf8");
    utimesSync(main(), (time + 0.0005) / 1000, (time + 0.0005) / 1000);
    await run("archive");
    truncateSync(main(), whole.indexOf("\n") + 1);
    const store = join(dir, ".sessile", "sessions");
    renameSync(store, `${store}.away`);
    writeFileSync(store, "a file in the place of the store");
    expect((await run("archive")).code).toBe(3);
    rmSync(main());
    await run("restore", sessionId);
    expect([readFileSync(main(), "utf8"), Math.trunc(statSync(main()).mtimeMs)]).toEqual([whole, time]);
    expect((await run("archive", "status")).code).toBe(0);
  });

  it("gives back the session of the agent that is named", async () => {
    await run("resume", sessionId, "--in", "pi", "--yes");
    await run("archive");
    rmSync(main());
    expect(await run("restore", sessionId)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--agent"),
    });
    expect((await run("restore", sessionId, "--agent", "claude-code")).stdout).toBe(`${main()}\n`);
  });

  it("writes nothing out of the home of an agent", async () => {
    await run("archive");
    const { sessions, ...rest } = readIndex();
    const [name = "", known] = Object.entries<object>(sessions)[0] ?? [];
    const tampered = async (fields: object) => {
      writeFileSync(index(), JSON.stringify({ ...rest, sessions: { [name]: { ...known, ...fields } } }));
      return run("restore", sessionId);
    };
    write(join(dir, ".sessile", "originals", "escaped"), "x");
    write(join(dir, ".sessile", "escaped"), "x");
    const files = [{ path: "../escaped", bytes: 1, modified: 0 }];
    expect(await tampered({ files })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("unreadable"),
    });
    const place = { agent: "..", home: join(dir, "elsewhere"), files: [{ ...files[0], path: "escaped" }] };
    expect(await tampered(place)).toMatchObject({ code: 3 });
    expect(existsSync(join(dir, "escaped")) || existsSync(join(dir, "elsewhere"))).toBe(false);
  });

  it("is not listed beside the sessions that it has copies of", async () => {
    write(subagent(), lines([{ ...user("s1", null, "Look."), isSidechain: true, agentId: "a1" }]));
    const listed = async () => (await run("ls", "--json")).json.map(({ agent, id }) => [agent, id]);
    await run("archive");
    expect(await listed()).toEqual([["claude-code", sessionId]]);
    expect((await run("search", "Keep", "--json")).json.length).toBe(1);
    for (const name of [sessionId, "latest"])
      expect((await run("resume", name)).stdout).toContain(`claude --resume ${sessionId}`);
    expect((await run("ls", join(dir, ".sessile", "sessions"), "--json")).json.length).toBe(2);
    rmSync(dirname(main()), { recursive: true });
    expect(await listed()).toContainEqual(["sessile", sessionId]);
  });

  it("is run each day by the scheduler of the system", async () => {
    const platform = process.platform;
    const words = ["archive", "--install", "--json"];
    const installed = async (name: string) => {
      Object.defineProperty(process, "platform", { value: name });
      try {
        return (await run(...words, "--to", join(dir, "a $b%c&d"), "--agent", "codex")).json[0];
      } finally {
        Object.defineProperty(process, "platform", { value: platform });
      }
    };
    const units = join(dir, ".config", "systemd", "user");
    const linux = await installed("linux");
    expect(linux).toMatchObject({ start: "systemctl --user enable --now sessile-archive.timer" });
    expect(linux).toEqual(await installed("linux"));
    // A dollar sign would be a variable, a percent sign a specifier.
    expect(readFileSync(join(units, "sessile-archive.service"), "utf8")).toContain(' "archive" "--to" "');
    const service = readFileSync(join(units, "sessile-archive.service"), "utf8");
    expect(service).toContain('/a $$b%%c&d" "--agent" "codex"\n');
    // The scheduler has not the variables of a shell.
    expect(service).toContain(`Environment="CODEX_HOME=${join(dir, "codex")}"\n`);
    expect(readFileSync(join(units, "sessile-archive.timer"), "utf8")).toContain("OnCalendar=daily");
    await installed("darwin");
    const agent = readFileSync(join(dir, "Library", "LaunchAgents", "sessile-archive.plist"), "utf8");
    expect(agent).toContain("/a $b%c&amp;d</string>");
    expect(agent).toContain(`<key>CODEX_HOME</key>\n    <string>${join(dir, "codex")}</string>`);
    expect((await installed("win32")).start).toContain("schtasks /Create /SC DAILY");
  });
});

describe("resume", () => {
  it("prints the command of the session's own agent, in the directory of its project", async () => {
    const { stdout, code } = await run("resume", sessionId);
    expect([code, stdout]).toEqual([0, `cd ${dir} && claude --resume ${sessionId}\n`]);
  });

  it("writes the session for another agent, with its model and provider", async () => {
    write(
      join(dir, "codex", "config.toml"),
      'model = "gpt-5"\nmodel_provider = "azure"\n[profiles.x]\nmodel = "y"\n',
    );
    expect(await run("resume", sessionId, "--in", "codex")).toMatchObject({ code: 2 });
    expect(existsSync(join(dir, "codex", "sessions"))).toBe(false);
    const { json, code } = await run("resume", sessionId, "--in", "codex", "--yes", "--json");
    expect([code, json[0].commands]).toEqual([0, [["codex", "resume", expect.any(String)]]]);
    const [path] = json[0].files;
    expect(readFileSync(path, "utf8")).toMatch(/"model_provider":"azure"/);
    expect(await run("resume", sessionId, "--agent", "claude-code", "--in", "codex", "--yes")).toMatchObject({
      code: 2,
    });
  });

  it("writes the session for opencode, with the model and provider of its configuration and a finding for an open call", async () => {
    const calling = { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } };
    appendFileSync(main(), lines([user("u2", "a1", "List."), reply("a2", "u2", "m2", calling)]));
    write(join(dir, "config", "opencode", "opencode.json"), '{"model":"openrouter/anthropic/claude-x"}');
    const env = {
      ...homes(),
      XDG_CONFIG_HOME: join(dir, "config"),
      XDG_DATA_HOME: join(dir, "data"),
    };
    mkdirSync(join(dir, "data", "opencode"), { recursive: true });
    const words = ["resume", sessionId, "--in", "opencode", "--yes", "--json"];
    const { json, code } = await call(words, { cwd: dir, env });
    const [path] = json[0].files;
    const id = basename(path, ".json");
    expect([code, json[0].commands]).toEqual([
      0,
      [
        ["opencode", "import", path],
        ["opencode", "--session", id],
      ],
    ]);
    const { messages } = JSON.parse(readFileSync(path, "utf8"));
    expect(messages[0].info.model).toEqual({ providerID: "openrouter", modelID: "anthropic/claude-x" });
    expect(messages[1].info).toMatchObject({ providerID: "openrouter", modelID: "anthropic/claude-x" });
    expect(json[0].report.findings).toContainEqual(
      expect.objectContaining({ code: "interrupted", text: "call toolu_1 has no result" }),
    );
  });

  it("writes a file that pi has as its own, and that comes back", async () => {
    const { json } = await run("resume", sessionId, "--in", "pi", "--yes", "--json");
    expect(json[0].commands).toEqual([["pi", "--session", sessionId]]);
    expect(json[0].files[0]).toMatch(/^.*\/pi\/sessions\/--.*--\/.*_.*\.jsonl$/);
    const shown = await run("show", sessionId, "--agent", "pi");
    expect(shown.stdout).toContain("I stay.");
    expect((await run("resume", sessionId, "--agent", "pi")).stdout).toContain(`pi --session ${sessionId}`);
  });

  it("has no command for an id that an agent would take for an option", async () => {
    const id = "--dangerously-skip-permissions";
    write(main().replace(sessionId, id), lines([{ ...user("u1", null, "x"), sessionId: id }]));
    expect((await run("resume", "latest")).stdout).not.toContain(id);
    rmSync(main());
    expect(await run("resume", "latest")).toMatchObject({ code: 2, stdout: "" });
  });

  it("runs nothing beside JSON on the same output", async () => {
    expect(await run("resume", sessionId, "--run", "--json")).toMatchObject({ code: 2, stdout: "" });
  });

  it("refuses a session of no agent, and names the agents", async () => {
    const own = join(dir, "own.jsonl");
    writeFileSync(
      own,
      '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n',
    );
    const { code, stderr } = await run("resume", own);
    expect([code, stderr]).toEqual([2, expect.stringContaining("claude-code, codex")]);
  });
});

describe("export", () => {
  it("writes traces and examples, without secrets if they are to be redacted", async () => {
    const secret = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;
    appendFileSync(
      main(),
      lines([user("u2", "a1", `Use ${secret}.`), reply("a2", "u2", "m2", text("Done."))]),
    );
    for (const form of ["otlp", "openai-finetune", "sharegpt"]) {
      const plain = await run("export", sessionId, "--to", form, "-o", form, "--json");
      expect(readFileSync(plain.json[0].files[0], "utf8")).toContain(secret);
      const { json } = await run(
        "export",
        sessionId,
        "--to",
        form,
        "-o",
        `${form}-shared`,
        "--redact",
        "--json",
      );
      const shared = readFileSync(json[0].files[0], "utf8");
      expect(shared).toContain("I stay.");
      expect(shared).not.toContain(secret);
    }
  });
});
