/**
 * Writes a session anew as a rollout of the form that every version since 0.58 resumes, or continues the
 * rollout that it was imported from.
 */

import { collectBytes, concatBytes, decodeUtf8, encodeTexts } from "../../core/bytes.js";
import type { SessionEntry } from "../../session/index.js";
import { textUuid } from "../shared/ids.js";
import { type ForeignObject, parseJson, readNumber, readObject, readText } from "../shared/values.js";
import type { AppendSource, WriteSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { keepingMinor } from "./read.js";
import {
  codexSteps,
  emptyState,
  isResponses,
  RolloutLines,
  StepWriter,
  type WrittenState,
} from "./write-steps.js";

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

// Continues the rollout that a session was imported from.

/** The version that was seen to read a rollback (2026-11-23). */
const rollbackMinor = 98;

/**
 * The original bytes with lines after them. Undefined if the file is compressed or of a form without
 * payloads, or if the leaf moved to a place that no rollback names.
 */
export async function appendCodex(source: AppendSource): Promise<WrittenSession | undefined> {
  const { original, from, added } = source;
  const head = appendHead(source);
  const turns = turnsAfter(original.entries, original.leafId, from);
  if (head === undefined || turns === undefined) return undefined;
  if (turns > 0 && !canRollBack(head, source)) return undefined;
  const lines = new RolloutLines({ threadId: original.header.id, ...head.form });
  const [first] = added;
  const time = first === undefined ? source.now() : Date.parse(first.timestamp);
  if (turns > 0) lines.add("event_msg", { type: "thread_rolled_back", num_turns: turns }, time);
  async function* after(): AsyncGenerator<string, void, undefined> {
    const addedIds = new Set(added.map(({ id }) => id));
    const isAdded = (id: string) => addedIds.has(id);
    const { steps, items } = codexSteps(source);
    const writer = new StepWriter(source, items, lines, appendState(source, addedIds));
    for (const outline of steps.outlines) {
      if (isAdded(outline.entryId)) yield* writer.write(await steps.whole(outline));
      else if (outline.kind === "reply" && outline.results.some(({ entryId }) => isAdded(entryId)))
        yield* writer.results((await steps.whole(outline)) as typeof outline, isAdded);
    }
    lines.endTurn(Date.parse(added.at(-1)?.timestamp ?? "") || time);
    yield* lines.take();
  }
  const written = await collectBytes(encodeTexts(after()));
  const files = source.files.map(({ path, bytes }) => {
    if (path !== head.path) return { path, bytes };
    const isTorn = bytes.length > 0 && bytes[bytes.length - 1] !== 10;
    const parts = [bytes, isTorn ? Uint8Array.of(10) : new Uint8Array(), written];
    return { path, bytes: concatBytes(parts) };
  });
  return { files, resume: resumeWords(original.header.id) };
}

/** The file that continues, and the form of its lines. */
interface Head {
  readonly path: string;
  readonly form: { readonly ordinal?: number };
  /** Of the version that began the thread: 0.x. */
  readonly minor: number;
}

/** The last file of the thread; undefined if nothing can be appended to it. */
function appendHead({ files, original }: AppendSource): Head | undefined {
  let found: Head | undefined;
  for (const { path, bytes } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const meta = recordAt(bytes, 0);
    const payload = readObject(meta?.payload);
    if (meta?.type !== "session_meta" || readText(payload?.id) !== original.header.id) continue;
    const last = lastRecord(bytes);
    const ordinal = readNumber(last?.ordinal);
    const [, minor] = /^0\.(\d{1,9})\./.exec(readText(payload?.cli_version) ?? "") ?? [];
    found = {
      path,
      form: ordinal === undefined ? {} : { ordinal: ordinal + 1 },
      minor: Number(minor ?? 0),
    };
  }
  return found;
}

/** Whether a rollback leaves the path up to `from`, and no more. A thread with numbers has no rollbacks. */
function canRollBack({ form, minor }: Head, { outline, from }: AppendSource): boolean {
  if (form.ordinal !== undefined || minor < rollbackMinor) return false;
  const kept = outline.slice(0, outline.findIndex(({ id }) => id === from) + 1);
  const last = kept.findLast(({ type }) => type === "message" || type === "custom_message");
  return minor <= keepingMinor || last?.type === "message";
}

function recordAt(bytes: Uint8Array, start: number): ForeignObject | undefined {
  const feed = bytes.indexOf(10, start);
  return readObject(parseJson(decodeUtf8(bytes.subarray(start, feed < 0 ? bytes.length : feed))));
}

/** The last line that is an object. */
function lastRecord(bytes: Uint8Array): ForeignObject | undefined {
  let end = bytes.length;
  while (end > 0) {
    const start = bytes.lastIndexOf(10, end - 2) + 1;
    const record = recordAt(bytes, start);
    if (record !== undefined || start === 0) return record;
    end = start;
  }
  return undefined;
}

/** The turns between an entry and the leaf; undefined if the entry is not before the start of a turn. */
function turnsAfter(
  entries: readonly SessionEntry[],
  leafId: string | null,
  from: string | null,
): number | undefined {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  let turns = 0;
  let startsTurn = true;
  for (let at = leafId; at !== from; ) {
    const entry = at === null ? undefined : byId.get(at);
    if (entry === undefined || entry.type === "compaction") return undefined;
    if (entry.type === "message" && entry.message.role === "user") {
      turns++;
      startsTurn = true;
    } else if (entry.type === "message" || entry.type === "custom_message") startsTurn = false;
    at = entry.parentId;
  }
  return startsTurn ? turns : undefined;
}

/** The model, the effort and the sums that the original ends with. */
function appendState({ outline, original }: AppendSource, added: ReadonlySet<string>): WrittenState {
  const state = emptyState();
  let { input, output, cacheRead, cacheWrite } = state.totals;
  for (const entry of outline) {
    if (added.has(entry.id)) break;
    if (entry.type === "model_change") state.model = entry.modelId;
    if (entry.type === "thinking_level_change") state.effort = entry.thinkingLevel;
  }
  for (const entry of original.entries) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    const { usage } = entry.message;
    input += usage?.input ?? 0;
    output += usage?.output ?? 0;
    cacheRead += usage?.cacheRead ?? 0;
    cacheWrite += usage?.cacheWrite ?? 0;
  }
  return { ...state, totals: { input, output, cacheRead, cacheWrite } };
}
