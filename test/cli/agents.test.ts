import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import * as transcript from "../agents/claude-code/transcript.js";
import { call } from "./call.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-agents-"));
const env = { CLAUDE_CONFIG_DIR: join(dir, "claude"), CODEX_HOME: join(dir, "codex"), COLUMNS: "400" };
const codexId = "01a2077b-1fbe-7982-936d-581ef03670e5";
const codexFile = `sessions/2026/11/22/rollout-2026-11-22T08-17-19-${codexId}.jsonl`;
const secret = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;
const run = (...words: string[]) => call(words, { cwd: dir, env });

/** Codex's counts of a request: the sum so far, and its last one. */
function tokenCount(timestamp: string, total: number, last: number) {
  const usage = (times: number) => ({
    input_tokens: 100 * times,
    cached_input_tokens: 40 * times,
    output_tokens: 20 * times,
    reasoning_output_tokens: 5 * times,
    total_tokens: 120 * times,
  });
  const info = { total_token_usage: usage(total), last_token_usage: usage(last), model_context_window: 1e5 };
  return { timestamp, type: "event_msg", payload: { type: "token_count", info, rate_limits: null } };
}

function codexLines(): readonly object[] {
  const at = (minute: number) => `2026-11-22T08:${minute}:19.000Z`;
  const item = (minute: number, payload: object) => ({
    timestamp: at(minute),
    type: "response_item",
    payload,
  });
  const said = (role: string, kind: string, text: string) => ({
    type: "message",
    role,
    content: [{ type: kind, text }],
  });
  const meta = {
    id: codexId,
    timestamp: at(17),
    cwd: dir,
    originator: "codex",
    cli_version: "0.98.0",
    model_provider: "openai",
  };
  const turn = {
    cwd: dir,
    approval_policy: "never",
    sandbox_policy: { type: "read-only" },
    model: "gpt-5.2-codex",
    summary: "auto",
  };
  return [
    { timestamp: at(17), type: "session_meta", payload: meta },
    item(17, said("user", "input_text", "Where is the needle in this haystack?")),
    { timestamp: at(17), type: "turn_context", payload: turn },
    item(18, { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" }),
    item(18, { type: "function_call_output", call_id: "c1", output: `token ${secret}` }),
    tokenCount(at(18), 1, 1),
    // Codex repeats the counts with the rate limits of the next request.
    tokenCount(at(19), 1, 1),
    item(20, said("assistant", "output_text", "It is under the hay.")),
    tokenCount(at(20), 2, 1),
  ];
}

const lines = (records: readonly object[]) => records.map((each) => `${JSON.stringify(each)}\n`).join("");

function files(home: string): readonly (readonly [string, string])[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name))
    .sort()
    .map((path) => [path, readFileSync(path, "latin1")]);
}

beforeAll(() => {
  const { user, reply, text, sessionId, mainPath } = transcript;
  const day = (date: string) => ({ timestamp: `${date}T12:00:00.000Z` });
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 3,
    output_tokens: 7,
  };
  const said = (uuid: string, parent: string, id: string, words: string, date: string, model: string) => ({
    ...reply(uuid, parent, id, text(words), { message: { usage, model } }),
    ...day(date),
  });
  const claude = [
    { ...user("u1", null, "Look for the needle, please."), ...day("2026-11-20") },
    // A line for each block of the reply, with the counts of the whole reply.
    said("a1", "u1", "m1", "I look.", "2026-11-20", "claude-opus-5-5"),
    said("a2", "a1", "m1", "It is not here.", "2026-11-20", "claude-opus-5-5"),
    { ...user("u2", "a2", "Again."), ...day("2026-11-21") },
    said("a3", "u2", "m2", "Still not.", "2026-11-21", "claude-haiku-5"),
  ];
  const write = (path: string, content: string, modified: string) => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content);
    utimesSync(path, new Date(modified), new Date(modified));
  };
  expect(mainPath).toContain(sessionId);
  write(join(env.CLAUDE_CONFIG_DIR, mainPath), lines(claude), "2026-11-21T12:00:00Z");
  write(join(env.CODEX_HOME, codexFile), lines(codexLines()), "2026-11-22T08:20:19Z");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("sessions of other agents", () => {
  it("are listed newest first, and named by id, start and path, for show, diff and project", async () => {
    const { json } = await run("ls", "--json");
    expect(json.map(({ agent, id, turns }) => [agent, id, turns])).toEqual([
      ["codex", codexId, 1],
      ["claude-code", transcript.sessionId, 2],
    ]);
    expect(json[0]).toMatchObject({
      created: "2026-11-22T08:17:19.000Z",
      modified: "2026-11-22T08:20:19.000Z",
      size: Buffer.byteLength(lines(codexLines())),
      cwd: dir,
    });
    expect((await run("ls", "--agent", "claude-code", "--json")).json.length).toBe(1);
    const signal = AbortSignal.abort();
    expect((await call(["ls", "--agent", "codex"], { cwd: dir, env, signal })).code).toBe(3);
    expect((await run("ls", "codex", "--agent", "codex", "--json")).json.map(({ id }) => id)).toEqual([
      codexId,
    ]);
    expect((await run("ls", "codex", "--agent", "claude-code", "--json")).json).toEqual([]);
    for (const name of [codexId, codexId.slice(0, 9), "latest", join(env.CODEX_HOME, codexFile)])
      expect((await run("show", name)).stdout).toContain("It is under the hay.");
    expect((await run("show", transcript.sessionId, "--context")).stdout).toContain("Still not.");
    const { json: sent } = await run(
      "project",
      "latest",
      "--target",
      "anthropic",
      "--model",
      "claude-opus-5-5",
      "--json",
    );
    expect(sent[0]).toMatchObject({ target: "anthropic-messages" });
  });

  it("are searched, newest first, with the ids of entries", async () => {
    const { json, code } = await run("search", "needle", "--json");
    expect([code, json.map(({ agent }) => agent)]).toEqual([0, ["codex", "claude-code"]]);
    const [{ session, entryId }] = json;
    expect((await run("show", session, "--entry", entryId)).stdout).toContain("haystack");
    expect((await run("search", "needle", "haystack", "--json")).json.length).toBe(1);
    expect((await run("search", "needle", "-n", "1", "--json")).json.length).toBe(1);
    expect(await run("search", "no such words")).toMatchObject({ code: 1, stdout: "" });
  });

  it("have sums by model and by day, and what one session holds", async () => {
    const claude = (await run("stats", "all", "--agent", "claude-code", "--by", "model", "--json")).json[0];
    const once = { input: 10, output: 7, cacheRead: 5, cacheWrite: 3, total: 25 };
    expect(claude.groups).toEqual([
      expect.objectContaining({ model: "claude-opus-5-5", ...once }),
      expect.objectContaining({ model: "claude-haiku-5", ...once }),
    ]);
    const days = (await run("stats", "all", "--agent", "claude-code", "--by", "day", "--json")).json[0];
    expect(days.groups).toMatchObject([
      { day: "2026-11-20", ...once },
      { day: "2026-11-21", ...once },
    ]);
    expect(days).toMatchObject({ sessions: 1, turns: 2, tokens: { calls: 2 } });
    const codex = (await run("stats", codexId, "--json")).json[0];
    expect(codex).toMatchObject({ turns: 1, toolCalls: 1, failures: 0 });
    expect(codex.cacheHits).toEqual([{ turn: 1, prompt: 200, cached: 80 }]);
    expect(Object.keys(codex.context).sort()).toEqual([
      "assistant",
      "call of shell",
      "result of shell",
      "user",
    ]);
  });

  it("cost what the given prices say", async () => {
    const price = { model: "gpt-5.2-codex", input: 1e6, cacheRead: 1e5, cacheWrite: 0, output: 2e6 };
    writeFileSync(join(dir, "prices.json"), JSON.stringify([{ ...price, source: "x", asOf: "2026-11-23" }]));
    const { stdout } = await run("stats", codexId, "--prices", "prices.json");
    expect(stdout).toMatch(/^all .* \$208\.00$/m);
  });

  it("are imported into a store, once", async () => {
    const first = await run("import", codexId, "--to", ".sessile/sessions", "--json");
    const size = readFileSync(first.json[0].paths[0]).length;
    expect(first.json[0].report.exact).toBe(true);
    await run("import", codexId, "--to", ".sessile/sessions", "--json");
    expect(readFileSync(first.json[0].paths[0]).length).toBe(size);
    const own = await run("ls", "--agent", "sessile", "--json");
    expect(own.json.length).toBe(1);
    expect((await run("import", own.json[0].path, "--to", "elsewhere")).code).toBe(2);
    const back = await run("export", own.json[0].path, "--to", "codex", "-o", "back", "--json");
    expect(readFileSync(back.json[0].files[0], "utf8")).toBe(lines(codexLines()));
    rmSync(join(dir, ".sessile"), { recursive: true });
  });

  it("become files of another agent, with the command that resumes and the losses", async () => {
    const { json, code } = await run("convert", codexId, "--to", "claude-code", "-o", "out", "--json");
    expect(json[0].resume[0]).toBe("claude");
    // Its notes are no failure.
    expect([code, json[0].report.findings.length > 0]).toEqual([0, true]);
    expect(readFileSync(json[0].files[0], "utf8")).toContain("It is under the hay.");
    const again = await run("show", json[0].files[0]);
    expect(again.stdout).toContain("It is under the hay.");
    expect((await run("export", codexId, "--to", "claude-code", "-o", "out")).code).toBe(2);
    expect((await run("export", codexId, "--to", "gemini", "-o", "more")).stdout).toMatch(
      /^resume with: gemini/m,
    );
  });

  it("become files with a line for each kind of finding, not for each entry", async () => {
    const header = {
      type: "session",
      version: 3,
      id: "folded",
      timestamp: "2026-01-01T00:00:00.000Z",
      cwd: "/p",
    };
    const entry = (at: number, rest: object) => ({
      ...{ id: `0000000${at}`, parentId: at === 1 ? null : `0000000${at - 1}`, timestamp: header.timestamp },
      ...rest,
    });
    const levels = [2, 3, 4, 5].map((at) =>
      entry(at, { type: "thinking_level_change", thinkingLevel: at === 5 ? "low" : "high" }),
    );
    const message = { role: "user", content: "Where is the needle?", timestamp: 1 };
    const all = [header, entry(1, { type: "message", message }), ...levels];
    writeFileSync(join(dir, "folded.jsonl"), lines(all));
    const { stdout, code } = await run("convert", "./folded.jsonl", "--to", "claude-code", "-o", "folded");
    const found = stdout.split("\n").filter((line) => line.startsWith("entry "));
    expect([code, found]).toEqual([0, ["entry a thinking_level_change (4 times)"]]);
  });

  it("go on with the model and the provider of another configuration", async () => {
    const { json: made } = await run("convert", codexId, "--to", "claude-code", "-o", "as-claude", "--json");
    const [claude] = made[0].files;
    const words = ["--model", "local-7b", "--provider", "ollama"];
    for (const command of ["convert", "export"]) {
      const { json } = await run(command, claude, "--to", "codex", "-o", `${command}-as`, "--json", ...words);
      const text = readFileSync(json[0].files[0], "utf8");
      expect(text).toContain('"model_provider":"ollama"');
      expect(text).toContain('"model":"local-7b"');
    }
    const refused = await run("convert", claude, "--to", "gemini", "-o", "x", "--provider", "ollama");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--to codex or opencode")]);
    const empty = await run("convert", claude, "--to", "codex", "-o", "x", "--provider", "");
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("--provider: expected NAME")]);
  });

  it("show the tree of no entry", async () => {
    const shown = await run("show", "latest", "--at", "nope");
    expect([shown.code, shown.stderr]).toEqual([2, expect.stringContaining("--at needs --context")]);
  });

  it("are copied without secrets", async () => {
    const { json } = await run("redact", codexId, "--to", "shared.jsonl", "--rule", "/hay\\w*/", "--json");
    expect(json[0].replaced).toMatchObject({ "github-token": 1, custom: 2 });
    const shared = readFileSync(join(dir, "shared.jsonl"), "utf8");
    expect(shared).not.toContain(secret);
    expect(shared).toContain("[redacted: custom]");
    expect((await run("show", "./shared.jsonl")).code).toBe(0);
    expect((await run("redact", codexId, "--to", "shared.jsonl")).code).toBe(2);
    expect((await run("redact", codexId, "--to", "x.jsonl", "--rule", "/(/")).code).toBe(2);
    const one = await run("redact", codexId, "--to", "one.jsonl", "--rule", "json-web-token", "--json");
    expect([one.json[0].replaced, readFileSync(join(dir, "one.jsonl"), "utf8").includes(secret)]).toEqual([
      {},
      true,
    ]);
  });

  it("stay as they are", async () => {
    const before = files(env.CODEX_HOME);
    const all = [
      ["ls"],
      ["show", "latest"],
      ["search", "hay"],
      ["stats", "all"],
      ["import", codexId, "--to", "s/s"],
    ];
    for (const words of all) await run(...words);
    expect(files(env.CODEX_HOME)).toEqual(before);
  });

  it("of Gemini CLI and opencode are read from their files", async () => {
    const samples = join(root, "test/agents");
    const found = [join(samples, "gemini-cli/files"), join(samples, "opencode/files")].flatMap((folder) =>
      files(folder).filter(([path]) => /\.jsonl?$/.test(path) && !path.includes("requests")),
    );
    const named = found.filter(([, text]) => /"projectHash"|"ses_\w+"/.test(text)).slice(0, 4);
    expect(named.length).toBeGreaterThan(0);
    for (const [path] of named) {
      const copy = path.endsWith("l") ? "./sample.jsonl" : "./sample.json";
      cpSync(path, join(dir, copy));
      const { code, stderr, stdout } = await run("show", copy);
      expect([path, code, stderr]).toEqual([path, 0, ""]);
      expect([path, /user: \S/.test(stdout)]).toEqual([path, true]);
    }
  });
});
