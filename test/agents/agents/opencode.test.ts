import { memoryBlobStore } from "sessile";
import { opencode } from "sessile/opencode";
import { expect } from "vitest";
import { collectFiles } from "../../../src/agents/export.js";
import { decodeUtf8 } from "../../../src/core/bytes.js";
import { adopted, chatOf, comparable, png, richSession, writeSource } from "../opencode/sessions.js";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";
import { judge, keepSample } from "./judge.js";
import type { AgentRun } from "./run.js";
import type { RecordedRequest, Script } from "./script.js";

const script: Script = {
  replies: [
    {
      reasoning: "I will list the files.",
      text: "Let me look.",
      calls: [
        { id: "call_a", name: "bash", arguments: { command: "echo hello", description: "Says hello" } },
        { id: "call_b", name: "read", arguments: { filePath: "/srv/work/absent.txt" } },
      ],
    },
    { calls: [{ id: "call_c", name: "read", arguments: { filePath: "/srv/work/pixel.png" } }] },
    {
      calls: [
        {
          id: "call_d",
          name: "task",
          arguments: { description: "greet", prompt: "say hi", subagent_type: "general" },
        },
      ],
    },
    { text: "Hi from the subagent." },
    { text: "All done." },
  ],
};
const pixel = { path: "pixel.png", bytes: Buffer.from(png, "base64") };
const stored = /^\.local\/share\/opencode\/(?:opencode\.db|storage\/)/;
const data = (run: AgentRun) => run.files.filter(({ path }) => stored.test(path));
const model = { providerID: "scripted", modelID: "m1" };

/** The messages of the last request with tools that a command led to. */
function messagesOf(run: AgentRun, command: number): readonly ReducedMessage[] {
  const isTurn = ({ body, command: of }: RecordedRequest) =>
    of === command && typeof body === "object" && body !== null && "tools" in body;
  return reduceRequest(run.requests.findLast(isTurn)?.body);
}

/** What `opencode export` printed. */
const exported = (run: AgentRun, command: number): Uint8Array =>
  Buffer.from(run.results[command]?.stdout ?? "", "utf8");

judge("opencode", "import: its next request is our context", async ({ version, run }) => {
  const first = await run({
    commands: [{ args: ["run", "look", "--format", "json", "-f", "pixel.png"] }],
    script,
    work: [pixel],
  });
  const id = /ses_[0-9A-Za-z]+/.exec(first.results[0]?.stdout ?? "")?.[0] ?? "";
  const say = (words: string) => ({ args: ["run", "-s", id, "--", words] });
  const print = { args: ["export", id] };
  const second = await run({
    files: data(first),
    work: [pixel],
    commands: [
      print,
      say("continue"),
      print,
      { args: ["serve"], http: [{ method: "POST", path: `/session/${id}/summarize`, body: model }] },
      print,
      say("continue"),
      print,
    ],
  });
  expect(second.results[3]).toMatchObject({ answers: [true] });
  const last = JSON.parse(decodeUtf8(exported(second, 6)) ?? "") as {
    readonly messages: readonly { readonly info: { readonly id: string; readonly role: string } }[];
  };
  const messageID = last.messages.findLast(({ info }) => info.role === "user")?.info.id;
  const undo = { method: "POST", path: `/session/${id}/revert`, body: { messageID } };
  const third = await run({
    files: data(second),
    work: [pixel],
    commands: [{ args: ["serve"], http: [undo] }, print, say("continue")],
  });
  const checks = [
    ["export", exported(second, 0), messagesOf(second, 1)],
    ["compacted", exported(second, 4), messagesOf(second, 5)],
    ["reverted", exported(third, 1), messagesOf(third, 2)],
  ] as const;
  for (const [name, bytes, recorded] of checks) {
    const { session, blobs } = await adopted([{ path: "export.json", bytes }]);
    expect(recorded.length, `${name} of ${version}`).toBeGreaterThan(2);
    keepSample("opencode", `${version}/${name}.json`, bytes);
    keepSample("opencode", `${version}/${name}.request.json`, recorded);
    const context = comparable([...(await chatOf(session, blobs)), { role: "user", text: "continue" }]);
    expect(context, name).toEqual(comparable(recorded));
  }
  const { session, blobs } = await adopted(data(first), { session: id });
  const context = comparable([...(await chatOf(session, blobs)), { role: "user", text: "continue" }]);
  expect(context).toEqual(comparable(messagesOf(second, 1)));
  return "exported, compacted, reverted, stored";
});

judge("opencode", "export: it resumes with our context, and gives our ids back", async ({ run }) => {
  const ours = memoryBlobStore();
  const session = await richSession(ours);
  const source = await writeSource(session, ours, { modelFor: () => "scripted/m1" });
  const written = await opencode.write(source);
  const [file] = await collectFiles(written.files);
  const path = file?.path ?? "";
  const id = path.replace(/\.json$/, "");
  const { requests, results, ...rest } = await run({
    work: [{ path, bytes: file?.bytes ?? "" }],
    commands: [
      { args: written.resume.slice(1) },
      { args: ["export", id] },
      { args: ["run", "-s", id, "--", "continue"] },
    ],
  });
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  const recorded = messagesOf({ requests, results, ...rest }, 2);
  const context = comparable([...(await chatOf(session, ours)), { role: "user", text: "continue" }]);
  expect(comparable(recorded)).toEqual(context);
  const bytes = exported({ requests, results, ...rest }, 1);
  const back = await adopted([{ path, bytes }]);
  const kinds = ["message", "custom_message", "compaction", "context_edit"];
  const idsOf = (entries: readonly { readonly id: string; readonly type: string }[]) =>
    entries.filter(({ type }) => kinds.slice(0, 3).includes(type)).map((entry) => entry.id);
  expect(back.imported.header.id).toBe(session.header?.id);
  expect(idsOf(back.imported.entries)).toEqual(idsOf(source.outline));
  expect(comparable(await chatOf(back.session, back.blobs))).toEqual(comparable(await chatOf(session, ours)));
});
