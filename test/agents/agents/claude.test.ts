/** Claude Code resumes files of this library, and this library reads Claude Code's as it does itself. */

import {
  assistantMessage,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  toolResult,
  userMessage,
} from "sessile";
import { claudeCode } from "sessile/claude-code";
import { exportSession, importSession } from "sessile/interop";
import { expect } from "vitest";
import { comparable, projected, reduced } from "../claude-code/requests.js";
import type { ReducedMessage } from "../support/reduced.js";
import type { AgentFile } from "./agents.js";
import { type JudgeContext, judge, keepSample } from "./judge.js";
import { type AgentRun, work } from "./run.js";
import type { RecordedRequest, ScriptedReply } from "./script.js";

const flags = ["--dangerously-skip-permissions", "--output-format", "json"];
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

interface Request {
  readonly model: string;
  readonly tools?: readonly unknown[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** The last request of the conversation: others ask for titles, or warm up subagents. */
function lastRequest(requests: readonly RecordedRequest[]): Request {
  const bodies = requests.flatMap(({ body }) => {
    const request = body as Partial<Request> | undefined;
    return (request?.tools?.length ?? 0) > 0 && request?.messages !== undefined ? [request as Request] : [];
  });
  const last = bodies.findLast(
    ({ messages }) => !JSON.stringify(messages.at(-1)?.content).includes("Warmup"),
  );
  if (last === undefined) throw new Error("no request of the conversation");
  return last;
}

/** The messages of a request: those of the system are the agent's own. */
function messagesOf(request: Request): readonly ReducedMessage[] {
  const messages = request.messages.filter(({ role }) => role !== "system");
  return reduced({ ...request, messages });
}

const inHome = (
  files: readonly { readonly path: string; readonly bytes: Uint8Array }[],
): readonly AgentFile[] => files.map(({ path, bytes }) => ({ path: `.claude/${path}`, bytes }));

/** The transcripts of a run, by their paths below the agent's folder. */
const transcripts = (run: AgentRun) =>
  run.files
    .filter(({ path, bytes }) => path.startsWith(".claude/projects/") && bytes.length > 0)
    .map(({ path, bytes }) => ({ path: path.slice(".claude/".length), bytes }));

/** Asks for a session to go on. Returns the messages of the request, without that question. */
async function goOn(start: JudgeContext["run"], files: readonly AgentFile[], resume: readonly string[]) {
  const run = await start({ files, commands: [{ args: [...resume.slice(1), ...flags, "-p", "go on"] }] });
  expect(run.results[0], run.results[0]?.stderr).toMatchObject({ code: 0 });
  const request = lastRequest(run.requests);
  const messages = messagesOf(request);
  expect(messages.at(-1)).toEqual({ role: "user", text: "go on" });
  return { run, model: request.model, messages: messages.slice(0, -1) };
}

const sonnet = { provider: "anthropic", model: "claude-sonnet-4-5", api: "anthropic-messages" };
const call = (id: string, command = "ls") =>
  ({ type: "toolCall", id, name: "Bash", arguments: { command } }) as const;

/** With parallel calls out of order, a failure, an image, an open call, and a reply of another maker. */
const conversation: readonly Message[] = [
  userMessage("what is here?"),
  assistantMessage(
    sonnet,
    { type: "thinking", thinking: "I will list them.", thinkingSignature: "c2ln" },
    "Let me look.",
    call("toolu_1"),
    call("toolu_2", "cat x"),
  ),
  { ...toolResult(call("toolu_2"), "no such file"), isError: true },
  {
    ...toolResult(call("toolu_1")),
    content: [
      { type: "text", text: "a.png" },
      { type: "image", data: pixel, mimeType: "image/png" },
    ],
  },
  assistantMessage(
    { provider: "openai", model: "gpt-5.2" },
    { type: "thinking", thinking: "not yours" },
    "One file.",
    call("call_3", "rm a.png"),
  ),
  userMessage("and now?"),
  assistantMessage(sonnet, "Nothing is left."),
];

/** The conversation in a store. */
async function started() {
  const blobs = memoryBlobStore();
  const session = await memorySessionStore({ blobs }).create({ cwd: work });
  for (const message of conversation) await session.appendMessage(message);
  const options = { to: claudeCode, blobs, modelFor: () => sonnet.model } as const;
  const context = () => projected(session.context(), blobs);
  return { blobs, session, options, context };
}

judge("claude", "resumes a session of this library", async ({ run }) => {
  const { session, options, context } = await started();
  const { files, resume } = await exportSession(session, options);
  const { messages, model } = await goOn(run, inHome(files), resume);
  expect(comparable(messages)).toEqual(comparable(await context()));
  return model === sonnet.model ? "with its model" : "with the model of its settings";
});

judge("claude", "resumes a compacted session of this library", async ({ run }) => {
  const { session, options, context } = await started();
  const ids = (await session.tree()).path(session.leafId).map(({ id }) => id);
  const firstKeptEntryId = ids.at(-1) as string;
  const retain = ids.slice(1, 4);
  await session.append([
    { type: "compaction", summary: "A summary.", firstKeptEntryId, retain, tokensBefore: 100 },
  ]);
  await session.appendMessage(userMessage("after"));
  const { files, resume } = await exportSession(session, options);
  const { messages } = await goOn(run, inHome(files), resume);
  expect(comparable(messages)).toEqual(comparable(await context()));
});

judge(
  "claude",
  "resumes its own session behind lines of this library, and at an earlier line",
  async ({ run }) => {
    const { blobs, options, session: first } = await started();
    const exported = await exportSession(first, options);
    const again = await importSession(exported.files, { from: claudeCode, blobs });
    const session = await memorySessionStore({ blobs }).adopt(again);
    const context = () => projected(session.context(), blobs);
    await session.appendMessage(assistantMessage(sonnet, call("toolu_9", "pwd")));
    await session.appendMessage(toolResult(call("toolu_9"), work));
    const on = await exportSession(session, options);
    expect(on.report.exact).toBe(true);
    expect(comparable((await goOn(run, inHome(on.files), on.resume)).messages)).toEqual(
      comparable(await context()),
    );
    const path = (await session.tree()).path(session.leafId);
    await session.branch(path.at(-5)?.id ?? null);
    await session.flush();
    const back = await exportSession(session, options);
    expect(back.report.exact).toBe(true);
    expect(comparable((await goOn(run, inHome(back.files), back.resume)).messages)).toEqual(
      comparable(await context()),
    );
  },
);

/** Replies with parallel calls, a failure, an image and a subagent. */
const replies = (tool: string): readonly ScriptedReply[] => [
  {
    reasoning: "I will list the files.",
    text: "Let me look.",
    calls: [
      { id: "toolu_a", name: "Bash", arguments: { command: "echo hello; ls", description: "List" } },
      { id: "toolu_b", name: "Bash", arguments: { command: "cat nope.txt", description: "Fail" } },
      { id: "toolu_c", name: "Bash", arguments: { command: "sleep 0.3; echo slow", description: "Slow" } },
    ],
  },
  { calls: [{ id: "toolu_d", name: "Read", arguments: { file_path: `${work}/pixel.png` } }] },
  {
    calls: [
      {
        id: "toolu_e",
        name: tool,
        arguments: {
          description: "sub",
          prompt: "say hi",
          subagent_type: "general-purpose",
          ...(tool === "Agent" ? { run_in_background: false } : {}),
        },
      },
    ],
  },
  { text: "hi from the subagent" },
  { text: "All done." },
];

for (const compacts of [false, true]) {
  const what = compacts ? "its own session after /compact" : "its own session";
  judge("claude", `sends of ${what} what an import shows`, async ({ run, version }) => {
    const first = await run({
      commands: [
        { args: [...flags, "-p", "what is here?"] },
        ...(compacts ? [{ args: [...flags, "-c", "-p", "/compact"] }] : []),
      ],
      script: {
        replies: replies(version.startsWith("2.1") ? "Agent" : "Task"),
        aside: { text: "A summary." },
      },
      work: [{ path: "pixel.png", bytes: Buffer.from(pixel, "base64") }],
    });
    const files = transcripts(first);
    const blobs = memoryBlobStore();
    const main = files.find(
      ({ path, bytes }) =>
        !path.includes("agent-") && new TextDecoder().decode(bytes).includes("what is here?"),
    );
    const id = /([0-9a-f-]{36})\.jsonl$/.exec(main?.path ?? "")?.[1] ?? "";
    const own = files.filter((file) => file === main || file.path.includes("agent-"));
    const imported = await importSession(own, { from: claudeCode, blobs });
    const { messages } = await goOn(run, inHome(files), ["claude", "--resume", id]);
    const ours = comparable(await projected(imported, blobs));
    const theirs = comparable(messages);
    keepSample("claude-code", `${version}${compacts ? "-compacted" : ""}.json`, {
      files: own.map(({ path, bytes }) => ({ path, text: withoutPrompts(bytes) })),
      request: shortened(messages),
    });
    expect((await exportSession(imported, { to: claudeCode, blobs })).files).toEqual(own);
    if (version !== "2.0.77" || compacts) {
      expect(theirs).toEqual(ours);
      return undefined;
    }
    // It follows parentUuid alone, and so leaves out all but one of parallel calls.
    const text = JSON.stringify(theirs);
    expect(
      ours
        .filter((message) => !text.includes(JSON.stringify(message)))
        .every((message) => /toolu_[abc]/.test(JSON.stringify(message))),
    ).toBe(true);
    return "it leaves out parallel calls";
  });
}

// Its importer makes prose of calls and results, and drops reasoning and images.
judge(
  "codex",
  "imports a session that is written for Claude Code",
  async ({ run }) => {
    const { session, options } = await started();
    const { files } = await exportSession(session, options);
    const path = `/srv/home/.claude/${files[0]?.path}`;
    const client = { clientInfo: { name: "judge", title: "judge", version: "1" } };
    const none = { plugins: [], skills: [], mcpServers: [], hooks: [], subagents: [], commands: [] };
    const sessions = [{ path, cwd: work, title: "what is here?" }];
    const item = { itemType: "SESSIONS", description: "", cwd: null, details: { ...none, sessions } };
    const rpc = [
      { method: "initialize", params: { ...client, capabilities: { experimentalApi: true } } },
      { method: "initialized", params: {}, notify: true },
      { method: "externalAgentConfig/detect", params: { includeHome: true, cwds: [work] } },
      { method: "externalAgentConfig/import", params: { migrationItems: [item] } },
      // The import goes on behind its answer.
      { method: "thread/list", params: {} },
    ];
    const result = await run({
      files: inHome(files),
      commands: [{ args: ["app-server"], rpc, seconds: 40 }],
    });
    expect(JSON.stringify(result.results[0]?.answers)).toContain(path);
    const rollout = result.files.find((file) => /rollout-.*\.jsonl$/.test(file.path));
    const text = new TextDecoder().decode(rollout?.bytes);
    const parts = [
      "what is here?",
      "Let me look.",
      "Bash",
      "a.png",
      "no such file",
      "One file.",
      "and now?",
      "Nothing is left.",
    ];
    const places = parts.map((part) => text.indexOf(part));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
  },
  ["0.169.0"],
);

/** A transcript without the agent's own prompts, which are long and not ours to publish. */
function withoutPrompts(bytes: Uint8Array): string {
  const lines = new TextDecoder().decode(bytes).split("\n");
  return lines
    .filter((line) => !line.includes('"type":"api-request'))
    .map((line) => {
      if (line === "") return line;
      const { rendered, attachment, ...rest } = JSON.parse(line);
      if (attachment === undefined) return JSON.stringify(shortened(rest));
      const said =
        rendered === undefined
          ? {}
          : { rendered: [{ content: `<system-reminder>${attachment.type}</system-reminder>` }] };
      return JSON.stringify({ ...rest, attachment: { type: attachment.type }, ...said });
    })
    .join("\n");
}

/** A value without long texts, such as those around the report of a subagent. */
function shortened(value: unknown): unknown {
  if (typeof value === "string")
    return value.length > 300 ? `${value.slice(0, 80)} … ${value.slice(-60)}` : value;
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
}
