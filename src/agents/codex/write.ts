/** Writes a session anew as a rollout of the form that every version since 0.58 resumes. */

import { encodeTexts } from "../../core/bytes.js";
import { textUuid } from "../shared/ids.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { isResponses } from "./write-items.js";
import { RolloutLines } from "./write-lines.js";
import { codexSteps, emptyState, StepWriter } from "./write-steps.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Writes a session and those of its subagents. */
export function writeCodex(source: WriteSource): WrittenSession {
  const threadId = writeSourceThreadId(source);
  const files = [sourceRollout(source, threadId, undefined)];
  for (const child of source.children) files.push(sourceRollout(child, writeSourceThreadId(child), threadId));
  return { files, resume: resumeWords(threadId) };
}

/** Codex opens a session only by a UUID. */
function writeSourceThreadId({ header: { id }, find }: WriteSource): string {
  if (uuid.test(id)) return id.toLowerCase();
  const made = textUuid("codex", id);
  find({ code: "id", text: `session ${id} has the id ${made}` });
  return made;
}

function sourceRollout(
  source: WriteSource,
  threadId: string,
  parentId: string | undefined,
): WrittenSession["files"][number] {
  const created = Date.parse(source.header.timestamp);
  const time = Number.isNaN(created) ? source.now() : created;
  const lines = rolloutLines(source, { threadId, parentId, time });
  return { path: rolloutPath(threadId, new Date(time).toISOString()), bytes: encodeTexts(lines) };
}

async function* rolloutLines(
  source: WriteSource,
  init: { readonly threadId: string; readonly parentId: string | undefined; readonly time: number },
): AsyncGenerator<string, void, undefined> {
  const { threadId, parentId, time } = init;
  const { header, cwd } = source;
  const provider = writtenProvider(source);
  const lines = new RolloutLines({ threadId });
  const parent = header.parentSession;
  const isFork = parentId === undefined && parent !== undefined && uuid.test(parent);
  const spawn = { parent_thread_id: parentId, depth: 1, agent_nickname: null, agent_role: null };
  lines.add(
    "session_meta",
    {
      id: threadId,
      ...(isFork ? { forked_from_id: parent } : {}),
      timestamp: new Date(time).toISOString(),
      cwd,
      originator: "sessile",
      // Codex lists no session without a version.
      cli_version: "0.0.0",
      source: parentId === undefined ? "cli" : { subagent: { thread_spawn: spawn } },
      model_provider: provider,
    },
    time,
  );
  const { steps, items } = codexSteps(source);
  const writer = new StepWriter(source, items, lines, { ...emptyState(), provider });
  yield* lines.take();
  for await (const step of steps) yield* writer.write(step);
}

/** The provider that the caller names, else that of the latest reply that Codex could have had. */
function writtenProvider({ outline, provider }: WriteSource): string {
  if (provider !== undefined) return provider;
  const last = outline.findLast(
    (entry) => entry.type === "message" && entry.message.role === "assistant" && isResponses(entry.message),
  );
  if (last?.type !== "message" || last.message.role !== "assistant") return "openai";
  return last.message.provider;
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the time without colons. */
function rolloutPath(threadId: string, timestamp: string): string {
  const day = timestamp.slice(0, 10).replaceAll("-", "/");
  return `sessions/${day}/rollout-${timestamp.slice(0, 19).replaceAll(":", "-")}-${threadId}.jsonl`;
}
