import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { call } from "../../cli/call.js";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import { type AgentName, agents } from "./agents.js";
import { judge } from "./judge.js";
import { type AgentRun, runAgent } from "./run.js";
import type { AgentCommand, RecordedRequest, ScriptedCall } from "./script.js";

/** How an agent is asked, and a session is resumed in it without a terminal. */
interface Carrier {
  readonly version: string;
  /** As options of `sessile` name it. */
  readonly name: string;
  readonly call: Omit<ScriptedCall, "id">;
  ask(words: string): AgentCommand;
  /** From the words that `sessile resume` prints, without the program. */
  resume(words: string, resume: readonly string[]): AgentCommand;
  /** The model of its settings, in the request. */
  readonly model: RegExp;
}

const claudeOptions = ["--dangerously-skip-permissions", "--output-format", "json"];
const geminiOptions = ["-y", "-m", "gemini-2.5-pro"];

const carriers: Readonly<Record<AgentName, Carrier>> = {
  claude: {
    version: "2.1.330",
    name: "claude-code",
    call: { name: "Bash", arguments: { command: "echo hello", description: "Says hello" } },
    ask: (words) => ({ args: ["-p", words, ...claudeOptions] }),
    resume: (words, resume) => ({ args: ["-p", words, ...resume, ...claudeOptions] }),
    model: /^claude-/,
  },
  codex: {
    version: "0.169.0",
    name: "codex",
    call: { name: "exec_command", arguments: { cmd: "echo hello" } },
    ask: (words) => ({ args: ["exec", "--skip-git-repo-check", words] }),
    resume: (words, resume) => ({ args: ["exec", "--skip-git-repo-check", ...resume, words] }),
    model: /^gpt-5\.2-codex$/,
  },
  gemini: {
    version: "0.61.0",
    name: "gemini",
    call: { name: "run_shell_command", arguments: { command: "echo hello" } },
    ask: (words) => ({ args: [...geminiOptions, "-p", words] }),
    resume: (words, resume) => ({ args: [...geminiOptions, ...resume, "-p", words] }),
    model: /gemini-2\.5-pro/,
  },
  opencode: {
    version: "1.18.33",
    name: "opencode",
    call: { name: "bash", arguments: { command: "echo hello", description: "Says hello" } },
    ask: (words) => ({ args: ["run", "--", words] }),
    resume: (words, resume) =>
      resume[0] === "import" ? { args: resume } : { args: ["run", ...resume, "--", words] },
    model: /^m1$/,
  },
  pi: {
    version: "0.73.1",
    name: "pi",
    call: { name: "bash", arguments: { command: "echo hello" } },
    ask: (words) => ({ args: ["-p", words] }),
    resume: (words, resume) => ({ args: [...resume, "-p", words] }),
    model: /^m1$/,
  },
};

const script = (call: Carrier["call"]) => ({
  replies: [{ text: "Let me look.", calls: [{ id: "call_a", ...call }] }, { text: "All done." }],
});

type Files = AgentRun["files"];

/** The files of a home in which an agent made a session; of opencode also its own export of it, as `session.json`. */
async function written(agent: AgentName): Promise<Files> {
  const { version, ask, call } = carriers[agent];
  const run = await runAgent(agent, version, { commands: [ask("look around")], script: script(call) });
  expect(run.results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0]);
  if (agent !== "opencode") return run.files;
  const files = run.files.filter(({ path }) => path.startsWith(".local/share/opencode/"));
  const list = await runAgent(agent, version, {
    files,
    commands: [{ args: ["session", "list", "--format", "json"] }],
  });
  const id = /ses_[0-9A-Za-z]+/.exec(list.results[0]?.stdout ?? "")?.[0] ?? "";
  const exported = await runAgent(agent, version, { files, commands: [{ args: ["export", id] }] });
  return [{ path: "session.json", bytes: new TextEncoder().encode(exported.results[0]?.stdout) }];
}

const sources = new Map<AgentName, Promise<Files>>();

/** What a request has to have, in this order. */
const expected: readonly ((message: ReducedMessage) => boolean)[] = [
  (message) => message.role === "user" && "text" in message && message.text.includes("look around"),
  (message) => "text" in message && message.text === "Let me look.",
  (message) => "call" in message && JSON.stringify(message.arguments).includes("echo hello"),
  (message) => "result" in message && message.text.includes("hello"),
  (message) => "text" in message && message.text === "All done.",
  (message) => message.role === "user" && "text" in message && message.text.includes("go on"),
];

/** The request of a resumed turn: the last that has the words of the person. */
const requestOf = (run: AgentRun): RecordedRequest | undefined =>
  run.requests.findLast(({ body }) => reduceRequest(body).some((message) => expected[5]?.(message)));

/** What `sessile resume --in` writes into a home with a session of one agent and the settings of another. */
async function carried(from: AgentName, to: AgentName, files: Files) {
  const home = mkdtempSync(join(tmpdir(), "sessile-carried-"));
  try {
    for (const { path, bytes } of [...agents[to].settings("http://127.0.0.1:1"), ...files]) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), bytes);
    }
    const env = {
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      CODEX_HOME: join(home, ".codex"),
      GEMINI_CLI_HOME: home,
      XDG_DATA_HOME: join(home, ".local/share"),
      PI_CODING_AGENT_DIR: join(home, ".pi/agent"),
    };
    // Node 20 reads no database.
    const session =
      from === "opencode" ? [join(home, "session.json")] : ["latest", "--agent", carriers[from].name];
    const { json, code, stderr } = await call(
      ["resume", ...session, "--in", carriers[to].name, "--yes", "--json"],
      { cwd: home, env },
    );
    expect(code, stderr).toBe(0);
    const { commands, files: made } = json[0] as {
      readonly commands: readonly (readonly string[])[];
      readonly files: readonly string[];
    };
    return {
      commands: commands.map(([, ...words]) => words.map((word) => word.replace(home, "/srv/home"))),
      files: made.map((path) => ({ path: path.slice(home.length + 1), bytes: readFileSync(path) })),
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const names = Object.keys(carriers) as readonly AgentName[];
for (const from of names) {
  for (const to of names.filter((name) => name !== from)) {
    const { version, resume, model } = carriers[to];
    judge(
      to,
      `resumes a session of ${from} ${carriers[from].version}`,
      async ({ run }) => {
        const source = sources.get(from) ?? written(from);
        sources.set(from, source);
        const { files, commands: words } = await carried(from, to, await source);
        const commands = words.map((each) => resume("go on", each));
        const resumed = await run({ files, commands });
        expect(resumed.results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(
          commands.map(() => 0),
        );
        const { body, url } = requestOf(resumed) ?? { body: {}, url: "" };
        const request = reduceRequest(body);
        const places = expected.map((test) => request.findIndex(test));
        expect(places, JSON.stringify(request)).toEqual([...places].sort((a, b) => a - b));
        expect(places).not.toContain(-1);
        const results = request.filter((message) => "result" in message || "call" in message);
        expect(results).toHaveLength(2);
        expect((body as { readonly model?: string }).model ?? url).toMatch(model);
      },
      [version],
    );
  }
}
