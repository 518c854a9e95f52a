/**
 * Writes a session as transcripts of Claude Code: anew, with those of its subagents in a folder, or as lines
 * after the bytes of a transcript.
 */

import type { AssistantMessage, ImageBlock, TextBlock, Usage } from "../../content/index.js";
import { plainContent } from "../../content/internal.js";
import { unreachable } from "../../core/arguments.js";
import { collectBytes, concatBytes, encodeTexts, encodeUtf8 } from "../../core/bytes.js";
import { isRecord } from "../../core/shape.js";
import type { SessionEntry } from "../../session/index.js";
import { textDigest, textUuid, toFileName } from "../shared/ids.js";
import { readLines, sourceAgain } from "../shared/records.js";
import { readMilliseconds, readObject, readText } from "../shared/values.js";
import {
  describedReply,
  filledReply,
  type WriteResult,
  type WriteStep,
  type WriteSteps,
  writeBlocks,
  writeSteps,
} from "../shared/write-steps.js";
import type { AppendSource, WriteSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { type Line, lineBlocks, linkedTranscript, startMark, type Unit } from "./lines.js";
import { isUuid, LineCollection, nameByPath, readClaudeCode } from "./read.js";
import { layOut } from "./units.js";

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

// Continues a transcript: new lines after its bytes, of which the first names the line that they follow. For
// a conversation that continues at its end, or at an earlier line.

const maxLineBytes = 64 * 1024 * 1024;

/** Appends lines; undefined if the change cannot be said after the bytes. */
export async function appendClaudeCode(source: AppendSource): Promise<WrittenSession | undefined> {
  const { files, original, from, added } = source;
  const { id: sessionId } = original.header;
  const file = files.find(({ path }) => path.endsWith(".jsonl") && nameByPath(path) === sessionId);
  if (file === undefined || !isUuid(sessionId)) return undefined;
  const lines = appendedLines(file);
  const parent = from === null ? null : lastLine(lines, from, source);
  if (parent === undefined || (from === null && added.length === 0)) return undefined;
  const addedIds = new Set(added.map(({ id }) => id));
  const find: AppendSource["find"] = (finding) => {
    if (finding.entryId === undefined || addedIds.has(finding.entryId)) source.find(finding);
  };
  const writer = new LineWriter({ ...source, find }, { sessionId, parent, after: latestTime(lines) });
  const steps = writeSteps({ ...source, find });
  if (changesCalls(steps.outlines, addedIds, original.entries)) return undefined;
  async function* after(): AsyncGenerator<string, void, undefined> {
    yield* addedLines(steps, writer, source);
    if (writer.parent === parent && from !== original.leafId) yield writer.mark(source.now());
  }
  const tail = file.bytes.at(-1) === 10 || file.bytes.length === 0 ? [] : [Uint8Array.of(10)];
  const bytes = concatBytes([file.bytes, ...tail, await collectBytes(encodeTexts(after()))]);
  return {
    files: files.map((each) => (each === file ? { path: file.path, bytes } : each)),
    resume: resumeWords(sessionId),
  };
}

/** The lines of the steps that were added, and of the results that were added to earlier ones. */
async function* addedLines(
  steps: WriteSteps,
  writer: LineWriter,
  { added, find }: AppendSource,
): AsyncGenerator<string, void, undefined> {
  const addedIds = new Set(added.map(({ id }) => id));
  const last = steps.outlines.findLast((step) => !addedIds.has(step.entryId));
  for (const outline of steps.outlines) {
    if (addedIds.has(outline.entryId)) {
      yield* writer.write(await steps.whole(outline));
      continue;
    }
    // An open call of the last reply: the agent would leave out the whole reply.
    const isOpen = outline === last && added.length > 0;
    const isAdded = ({ entryId, interrupted }: WriteResult) =>
      interrupted === true ? isOpen : addedIds.has(entryId);
    if (outline.kind !== "reply" || !outline.results.some(isAdded)) continue;
    const step = (await steps.whole(outline)) as typeof outline;
    const results = step.results.filter(isAdded);
    for (const { callId, entryId, interrupted } of results)
      if (interrupted === true) find({ code: "interrupted", entryId, text: `call ${callId} has no result` });
    yield* writer.results(step.entryId, results);
  }
}

/** Whether the original has a call whose id or name a writer would change: its line stays as it is. */
function changesCalls(
  steps: readonly WriteStep[],
  addedIds: ReadonlySet<string>,
  entries: readonly SessionEntry[],
): boolean {
  const ids = new Set<string>();
  for (const entry of entries) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    for (const block of entry.message.content) if (block.type === "toolCall") ids.add(block.id);
  }
  return steps.some(
    (step) =>
      step.kind === "reply" &&
      !addedIds.has(step.entryId) &&
      step.results.some(({ callId }) => !ids.has(callId)),
  );
}

/** The lines of the session itself. */
function appendedLines({ path, bytes }: AppendSource["files"][number]): readonly Line[] {
  const lines = new LineCollection();
  for (const found of readLines(bytes, maxLineBytes)) {
    if (found.kind !== "record" || found.value.isSidechain === true) continue;
    lines.add({ file: path, line: found.line, value: found.value });
  }
  return lines.lines;
}

function latestTime(lines: readonly Line[]): number {
  return lines.reduce((latest, { value }) => Math.max(latest, readMilliseconds(value.timestamp) ?? 0), 0);
}

/**
 * The uuid of the line that an entry ends in. Undefined for an entry in the middle of a reply, since lines
 * after it would follow all of the reply's results, and for one without a line.
 */
function lastLine(lines: readonly Line[], from: string, source: AppendSource): string | undefined {
  const { entries } = source.original;
  const { units } = layOut(linkedTranscript(lines, false));
  const again = readClaudeCode(sourceAgain(source));
  const owners = new Map<string, Unit>();
  for (const unit of units) {
    for (const [recordId, part] of unitParts(unit)) {
      const id = again?.idByRecordId(recordId, part);
      if (id !== undefined && !owners.has(id)) owners.set(id, unit);
    }
  }
  // The link to a subagent is after the result that it came with.
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  let end = byId.get(from);
  while (end?.type === "custom" && end.customType === "sessile.subagent") end = byId.get(end.parentId ?? "");
  const unit = end === undefined ? undefined : owners.get(end.id);
  if (unit === undefined) return undefined;
  const isInside = entries.some(({ id, parentId }) => parentId === from && owners.get(id) === unit);
  return isInside ? undefined : (unit.results.at(-1) ?? unit.lines.at(-1))?.uuid;
}

/** The records and parts that the entries of a unit have their ids of. */
function unitParts({ kind, lines, results }: Unit): readonly (readonly [recordId: string, part: string])[] {
  const parts: (readonly [string, string])[] = [];
  const [first] = lines;
  if (first !== undefined) parts.push([first.uuid, ""]);
  if (kind === "line" && first?.value.subtype === "microcompact_boundary") return [];
  for (const line of results) {
    for (const part of lineBlocks(line).keys()) parts.push([line.uuid, String(part)]);
    parts.push([line.uuid, "text"]);
  }
  return parts;
}

// The lines of a transcript as this library writes them: one chain, one line a message. Each rule was seen in
// requests of Claude Code 1.0.128, 2.0.77 and 2.1.330 after a resume; test/agents/agents has the runs.

/** The version in the lines: the newest of which the rules were seen. */
const writtenVersion = "2.1.330";

/** Media types of images and documents that the API takes. */
const mediaTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]);

/** The summary of a compaction without one. */
const noSummary = "[The conversation before this is left out.]";

type Fields = Readonly<Record<string, unknown>>;

interface LineWriterInit {
  readonly sessionId: string;
  /** The uuid of the line that the first one follows. */
  readonly parent: string | null;
  /** Milliseconds since 1970: each line is later. @default the start of time */
  readonly after?: number;
  /** Of a subagent. */
  readonly agentId?: string;
}

/** Lines with their line feeds. */
type Lines = AsyncGenerator<string, void, undefined>;

/** Writes steps as lines. */
class LineWriter {
  readonly #source: WriteSource;
  readonly #init: LineWriterInit;
  #parent: string | null;
  /** Of the last line as it was written, and as its step has it. */
  #written: number;
  #own = 0;
  #isRetimed = false;
  /** Whether the next line begins the conversation again, after other lines of the file. */
  #isStart: boolean;
  /** In the uuids of messages that a compaction keeps, which are written again. */
  #copyLine = "";

  constructor(source: WriteSource, init: LineWriterInit) {
    this.#source = source;
    this.#init = init;
    this.#parent = init.parent;
    this.#isStart = init.parent === null && init.after !== undefined;
    this.#written = init.after ?? 0;
  }

  /** The uuid of the last line. */
  get parent(): string | null {
    return this.#parent;
  }

  async *write(step: WriteStep): Lines {
    switch (step.kind) {
      case "user":
        yield* this.#user(step);
        return;
      case "reply":
        yield* this.#reply(step);
        yield* this.results(step.entryId, step.results);
        return;
      case "compaction":
        yield* this.#compaction(step);
        return;
      case "other":
        yield* this.#other(step);
    }
  }

  /** Writes the results of a reply: the agent takes them from one line. */
  async *results(replyId: string, results: readonly WriteResult[]): Lines {
    if (results.length === 0) return;
    const content: unknown[] = [];
    const behind: unknown[] = [];
    for (const result of results) {
      const blocks = await this.#blocks(result.entryId, result.content);
      // The API refuses anything but text in a failed result.
      const inside = result.isError ? blocks.filter(({ type }) => type === "text") : blocks;
      for (const block of blocks) if (!inside.includes(block)) behind.push(block);
      content.push({
        type: "tool_result",
        tool_use_id: result.callId,
        content: inside.length === 0 ? "" : plainContent(inside),
        ...(result.isError ? { is_error: true } : {}),
      });
    }
    const time = results.reduce((least, result) => Math.min(least, result.time), Number.POSITIVE_INFINITY);
    yield this.#line(
      "user",
      { message: { role: "user", content: [...content, ...behind] } },
      `${replyId} results`,
      time,
    );
  }

  /** A line without content, which makes the conversation end in the one before it. */
  mark(time: number): string {
    const fields = {
      subtype: "informational",
      content: "The conversation goes on from here.",
      isMeta: false,
      level: "info",
    };
    return this.#line("system", fields, `end ${this.#parent} ${time}`, time);
  }

  async *#user(step: WriteStep & { readonly kind: "user" }): Lines {
    const blocks = await this.#blocks(step.entryId, step.content);
    if (blocks.length === 0) return;
    const isNote = step.customType !== undefined && !step.display;
    const message = { role: "user", content: plainContent(blocks) };
    yield this.#line("user", { message, ...(isNote ? { isMeta: true } : {}) }, step.entryId, step.time);
  }

  async *#reply({ entryId, message, time }: WriteStep & { readonly kind: "reply" }): Lines {
    const isClaude = message.provider === "anthropic";
    const filled = isClaude ? await filledReply(this.#source, entryId, message) : message;
    const content = replyBlocks(filled, entryId, this.#source);
    if (content.length === 0) return;
    const { provider, model, usage } = message;
    const digest = textDigest(this.#init.sessionId, entryId, this.#copyLine);
    const fields = {
      id: `msg_${digest.slice(0, 24)}`,
      type: "message",
      role: "assistant",
      model: provider === "anthropic" ? model : (this.#source.modelFor({ provider, model }) ?? model),
      content,
      stop_reason: assistantMessageStopReason(message),
      stop_sequence: null,
      usage: readUsage(usage),
    };
    yield this.#line(
      "assistant",
      { message: fields, requestId: `req_${digest.slice(0, 24)}` },
      entryId,
      time,
    );
  }

  async *#compaction(step: WriteStep & { readonly kind: "compaction" }): Lines {
    const { entryId, entry, summary, kept, time } = step;
    const logicalParentUuid = this.#parent;
    this.#parent = null;
    const compactMetadata = { trigger: "manual", preTokens: entry.tokensBefore };
    const boundary = {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      isMeta: false,
      level: "info",
    };
    yield this.#line("system", { logicalParentUuid, ...boundary, compactMetadata }, entryId, time);
    const flags = { isVisibleInTranscriptOnly: true, isCompactSummary: true };
    // A boundary alone would not end the conversation before it.
    const content = isBlank(summary) ? noSummary : summary;
    yield this.#line("user", { message: { role: "user", content }, ...flags }, `${entryId} summary`, time);
    const outer = this.#copyLine;
    this.#copyLine = entryId;
    for await (const each of kept) yield* this.write(each);
    this.#copyLine = outer;
  }

  *#other({ entry, entryId }: WriteStep & { readonly kind: "other" }): Generator<string, void, undefined> {
    const { sessionId } = this.#init;
    if (entry.type === "session_info") {
      const { name, title } = entry;
      if (name !== undefined) yield printed({ type: "custom-title", customTitle: name, sessionId });
      if (title !== undefined) yield printed({ type: "ai-title", aiTitle: title, sessionId });
    } else if (entry.type !== "custom") {
      this.#source.find({ code: "entry", entryId, text: `a ${entry.type}` });
    }
  }

  /** The content of a message for the API, without blank text, which it refuses. */
  async #blocks(
    entryId: string,
    content: readonly (TextBlock | ImageBlock)[],
  ): Promise<readonly ShownBlock[]> {
    const blocks = await writeBlocks(this.#source, entryId, content, (mediaType) =>
      mediaTypes.has(mediaType),
    );
    return blocks.flatMap((block): readonly ShownBlock[] => {
      if (block.type === "text") return isBlank(block.text) ? [] : [{ type: "text", text: block.text }];
      const { mediaType, base64 } = block;
      const type = mediaType === "application/pdf" ? "document" : "image";
      return [{ type, source: { type: "base64", media_type: mediaType, data: base64 } }];
    });
  }

  /** A time later than that of the line before: 1.0.128 resumes at the line with the latest time. */
  #later(time: number): number {
    if (time < this.#own && !this.#isRetimed) {
      this.#isRetimed = true;
      this.#source.find({ code: "retimed", text: "times that run backwards are later in the lines" });
    }
    this.#own = time;
    this.#written = Math.max(time, this.#written + 1);
    return this.#written;
  }

  /** Makes a line that follows the one before. */
  #line(type: string, fields: Fields, recordId: string, time: number): string {
    const { sessionId, agentId } = this.#init;
    const uuid = textUuid(sessionId, recordId, this.#copyLine);
    const line = printed({
      parentUuid: this.#parent,
      isSidechain: agentId !== undefined,
      ...(agentId === undefined ? {} : { agentId }),
      userType: "external",
      cwd: this.#source.cwd,
      sessionId,
      version: writtenVersion,
      gitBranch: "",
      type,
      ...fields,
      uuid,
      timestamp: new Date(this.#later(time)).toISOString(),
      ...(this.#isStart ? { sessile: startMark } : {}),
    });
    this.#isStart = false;
    this.#parent = uuid;
    return line;
  }
}

function printed(fields: Fields): string {
  return `${JSON.stringify(fields)}\n`;
}

type ShownBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "document"; readonly source: unknown };

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** The blocks that the API accepts: its own signed reasoning and unknown blocks, from whole replies only. */
function replyBlocks(message: AssistantMessage, entryId: string, source: WriteSource): readonly unknown[] {
  const { provider, stopReason, account, api = "anthropic-messages" } = message;
  const isCut = stopReason === "aborted" || stopReason === "error";
  const isOwn =
    provider === "anthropic" &&
    !isCut &&
    account === undefined &&
    (api === "anthropic-messages" || api === "unknown");
  const drop = (code: "reasoning" | "opaque", text: string) => {
    source.find({ code, entryId, text });
    return [];
  };
  return message.content.flatMap((block): readonly unknown[] => {
    switch (block.type) {
      case "text": {
        if (isBlank(block.text)) return [];
        return [{ ...(isOwn ? block.providerFields : {}), type: "text", text: block.text }];
      }
      case "image":
        return [{ type: "text", text: `[image, ${block.mimeType}]`.toWellFormed() }];
      case "thinking": {
        const { thinking, thinkingSignature: signature = "", redacted } = block;
        if (isBlank(thinking) && signature === "") return [];
        if (!isOwn || signature === "")
          return drop("reasoning", isOwn ? "without a signature" : "of another maker, or cut off");
        if (redacted === true)
          return [{ ...block.providerFields, type: "redacted_thinking", data: signature }];
        return [{ ...block.providerFields, type: "thinking", thinking, signature }];
      }
      case "toolCall": {
        const { id, name, arguments: args, providerFields } = block;
        if (!isRecord(args) && args !== null && args !== undefined)
          source.find({
            code: "entry",
            entryId,
            text: `the arguments of ${id} are no object: they are its member value`,
          });
        const input = isRecord(args) ? args : args === null || args === undefined ? {} : { value: args };
        return [{ ...(isOwn ? providerFields : {}), type: "tool_use", id, name, input }];
      }
      case "opaque": {
        const { data } = block;
        if (isOwn && isRecord(data) && typeof data.type === "string") return [data];
        drop("opaque", "a block of another maker, or of a reply that was cut off");
        return describedReply({ ...message, content: [block] }).content.filter(({ type }) => type === "text");
      }
      default:
        return unreachable(block);
    }
  });
}

function assistantMessageStopReason({ stopReason, refused }: AssistantMessage): string | null {
  if (refused === true) return "refusal";
  switch (stopReason) {
    case "toolUse":
      return "tool_use";
    case "length":
      return "max_tokens";
    case "pause":
      return "pause_turn";
    case "error":
    case "aborted":
      return null;
    default:
      return "end_turn";
  }
}

function readUsage(usage: Usage | undefined): Fields {
  return {
    input_tokens: usage?.input ?? 0,
    cache_creation_input_tokens: usage?.cacheWrite ?? 0,
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    output_tokens: usage?.output ?? 0,
  };
}
