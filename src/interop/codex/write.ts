/** Writes a session anew as a rollout of the form that every version since 0.58 resumes. */

import { uuidOf } from "../shared/ids.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { isResponses } from "./write-items.js";
import { RolloutLines } from "./write-lines.js";
import { codexSteps, emptyState, StepWriter } from "./write-steps.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The words of the command that resumes a session. */
export function resumeCodex(sessionId: string): readonly string[] {
  return ["codex", "resume", sessionId];
}

/** Writes a session and those of its subagents. */
export async function writeCodex(source: WriteSource): Promise<WrittenSession> {
  const threadId = threadIdOf(source);
  const files = [await rolloutOf(source, threadId, undefined)];
  for (const child of source.children) files.push(await rolloutOf(child, threadIdOf(child), threadId));
  return { files, resume: resumeCodex(threadId) };
}

/** Codex opens a session only by a UUID. */
function threadIdOf({ header: { id }, find }: WriteSource): string {
  if (uuid.test(id)) return id.toLowerCase();
  const made = uuidOf("codex", id);
  find({ code: "id", text: `session ${id} has the id ${made}` });
  return made;
}

async function rolloutOf(source: WriteSource, threadId: string, parentId: string | undefined) {
  const { header, cwd } = source;
  const created = Date.parse(header.timestamp);
  const time = Number.isNaN(created) ? source.now() : created;
  const timestamp = new Date(time).toISOString();
  const provider = providerOf(source);
  const lines = new RolloutLines({ threadId });
  const parent = header.parentSession;
  const isFork = parentId === undefined && parent !== undefined && uuid.test(parent);
  const spawn = { parent_thread_id: parentId, depth: 1, agent_nickname: null, agent_role: null };
  lines.add(
    "session_meta",
    {
      id: threadId,
      ...(isFork ? { forked_from_id: parent } : {}),
      timestamp,
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
  for (const step of steps) await writer.write(step);
  return { path: pathOf(threadId, timestamp), bytes: lines.bytes() };
}

/** The provider that the caller names, else that of the latest reply that Codex could have had. */
function providerOf({ path, provider }: WriteSource): string {
  if (provider !== undefined) return provider;
  const last = path.findLast(
    (entry) => entry.type === "message" && entry.message.role === "assistant" && isResponses(entry.message),
  );
  if (last?.type !== "message" || last.message.role !== "assistant") return "openai";
  return last.message.provider;
}

/** `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the time without colons. */
function pathOf(threadId: string, timestamp: string): string {
  const day = timestamp.slice(0, 10).replaceAll("-", "/");
  return `sessions/${day}/rollout-${timestamp.slice(0, 19).replaceAll(":", "-")}-${threadId}.jsonl`;
}
