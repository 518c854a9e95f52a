/** Writes a session anew: its transcript, and those of its subagents in a folder with their descriptions. */

import { encodeTexts, encodeUtf8 } from "../../core/bytes.js";
import { textDigest, textUuid, toFileName } from "../shared/ids.js";
import { readMilliseconds, readObject, readText } from "../shared/values.js";
import { writeSteps } from "../shared/write-steps.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { isUuid } from "./read.js";
import { LineWriter, type LineWriterInit } from "./write-lines.js";

/** Writes a session and those of its subagents. */
export function writeClaudeCode(source: WriteSource): WrittenSession {
  const { id } = source.header;
  const sessionId = isUuid(id) ? id : textUuid("claude-code", id);
  if (sessionId !== id) source.find({ code: "id", text: `session ${id} has the id ${sessionId}` });
  const folder = `projects/${projectName(source.cwd)}`;
  const files: WrittenSession["files"][number][] = [
    { path: `${folder}/${sessionId}.jsonl`, bytes: encodeTexts(transcriptLines(source, { sessionId })) },
  ];
  const taken = new Set<string>();
  for (const { child, toolUseId, parentAgentId } of sourceSubagents(source)) {
    const agentId = agentIdBySessionId(child.header.id, taken);
    const path = `${folder}/${sessionId}/subagents/agent-${agentId}`;
    const meta = {
      agentType: "general-purpose",
      description: "",
      ...(toolUseId === undefined ? {} : { toolUseId }),
      ...(parentAgentId === undefined ? {} : { parentAgentId }),
    };
    const lines = transcriptLines(child, { sessionId, agentId });
    files.push({ path: `${path}.jsonl`, bytes: encodeTexts(lines) });
    files.push({ path: `${path}.meta.json`, bytes: encodeUtf8(JSON.stringify(meta)) });
  }
  return { files, resume: resumeWords(sessionId) };
}

/** The lines of a session's steps; without any, a line that says whose file it is. */
async function* transcriptLines(
  source: WriteSource,
  init: Pick<LineWriterInit, "sessionId" | "agentId">,
): AsyncGenerator<string, void, undefined> {
  const writer = new LineWriter(source, { ...init, parent: null });
  for await (const step of writeSteps(source)) yield* writer.write(step);
  if (writer.parent === null) yield writer.mark(readMilliseconds(source.header.timestamp) ?? source.now());
}

/**
 * The name of a project's folder: every character but letters and digits is a hyphen. A long name is cut and
 * has a hash after it, which is not that of the agent: it finds a session by its id in any folder.
 */
function projectName(cwd: string): string {
  return toFileName(cwd.replace(/[^A-Za-z0-9]/g, "-") || "-", cwd);
}

interface Subagent {
  readonly child: WriteSource;
  /** The call that started it. */
  readonly toolUseId: string | undefined;
  readonly parentAgentId: string | undefined;
}

/** The children of a session, and theirs. */
function sourceSubagents(source: WriteSource, parentAgentId?: string): readonly Subagent[] {
  const calls = new Map<string, string>();
  for (const { outline } of [source, ...source.children]) {
    for (const entry of outline) {
      if (entry.type !== "custom" || entry.customType !== "sessile.subagent") continue;
      const { toolCallId, sessionId } = readObject(entry.data) ?? {};
      const [call, id] = [readText(toolCallId), readText(sessionId)];
      if (call !== undefined && id !== undefined) calls.set(id, call);
    }
  }
  return source.children.flatMap((child) => {
    const { id } = child.header;
    const own = { child, toolUseId: calls.get(id), parentAgentId };
    return [own, ...sourceSubagents(child, agentIdBySessionId(id, new Set()))];
  });
}

/** The agent's id in the id of its session; of another session some digits of its digest. */
function agentIdBySessionId(sessionId: string, taken: Set<string>): string {
  const own = /\.agent-([A-Za-z0-9-]{1,100})$/.exec(sessionId)?.[1];
  const agentId = own === undefined || taken.has(own) ? `a${textDigest(sessionId).slice(0, 16)}` : own;
  taken.add(agentId);
  return agentId;
}
