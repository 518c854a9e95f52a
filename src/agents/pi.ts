/**
 * The writer of pi's sessions. Its files are read as this library's own, so that a format is needed only to
 * write: pi knows neither resources nor edits, and its names and replies have members that ours may lack.
 */

import type { AssistantMessage, ImageBlock, TextBlock } from "../content/index.js";
import { toFileName } from "./shared/ids.js";
import { encodeRecords } from "./shared/records.js";
import { type ForeignObject, timeIso } from "./shared/values.js";
import {
  describedReply,
  type WriteResult,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "./shared/write-steps.js";
import type { ForeignFormat, WriteSource, WrittenSession } from "./types.js";

/** The format of pi, for an export. */
export const pi: ForeignFormat = {
  name: "pi",
  write: writePi,
};

/** Version 3 is what pi 0.73 to 1.6 write. */
const version = 3;

function writePi(source: WriteSource): WrittenSession {
  const { header, cwd } = source;
  const id = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,255}[A-Za-z0-9])?$/.test(header.id)
    ? header.id
    : toFileName(`s-${header.id.slice(0, 100).replace(/[^A-Za-z0-9]/g, "-")}-s`, header.id);
  if (id !== header.id) source.find({ code: "id", text: `session ${header.id} has the id ${id}` });
  const folder = `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`;
  const file = `${header.timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`;
  const head = { type: "session", version, id, timestamp: header.timestamp, cwd };
  const { length } = source.children;
  if (length > 0) source.find({ code: "entry", text: `${length} sessions of subagents` });
  const records = piRecords(source, head);
  const path = `sessions/${toFileName(folder, cwd)}/${toFileName(file, id)}`;
  return { files: [{ path, bytes: encodeRecords(records) }], resume: ["pi", "--session", id] };
}

async function* piRecords(
  source: WriteSource,
  head: ForeignObject,
): AsyncGenerator<ForeignObject, void, undefined> {
  yield head;
  let parentId: string | null = null;
  const used = new Set<string>();
  const place = ({ entryId, time }: { readonly entryId: string; readonly time: number }, type: string) => {
    let id = entryId;
    for (let at = 1; used.has(id); at++) id = `${entryId}-${at}`;
    used.add(id);
    const placed = { type, id, parentId, timestamp: timeIso(time) };
    parentId = id;
    return placed;
  };
  const messages = async function* (
    step: WriteStep & { readonly kind: "user" | "reply" },
  ): AsyncGenerator<ForeignObject, void, undefined> {
    if (step.kind === "user") {
      const content = await piBlocks(source, step.entryId, step.content);
      const { customType, display } = step;
      if (customType === undefined)
        yield { ...place(step, "message"), message: { role: "user", content, timestamp: step.time } };
      else yield { ...place(step, "custom_message"), customType, content, display };
      return;
    }
    yield { ...place(step, "message"), message: piReply(source, step.entryId, step.message) };
    for (const result of step.results)
      yield { ...place(result, "message"), message: await piResult(source, result) };
  };
  for await (const step of writeSteps(source)) {
    if (step.kind === "user" || step.kind === "reply") yield* messages(step);
    else if (step.kind === "compaction") {
      const kept: (WriteStep & { readonly kind: "user" | "reply" })[] = [];
      for await (const each of step.kept) if (each.kind === "user" || each.kind === "reply") kept.push(each);
      const { tokensBefore, details, timestamp } = step.entry;
      const time = { ...step, time: Date.parse(timestamp) };
      const first = kept[0]?.entryId;
      const isSuffix = first !== undefined && used.has(first) && keepsAll(source, first, step.entryId, kept);
      const { id, ...rest } = place(time, "compaction");
      const firstKeptEntryId = isSuffix ? first : id;
      yield { ...rest, id, summary: step.summary, firstKeptEntryId, tokensBefore, details };
      // Messages that are not all those before the compaction stand behind it again.
      if (!isSuffix) for (const each of kept) yield* messages(each);
    } else if (step.entry.type === "model_change" || step.entry.type === "thinking_level_change") {
      const { type, id: _, parentId: _parent, timestamp: _time, ...fields } = step.entry;
      yield { ...place(step, type), ...fields };
    } else if (step.entry.type === "session_info") {
      const name = step.entry.name ?? step.entry.title;
      if (name !== undefined) yield { ...place(step, "session_info"), name };
    }
  }
}

/** Whether a compaction keeps every message from one on, so that the one is all that pi needs to know. */
function keepsAll(
  source: WriteSource,
  first: string,
  compaction: string,
  kept: readonly WriteStep[],
): boolean {
  const ids = source.outline.map(({ id }) => id);
  const between = source.outline.slice(ids.indexOf(first), ids.indexOf(compaction));
  const wanted = new Set(
    kept.flatMap((step) => [
      step.entryId,
      ...(step.kind === "reply" ? step.results.map(({ entryId }) => entryId) : []),
    ]),
  );
  const shown = between.filter(({ type }) => ["message", "custom_message", "branch_summary"].includes(type));
  return shown.every(({ id }) => wanted.has(id)) && between.every(({ type }) => type !== "compaction");
}

async function piBlocks(
  source: WriteSource,
  entryId: string,
  content: readonly (TextBlock | ImageBlock)[],
): Promise<readonly ForeignObject[]> {
  const blocks = await writeBlocks(source, entryId, content);
  return blocks.map((block) =>
    block.type === "text" ? block : { type: "image", data: block.base64, mimeType: block.mediaType },
  );
}

/** Reasons that pi knows. A reply that was declined or paused is complete for it. */
const stopReasons = new Set(["stop", "length", "toolUse", "error", "aborted"]);

function piReply(source: WriteSource, entryId: string, reply: AssistantMessage): ForeignObject {
  const { content, provider, model, api, usage, stopReason, errorMessage, timestamp } = describedReply(reply);
  const blocks = content.filter(({ type }) => type === "text" || type === "thinking" || type === "toolCall");
  if (blocks.length < content.length)
    source.find({ code: "opaque", entryId, text: "a block that pi has no form for" });
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const counts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, ...usage };
  const calls = blocks.some(({ type }) => type === "toolCall");
  return {
    role: "assistant",
    content: blocks,
    api: api ?? "unknown",
    provider,
    model: source.modelFor({ provider, model }) ?? model,
    usage: { ...counts, cost: { ...none, ...usage?.cost } },
    stopReason: stopReasons.has(stopReason ?? "") ? stopReason : calls ? "toolUse" : "stop",
    ...(errorMessage === undefined ? {} : { errorMessage }),
    timestamp,
  };
}

async function piResult(source: WriteSource, result: WriteResult): Promise<ForeignObject> {
  const { callId, toolName, isError, entryId, time, details } = result;
  const content = await piBlocks(source, entryId, result.content);
  return {
    ...{ role: "toolResult", toolCallId: callId, toolName, content, isError, timestamp: time },
    ...(details === undefined ? {} : { details }),
  };
}
