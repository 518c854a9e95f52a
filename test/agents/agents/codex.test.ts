import { assistantMessage, memoryBlobStore, memorySessionStore, project, userMessage } from "sessile";
import { codex } from "sessile/codex";
import { exportSession, type ForeignFile, type ImportedSession } from "sessile/interop";
import { openaiResponses } from "sessile/openai";
import { expect } from "vitest";
import { own as recorded, richSession } from "../codex/rich-session.js";
import { asPrinted, contextOfImport, harness, projectedRequest, read, upTo } from "../codex/samples.js";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import { judge } from "./judge.js";
import { type AgentRun, work as agentWork } from "./run.js";
import type { Script } from "./script.js";

/** Replies of the scripted model. */
const own = { ...recorded, provider: "scripted" };
const exec = ["exec", "--skip-git-repo-check"];
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const work = [{ path: "pixel.png", bytes: Buffer.from(png, "base64") }];

/** Calls of the shell, under the name that each version has for it. */
function scriptOf(version: string): Script {
  const shell = (id: string, command: string) =>
    version === "0.58.0"
      ? { id, name: "shell", arguments: { command: ["bash", "-lc", command] } }
      : version === "0.98.0"
        ? { id, name: "shell_command", arguments: { command } }
        : { id, name: "exec_command", arguments: { cmd: command } };
  return {
    replies: [
      {
        reasoning: "I will list the files.",
        text: "Let me look.",
        calls: [shell("call_a", "echo hello"), shell("call_b", "echo second")],
      },
      { calls: [shell("call_c", "cat absent.txt")] },
      { calls: [{ id: "call_d", name: "view_image", arguments: { path: "pixel.png" } }] },
      {
        calls: [
          {
            id: "call_e",
            name: "apply_patch",
            arguments: "*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch",
          },
        ],
      },
      { text: "All done." },
    ],
  };
}

/** The rollouts of a run, by paths below the agent's home. */
const rolloutsOf = ({ files }: AgentRun): readonly ForeignFile[] =>
  files.flatMap(({ path, bytes }) =>
    /^\.codex\/sessions\/.*\.jsonl$/.test(path) ? [{ path: path.slice(".codex/".length), bytes }] : [],
  );
const idOf = (file: ForeignFile | undefined) => /[0-9a-f-]{36}(?=\.jsonl$)/.exec(file?.path ?? "")?.[0] ?? "";
const inHome = (files: readonly { readonly path: string; readonly bytes: Uint8Array }[]) =>
  files.map(({ path, bytes }) => ({ path: `.codex/${path}`, bytes }));
const bytesOf = (files: readonly ForeignFile[]) => files as readonly { path: string; bytes: Uint8Array }[];

/** The last request of a run, without the texts that Codex adds, and the names around images. */
const requestOf = (run: AgentRun): readonly ReducedMessage[] =>
  reduceRequest(run.requests.at(-1)?.body, {
    without: [
      ...harness,
      /^You are a coding agent/,
      /^<(?:skills|permissions) ?_?instructions>/,
      /^<\/?image/,
    ],
    maxText: 160,
  });

/** A session as the request that a resume should send, before the new message. */
async function contextAsRequest(source: Pick<ImportedSession, "entries" | "leafId">) {
  const { value } = await project(contextOfImport(source), openaiResponses(own));
  return [...reduceRequest(value, { without: harness, maxText: 160 }), { role: "user", text: "go on" }];
}

judge("codex", "import: its next request is our context", async ({ version, run }) => {
  const first = await run({
    commands: [{ args: [...exec, "-i", "pixel.png", "--", "what is here?"] }],
    script: scriptOf(version),
    work,
  });
  const rollouts = rolloutsOf(first);
  expect(rollouts).toHaveLength(1);
  const second = await run({
    files: inHome(bytesOf(rollouts)),
    commands: [{ args: [...exec, "resume", idOf(rollouts[0]), "go on"] }],
  });
  const [after] = rolloutsOf(second);
  expect(after).toBeDefined();
  const ours = await projectedRequest(await read(upTo(after as ForeignFile, "go on")));
  const isPrinted = version === "0.98.0" || version === "0.128.0";
  expect(isPrinted ? asPrinted(ours) : ours).toEqual(requestOf(second));
  return isPrinted ? "it prints the JSON of a patch's output again as text" : undefined;
});

judge("codex", "export: it resumes the written session", async ({ run }) => {
  const session = richSession(false, "scripted");
  const { files } = await exportSession(session, { to: codex, cwd: agentWork });
  const resumed = await run({
    files: inHome(files),
    commands: [{ args: [...exec, "resume", session.header?.id ?? "", "go on"] }],
  });
  expect(requestOf(resumed)).toEqual(await contextAsRequest(session as never));
});

judge("codex", "export: it resumes a compacted session", async ({ version, run }) => {
  const session = richSession(true, "scripted");
  const { files } = await exportSession(session, { to: codex, cwd: agentWork });
  const resumed = await run({
    files: inHome(files),
    commands: [{ args: [...exec, "resume", session.header?.id ?? "", "go on"] }],
  });
  const ours = await contextAsRequest(session as never);
  if (version !== "0.58.0") {
    expect(requestOf(resumed)).toEqual(ours);
    return undefined;
  }
  // It has no `replacement_history`: it keeps the messages of users, and the summary.
  const isKept = (message: ReducedMessage) => !("text" in message) || message.text !== "Kept answer.";
  expect(requestOf(resumed)).toEqual(
    expect.arrayContaining(ours.filter((each) => isKept(each as ReducedMessage))),
  );
  return "of the kept messages those of users alone";
});

judge("codex", "append: it resumes its own session with lines behind it", async ({ version, run }) => {
  const first = await run({ commands: [{ args: [...exec, "hello"] }], script: scriptOf(version), work });
  const rollouts = rolloutsOf(first);
  const blobs = memoryBlobStore();
  const imported = await read(rollouts, { blobs });
  await using session = await memorySessionStore({ blobs }).adopt(imported);
  await session.appendMessage(userMessage("appended question"));
  await session.appendMessage(assistantMessage(own, "Appended answer."));
  const { files, report } = await exportSession(session, { to: codex, blobs });
  expect(report.exact).toBe(true);
  const resumed = await run({
    files: inHome(files),
    commands: [{ args: [...exec, "resume", idOf(rollouts[0]), "go on"] }],
  });
  expect(requestOf(resumed).slice(-3)).toEqual([
    { role: "user", text: "appended question" },
    { role: "assistant", text: "Appended answer." },
    { role: "user", text: "go on" },
  ]);
  expect(requestOf(resumed).slice(0, -3)).toEqual(
    (version === "0.98.0" || version === "0.128.0" ? asPrinted : (all: readonly ReducedMessage[]) => all)(
      await projectedRequest(await read(rollouts)),
    ),
  );
});

judge(
  "codex",
  "export: it lists, shows and migrates the written session",
  async ({ run }) => {
    const session = richSession(true, "scripted");
    const threadId = session.header?.id ?? "";
    const { files } = await exportSession(session, { to: codex, cwd: agentWork });
    const clientInfo = { name: "judge", title: "judge", version: "0" };
    const opening = [
      { method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } },
      { method: "initialized", params: {}, notify: true },
    ];
    const shown = await run({
      files: inHome(files),
      commands: [
        {
          args: ["app-server"],
          rpc: [
            ...opening,
            { method: "thread/list", params: {} },
            { method: "thread/read", params: { threadId, includeTurns: true } },
            { method: "thread/resume", params: { threadId } },
          ],
        },
      ],
    });
    const [, list, thread, resumed] = shown.results[0]?.answers ?? [];
    expect(list).toMatchObject({ data: [{ id: threadId, preview: "first question", cwd: agentWork }] });
    const turns = (thread as { readonly thread?: { readonly turns?: readonly unknown[] } }).thread?.turns;
    expect(turns).toHaveLength(5);
    expect(resumed).toMatchObject({ thread: { id: threadId } });
    const migrated = await run({
      files: inHome(files),
      commands: [
        { args: ["migrate-rollouts", "--apply", "--json"] },
        { args: [...exec, "resume", threadId, "go on"] },
      ],
    });
    expect(migrated.results.map(({ code }) => code)).toEqual([0, 0]);
    expect(new TextDecoder().decode(rolloutsOf(migrated)[0]?.bytes as Uint8Array)).toContain('"ordinal":0');
    expect(requestOf(migrated)).toEqual(await contextAsRequest(session as never));
  },
  ["0.169.0"],
);
