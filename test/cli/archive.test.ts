import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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

  it("takes an index that cannot be read for none", async () => {
    await run("archive");
    writeFileSync(join(dir, ".sessile", "archive.json"), "{");
    const again = await run("archive", "--json");
    expect([again.code, again.json[0].archived.length]).toEqual([0, 1]);
    expect(again.stderr).toContain("copied again");
    expect((await run("ls", join(dir, ".sessile", "sessions"), "--json")).json).toMatchObject([{ turns: 1 }]);
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

  it("is run each day by the scheduler of the system", async () => {
    const platform = process.platform;
    const installed = async (name: string) => {
      Object.defineProperty(process, "platform", { value: name });
      try {
        return (await run("archive", "--install", "--json", "--to", join(dir, "a $b%c&d"))).json[0];
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
    expect(readFileSync(join(units, "sessile-archive.service"), "utf8")).toContain('/a $$b%%c&d"');
    expect(readFileSync(join(units, "sessile-archive.timer"), "utf8")).toContain("OnCalendar=daily");
    await installed("darwin");
    const agent = readFileSync(join(dir, "Library", "LaunchAgents", "sessile-archive.plist"), "utf8");
    expect(agent).toContain("/a $b%c&amp;d</string>");
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

  it("writes a file that pi has as its own, and that comes back", async () => {
    const { json } = await run("resume", sessionId, "--in", "pi", "--yes", "--json");
    expect(json[0].commands).toEqual([["pi", "--session", sessionId]]);
    expect(json[0].files[0]).toMatch(/^.*\/pi\/sessions\/--.*--\/.*_.*\.jsonl$/);
    const shown = await run("show", sessionId, "--agent", "pi");
    expect(shown.stdout).toContain("I stay.");
    expect((await run("resume", sessionId, "--agent", "pi")).stdout).toContain(`pi --session ${sessionId}`);
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
