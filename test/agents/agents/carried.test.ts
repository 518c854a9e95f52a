import { memoryBlobStore, memorySessionStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession, type ForeignFile, type ForeignFormat, importSession } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { expect } from "vitest";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import type { AgentName } from "./agents.js";
import { judge } from "./judge.js";
import { type AgentRun, runAgent, work } from "./run.js";
import type { AgentCommand, ScriptedCall } from "./script.js";

/** How an agent is asked, its files are found, and a session is resumed in it. */
interface Carrier {
  readonly version: string;
  readonly format: ForeignFormat;
  /** Below the home; opencode's exchange file is made in the working directory. */
  readonly home: string;
  readonly call: Omit<ScriptedCall, "id">;
  ask(words: string): AgentCommand;
  /** The commands that print the session, if files of the home are not enough. */
  print?(id: string): AgentCommand;
  resume(words: string, file: string, resume: readonly string[]): readonly AgentCommand[];
}

const claudeOptions = ["--dangerously-skip-permissions", "--output-format", "json"];
const geminiOptions = ["-y", "-m", "gemini-2.5-pro"];

const carriers: Readonly<Record<AgentName, Carrier>> = {
  claude: {
    version: "2.1.330",
    format: claudeCode,
    home: ".claude",
    call: { name: "Bash", arguments: { command: "echo hello", description: "Says hello" } },
    ask: (words) => ({ args: ["-p", words, ...claudeOptions] }),
    resume: (words, _, resume) => [{ args: ["-p", words, ...resume.slice(1), ...claudeOptions] }],
  },
  codex: {
    version: "0.169.0",
    format: codex,
    home: ".codex",
    call: { name: "exec_command", arguments: { cmd: "echo hello" } },
    ask: (words) => ({ args: ["exec", "--skip-git-repo-check", words] }),
    resume: (words, _, resume) => [{ args: ["exec", "--skip-git-repo-check", ...resume.slice(1), words] }],
  },
  gemini: {
    version: "0.61.0",
    format: gemini,
    home: ".gemini",
    call: { name: "run_shell_command", arguments: { command: "echo hello" } },
    ask: (words) => ({ args: [...geminiOptions, "-p", words] }),
    resume: (words, _, resume) => [{ args: [...geminiOptions, ...resume.slice(1), "-p", words] }],
  },
  opencode: {
    version: "1.18.33",
    format: opencode,
    home: "",
    call: { name: "bash", arguments: { command: "echo hello", description: "Says hello" } },
    ask: (words) => ({ args: ["run", "--", words] }),
    print: (id) => ({ args: ["export", id] }),
    resume: (words, file) => [
      { args: ["import", file] },
      { args: ["run", "-s", file.replace(/\.json$/, ""), "--", words] },
    ],
  },
};

const script = (call: Carrier["call"]) => ({
  replies: [{ text: "Let me look.", calls: [{ id: "call_a", ...call }] }, { text: "All done." }],
});
const ofSessions = /\/(?:projects|sessions|chats)\/.*\.jsonl?$/;

/** The files of a session that an agent wrote. */
async function written(agent: AgentName): Promise<readonly ForeignFile[]> {
  const { version, home, ask, print, call } = carriers[agent];
  const run = await runAgent(agent, version, { commands: [ask("look around")], script: script(call) });
  expect(run.results).toMatchObject([{ code: 0 }]);
  if (print === undefined) {
    return run.files
      .filter(({ path }) => path.startsWith(`${home}/`) && ofSessions.test(path))
      .map(({ path, bytes }) => ({ path: path.slice(home.length + 1), bytes }));
  }
  const list = await runAgent(agent, version, {
    files: run.files.filter(({ path }) => path.startsWith(".local/share/opencode/")),
    commands: [{ args: ["session", "list", "--format", "json"] }],
  });
  const id = /ses_[0-9A-Za-z]+/.exec(list.results[0]?.stdout ?? "")?.[0] ?? "";
  const exported = await runAgent(agent, version, {
    files: run.files.filter(({ path }) => path.startsWith(".local/share/opencode/")),
    commands: [print(id)],
  });
  return [{ path: `${id}.json`, bytes: new TextEncoder().encode(exported.results[0]?.stdout) }];
}

const sources = new Map<AgentName, Promise<readonly ForeignFile[]>>();

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
const requestOf = (run: AgentRun): readonly ReducedMessage[] =>
  run.requests
    .map(({ body }) => reduceRequest(body))
    .findLast((messages) => messages.some((message) => expected[5]?.(message))) ?? [];

/** Codex refuses to resume a rollout of another provider than that of its settings, which is scripted here. */
function withScriptedProvider({ path, bytes }: { readonly path: string; readonly bytes: Uint8Array }) {
  const text = new TextDecoder().decode(bytes);
  expect(text).toContain('"model_provider":"openai"');
  const changed = text.replace('"model_provider":"openai"', '"model_provider":"scripted"');
  return { path, bytes: new TextEncoder().encode(changed) };
}

const names: readonly AgentName[] = ["claude", "codex", "gemini", "opencode"];
for (const from of names) {
  for (const to of names.filter((name) => name !== from)) {
    const { version, format, home, resume } = carriers[to];
    const check = `resumes a session of ${from} ${carriers[from].version}`;
    judge(
      to,
      check,
      async ({ run }) => {
        const source = sources.get(from) ?? written(from);
        sources.set(from, source);
        const blobs = memoryBlobStore();
        const imported = await importSession(await source, { from: carriers[from].format, blobs });
        const session = await memorySessionStore({ blobs }).adopt(imported);
        const model = {
          claude: "claude-opus-5-5",
          codex: "gpt-5.2-codex",
          gemini: "gemini-2.5-pro",
          opencode: "scripted/m1",
        };
        const options = { to: format, blobs, cwd: work, modelFor: () => model[to] };
        const { files: made, resume: words } = await exportSession(session, options);
        const files = to === "codex" ? made.map(withScriptedProvider) : made;
        const own =
          to === "opencode"
            ? { work: files }
            : {
                files: files.map(({ path, bytes }) => ({ path: `${home}/${path}`, bytes })),
              };
        const commands = resume("go on", files[0]?.path ?? "", words);
        const resumed = await run({ ...own, commands });
        expect(resumed.results.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(
          commands.map(() => 0),
        );
        const request = requestOf(resumed);
        const places = expected.map((test) => request.findIndex(test));
        expect(places, JSON.stringify(request)).toEqual([...places].sort((a, b) => a - b));
        expect(places).not.toContain(-1);
        const results = request.filter((message) => "result" in message || "call" in message);
        expect(results).toHaveLength(2);
      },
      [version],
    );
  }
}
