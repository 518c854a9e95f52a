import { buildSessionContext, encodeEntry, memoryBlobStore, parseSession } from "sessile";
import { gemini } from "sessile/gemini-cli";
import { type ExportableSession, exportSession, type ImportedSession, importSession } from "sessile/interop";
import { expect } from "vitest";
import { pixel } from "../gemini-cli/chat-log.js";
import {
  asWritten,
  byKind,
  comparable,
  inWords,
  onceOf,
  projectionOf,
  type Rows,
} from "../gemini-cli/requests.js";
import { compacted, interleaved, noBlobs, rich, said } from "../gemini-cli/written-session.js";
import { judge, keepSample } from "./judge.js";
import type { AgentRun } from "./run.js";

const options = ["-y", "-m", "gemini-2.5-pro"];
const ofChats = /^\.gemini\/(?:projects\.json|tmp\/[^/]+\/chats\/.*\.jsonl?)$/;

/** The chats of a run, with paths below the agent's home. */
const chatsOf = (run: AgentRun) =>
  run.files
    .filter(({ path }) => ofChats.test(path))
    .map(({ path, bytes }) => ({ path: path.slice(".gemini/".length), bytes }));

const inHome = (files: readonly { readonly path: string; readonly bytes: Uint8Array }[]) =>
  files.map(({ path, bytes }) => ({ path: `.gemini/${path}`, bytes }));

const contextFrom = ({ header, entries, leafId }: ExportableSession | ImportedSession) => {
  const known = entries as ImportedSession["entries"];
  const text = [JSON.stringify(header), ...known.map((entry) => encodeEntry(entry))].join("\n");
  return buildSessionContext(parseSession(`${text}\n`), leafId);
};

/** The last request for a reply. */
const requestOf = (run: AgentRun) =>
  run.requests.filter(({ url }) => url.includes("streamGenerateContent")).at(-1)?.body;

/** What version 0.26 reads: one JSON object, in a folder that is named by a digest of the directory. */
function asJson(file: { readonly path: string; readonly bytes: Uint8Array }) {
  const records = new TextDecoder()
    .decode(file.bytes)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  const [head, ...rest] = records;
  let messages: { id: string }[] = [];
  for (const record of rest) {
    if (record.$rewindTo !== undefined)
      messages = messages.slice(
        0,
        Math.max(
          0,
          messages.findIndex(({ id }) => id === record.$rewindTo),
        ),
      );
    else if (record.$set === undefined) messages.push(record);
  }
  const path = file.path.replace(/tmp\/[^/]+\//, `tmp/${head.projectHash}/`).replace(/\.jsonl$/, ".json");
  return { path, bytes: new TextEncoder().encode(JSON.stringify({ ...head, messages })) };
}

for (const [name, session] of Object.entries({
  "a written session": rich,
  "a written compaction": compacted,
  "a written reply with a text between calls": interleaved,
})) {
  judge("gemini", `resumes ${name}`, async ({ version, run }) => {
    const written = await exportSession(session, { to: gemini });
    const [chat] = written.files;
    keepSample("gemini", `written/${name.replaceAll(" ", "-")}.jsonl`, asWritten(chat?.bytes));
    const isOld = version.startsWith("0.26.");
    const files = inHome(isOld ? written.files.map(asJson) : written.files);
    const [, ...resume] = written.resume;
    const result = await run({
      files,
      commands: [{ args: ["--list-sessions"] }, { args: [...options, ...resume, "-p", "go on"] }],
    });
    expect(result.results[1]?.code, result.results[1]?.stderr).toBe(0);
    const listed = `${result.results[0]?.stdout}${result.results[0]?.stderr}`;
    expect(listed).toContain(resume.at(-1));
    const request = requestOf(result);
    keepSample("gemini", `requests/${name.replaceAll(" ", "-")}-${version}.json`, comparable(request));
    const expected = comparable(await projectionOf(contextFrom(session), { blobs: noBlobs, last: "go on" }));
    const order = session === interleaved ? byKind : (rows: Rows) => rows;
    expect(order(comparable(request))).toEqual(order(isOld ? inWords(expected) : expected));
    return isOld && session === rich ? "images of the user became words" : undefined;
  });
}

judge("gemini", "sends what an import of its own run has", async ({ version, run }) => {
  const first = await run({
    work: [{ path: "pixel.png", bytes: Buffer.from(pixel, "base64") }],
    commands: [{ args: [...options, "-p", "what is here?"] }],
    script: {
      replies: [
        {
          reasoning: "**Plan** I will look.",
          text: "Let me look.",
          calls: [
            { id: "call_a", name: "run_shell_command", arguments: { command: "echo hello" } },
            { id: "call_b", name: "read_file", arguments: { file_path: "/srv/work/nope.txt" } },
          ],
        },
        { calls: [{ id: "call_c", name: "read_file", arguments: { file_path: "/srv/work/pixel.png" } }] },
        { text: "All done." },
      ],
    },
  });
  expect(first.results[0]?.code, first.results[0]?.stderr).toBe(0);
  const files = chatsOf(first);
  for (const { path, bytes } of files) keepSample("gemini", `${version}/${path}`, bytes);
  const blobs = memoryBlobStore();
  const imported = await importSession(files, { from: gemini, blobs });
  expect(imported.header.cwd === "/srv/work" || version.startsWith("0.26.")).toBe(true);

  const second = await run({
    files: inHome(files),
    work: [{ path: "pixel.png", bytes: Buffer.from(pixel, "base64") }],
    commands: [{ args: [...options, "--resume", imported.header.id, "-p", "go on"] }],
  });
  expect(second.results[0]?.code, second.results[0]?.stderr).toBe(0);
  const request = requestOf(second);
  keepSample("gemini", `requests/own-run-${version}.json`, comparable(request));
  const ours = comparable(await projectionOf(contextFrom(imported), { blobs, last: "go on" }));
  expect(onceOf(comparable(request))).toEqual(onceOf(ours));

  // The session goes on in this library, from before the last reply, and back.
  const { entries } = imported;
  const { length } = contextFrom(imported).items;
  const leaf = contextFrom(imported).items[length - 2]?.entryId ?? null;
  const more = {
    ...said("something else"),
    id: "more0001",
    parentId: leaf,
    timestamp: "2026-11-23T10:00:00.000Z",
  };
  const changed = { ...imported, entries: [...entries, more as (typeof entries)[number]], leafId: more.id };
  const back = await exportSession(changed, { to: gemini, blobs, cwd: "/srv/work" });
  const isOld = version.startsWith("0.26.");
  expect(back.report.exact).toBe(!isOld);
  const third = await run({
    files: inHome(isOld ? back.files.map(asJson) : back.files),
    commands: [{ args: [...options, "--resume", imported.header.id, "-p", "go on"] }],
  });
  const expected = comparable(await projectionOf(contextFrom(changed), { blobs, last: "go on" }));
  expect(onceOf(comparable(requestOf(third)))).toEqual(onceOf(expected));
});
