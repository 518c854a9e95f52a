/**
 * Writes a session as a chat of Gemini CLI, in the JSON Lines of version 0.39 and later: anew, or as lines
 * after the original bytes, with a rewind for a leaf that moved back.
 */

import type { AssistantMessage, ImageBlock, TextBlock, ToolCall, Usage } from "../../content/index.js";
import { collectBytes } from "../../core/bytes.js";
import { blockPart, geminiRules, type Part, resultParts, shownText } from "../shared/gemini-parts.js";
import { isFileName, textDigest, textUuid, toFileName } from "../shared/ids.js";
import { appended, encodeRecords, sourceAgain } from "../shared/records.js";
import { type ForeignObject, readMilliseconds, readObject, readText, timeIso } from "../shared/values.js";
import {
  addedSteps,
  describedReply,
  type WriteBlock,
  type WriteResult,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "../shared/write-steps.js";
import type { AppendSource, WriteSource, WrittenSession } from "../types.js";
import { isEnvironment, resumeWords } from "./agent.js";
import { isTextResponse, type Turn, withGuard } from "./history.js";
import { type MainChat, readGemini } from "./read.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The agent deletes chats at its start that were not updated for so long. */
const keptFor = 30 * 24 * 60 * 60 * 1000;

/** Writes a session and those of its subagents. */
export function writeGemini(source: WriteSource): WrittenSession {
  const id = writtenSessionId(source);
  const folder = `tmp/${slugByCwd(source.cwd)}/chats`;
  const started = timeIso(readMilliseconds(source.header.timestamp) ?? source.now());
  const minute = started.slice(0, 16).replace(":", "-");
  const path = `${folder}/session-${minute}-${id.slice(0, 8)}.jsonl`;
  const files = [{ path, bytes: encodeRecords(chatRecords(source, { id, started, kind: "main" })) }];
  for (const child of source.children) {
    const childId = subagentId(child.header.id);
    const begun = timeIso(readMilliseconds(child.header.timestamp) ?? source.now());
    const records = chatRecords(child, { id: childId, started: begun, kind: "subagent" });
    files.push({ path: `${folder}/${id}/${childId}.jsonl`, bytes: encodeRecords(records) });
  }
  return { files, resume: resumeWords(id) };
}

/** The id of the chat. The agent takes a number for a place in its list. */
function writtenSessionId({ header, find }: WriteSource): string {
  if (uuid.test(header.id)) return header.id;
  const id = textUuid("gemini", header.id);
  find({ code: "id", text: `session ${header.id} has the id ${id}` });
  return id;
}

/** The name that the agent gives a project whose folder is the first of that name. */
function slugByCwd(cwd: string): string {
  const name = cwd.split(/[\\/]/).findLast((part) => part !== "") ?? "";
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]{1,255}/g, "-")
    .replace(/^-|-$/g, "");
  return toFileName(slug === "" ? "project" : slug, cwd);
}

async function* chatRecords(
  source: WriteSource,
  { id, started, kind }: { readonly id: string; readonly started: string; readonly kind: string },
): Records<ForeignObject> {
  const { cwd } = source;
  const now = source.now();
  const steps = writeSteps(source, geminiRules);
  const last = steps.outlines.reduce((time, step) => Math.max(time, step.time), 0);
  if (steps.outlines.length > 0 && last < now - keptFor) {
    const text = `the last update, ${timeIso(last)}, is now: the agent deletes what is older than 30 days`;
    source.find({ code: "retimed", text });
  }
  yield {
    sessionId: id,
    projectHash: textDigest(cwd),
    startTime: started,
    lastUpdated: timeIso(now),
    kind,
    ...(kind === "subagent" ? { directories: [cwd] } : {}),
    sessile: { cwd },
  };
  const lines = new ChatLines(new ChatRecords(source));
  for await (const step of steps) yield* lines.of(step);
}

type Records<T> = AsyncGenerator<T, void, undefined>;

/** The records of steps. A compaction drops all messages, and puts those that it keeps after its summary. */
class ChatLines {
  readonly #made: ChatRecords;
  /** The first message in force. */
  #first: string | undefined;
  /** Records of messages that are in the file already, by their entries. */
  readonly #existing: (entryId: string) => readonly MessageRecord[] | undefined;

  /** Records of results that were added after such messages. */
  readonly #late = new Map<string, MessageRecord[]>();

  constructor(
    made: ChatRecords,
    first?: string,
    existing: (entryId: string) => readonly MessageRecord[] | undefined = () => undefined,
  ) {
    this.#made = made;
    this.#first = first;
    this.#existing = existing;
  }

  /** The record of a result after that of its reply, which is in the file already. */
  late(reply: string, record: MessageRecord): readonly MessageRecord[] {
    const known = this.#late.get(reply);
    if (known === undefined) this.#late.set(reply, [record]);
    else known.push(record);
    return this.#put([record]);
  }

  async *of(step: WriteStep): Records<ForeignObject> {
    if (step.kind === "compaction") yield* this.#compact(step);
    else if (step.kind !== "other") yield* this.#put(await this.#stepRecords(step));
    else {
      const record = this.#made.other(step);
      if (typeof record?.id === "string") this.#put([record as MessageRecord]);
      if (record !== undefined) yield record;
    }
  }

  async *#compact(step: WriteStep & { readonly kind: "compaction" }): Records<ForeignObject> {
    if (this.#first !== undefined) yield { $rewindTo: this.#first };
    this.#first = undefined;
    if (step.summary !== "") yield* this.#put([this.#made.summary(step)]);
    for await (const kept of step.kept) {
      if (kept.kind === "user" || kept.kind === "reply") yield* this.#put(await this.#stepRecords(kept));
    }
  }

  async #stepRecords(
    step: WriteStep & { readonly kind: "user" | "reply" },
  ): Promise<readonly MessageRecord[]> {
    const existing = this.#existing(step.entryId);
    if (existing === undefined) return this.#made.of(step);
    return [...existing, ...(this.#late.get(step.entryId) ?? [])];
  }

  #put(records: readonly MessageRecord[]): readonly MessageRecord[] {
    this.#first ??= records[0]?.id;
    return records;
  }
}

// Continues a chat: lines after the original bytes, and a rewind for a leaf that moved back.

/**
 * Appends the steps after `from`. Undefined if the chat is one JSON object, or if `from` is not the last
 * entry of a message that is still in force.
 */
export async function appendGemini(source: AppendSource): Promise<WrittenSession | undefined> {
  const main = readGemini(sourceAgain(source));
  if (main === undefined || !main.chat.path.endsWith(".jsonl")) return undefined;
  const { log, path, sessionId } = main.chat;
  const rewind = rewindTo(main, source.from);
  if (rewind === undefined) return undefined;
  const { length = log.current.length, records } = rewind;
  const kept = log.current.slice(0, length);
  const turns = new Map<string, Turn>();
  for (const turn of log.current) for (const id of main.conversation.turnEntries(turn)) turns.set(id, turn);
  const existing = (entryId: string): readonly MessageRecord[] | undefined => {
    const turn = turns.get(entryId);
    return turn === undefined ? undefined : [{ ...turn.value, id: turn.id }];
  };
  const added = new Set(source.added.map(({ id }) => id));
  const find: AppendSource["find"] = (finding) => {
    if (finding.entryId === undefined || added.has(finding.entryId)) source.find(finding);
  };
  const made = new ChatRecords({ ...source, find });
  const lines = new ChatLines(made, kept[0]?.id, existing);
  async function* after(): AsyncGenerator<ForeignObject, void, undefined> {
    yield* records;
    for await (const { step, late } of addedSteps({ ...source, find }, geminiRules)) {
      if (late === undefined) yield* lines.of(step);
      else yield* lines.late(step.entryId, await made.lateResult(late));
    }
    yield { $set: { lastUpdated: timeIso(source.now()) } };
  }
  const written = await collectBytes(encodeRecords(after()));
  const files = source.files.map((file) =>
    file.path === path ? { path, bytes: appended(file.bytes, written) } : file,
  );
  return { files, resume: resumeWords(sessionId) };
}

/** How the chat returns to an entry: the messages that stay, and the record of the rewind. */
function rewindTo(
  { chat, conversation }: MainChat,
  from: string | null,
): { readonly length?: number; readonly records: readonly { readonly $rewindTo: string }[] } | undefined {
  const { log } = chat;
  if (from === conversation.leaf) return { records: [] };
  const { current } = log;
  if (from === null) {
    const [first] = current;
    return { length: 0, records: first === undefined ? [] : [{ $rewindTo: first.id }] };
  }
  // A place among messages that a compaction kept is not in the tree.
  const at = current.findLastIndex((turn) => conversation.lastTurnEntry(turn) === from && !log.isKept(turn));
  const compaction = log.compaction?.summary;
  const isCompaction = compaction !== undefined && conversation.lastTurnEntry(compaction) === from;
  const last = at < 0 && isCompaction ? current.findLastIndex((turn) => log.isKept(turn)) : at;
  const next = current[last + 1];
  if (last < 0 || next === undefined) return undefined;
  return { length: last + 1, records: [{ $rewindTo: next.id }] };
}

// Steps of a session as records of a chat, as each version of the agent reads them after a resume.

/** A record of a message. */
type MessageRecord = ForeignObject & { readonly id: string };

/** Media that the Gemini API accepts inline. */
const acceptsMedia = (mediaType: string) =>
  /^(?:image|audio|video|text)\/|^application\/pdf$/.test(mediaType);

/**
 * Makes the records of one session. A message that is written again after a compaction has the same ones, and no
 * finding a second time.
 */
class ChatRecords {
  #source: WriteSource;
  /** The ids of subagents' sessions by the calls that started them. */
  readonly #subagents = new Map<string, string>();
  readonly #reported = new Set<string>();
  readonly #written = new Set<string>();

  constructor(source: WriteSource) {
    this.#source = source;
    for (const entry of source.outline) {
      if (entry.type !== "custom" || entry.customType !== "sessile.subagent") continue;
      const { toolCallId, sessionId } = readObject(entry.data) ?? {};
      const [call, session] = [readText(toolCallId), readText(sessionId)];
      if (call !== undefined && session !== undefined) this.#subagents.set(call, subagentId(session));
    }
  }

  /** The records of a message. */
  async of(step: WriteStep & { readonly kind: "user" | "reply" }): Promise<readonly MessageRecord[]> {
    const source = this.#source;
    if (this.#written.has(step.entryId)) this.#source = { ...source, find: () => {} };
    this.#written.add(step.entryId);
    try {
      return step.kind === "user" ? [await this.#user(step)] : await this.#reply(step);
    } finally {
      this.#source = source;
    }
  }

  /** The summary of a compaction, as a message of the user like those that the agent itself makes. */
  summary({ entryId, time, summary, entry }: WriteStep & { readonly kind: "compaction" }): MessageRecord {
    if (entry.systemMessage !== undefined) this.#omit("instructions of this harness", entryId);
    const text = summary.trimStart().startsWith("<state_snapshot>")
      ? summary
      : `<state_snapshot>\n${summary}\n</state_snapshot>`;
    return this.#record(entryId, time, { type: "user", content: [{ text }] });
  }

  /** A step that is no message: the name of the session, a command to the agent. */
  other({ entry, time }: WriteStep & { readonly kind: "other" }): ForeignObject | undefined {
    if (entry.type === "session_info") {
      const name = entry.name ?? entry.title;
      return name === undefined ? undefined : { $set: { summary: name } };
    }
    if (entry.type === "custom") {
      const text = readText(readObject(entry.data)?.text);
      if (entry.customType !== "sessile.command" || text === undefined) return undefined;
      return this.#record(entry.id, time, { type: "user", content: [{ text }] });
    }
    if (entry.type === "model_change" || entry.type === "thinking_level_change")
      this.#omit(`entries of type ${entry.type}`, entry.id);
    return undefined;
  }

  /** A result after the record of its call, which another program has written. */
  async lateResult(result: WriteResult): Promise<MessageRecord> {
    const { parts: content } = await this.#resultParts(result);
    return this.#record(result.entryId, result.time, { type: "user", content }, `late ${result.callId}`);
  }

  async #user(step: WriteStep & { readonly kind: "user" }): Promise<MessageRecord> {
    const { entryId, time, content, customType, display } = step;
    const parts = (await this.#blocks(entryId, content)).map(blockPart);
    const text = shownText(parts);
    const isOwn =
      (customType === "sessile.initial_context" && isEnvironment(text)) ||
      (customType === "sessile.function_response" && isTextResponse(text));
    const own = isTextResponse(text) && isOwn ? text : isOwn ? parts : withGuard(parts);
    const custom = customType === undefined ? {} : { customType, ...(display ? { display } : {}) };
    const sessile = { entry: entryId, ...custom };
    return this.#record(entryId, time, { type: "user", content: own, sessile });
  }

  async #reply(step: WriteStep & { readonly kind: "reply" }): Promise<readonly MessageRecord[]> {
    const { entryId, time, message, results } = step;
    const isOwn = /^google(?:$|-)/.test(message.provider);
    const model = this.#source.modelFor(message) ?? message.model;
    const sessile = { entry: entryId, ...(isOwn ? {} : { provider: message.provider }) };
    const records: MessageRecord[] = [];
    let answered = 0;
    for (const [at, segment] of messageSegments(describedReply(message)).entries()) {
      const thoughts = this.#thoughts(segment, { entryId, isOwn, time });
      const texts = segment.flatMap((block) => (block.type === "text" ? [{ text: block.text }] : []));
      const calls = segment.filter((block): block is ToolCall => block.type === "toolCall");
      const toolCalls = [];
      for (const call of calls) toolCalls.push(await this.#call(call, results[answered++], entryId));
      if (thoughts.length + texts.length + calls.length === 0) continue;
      const [only] = texts;
      records.push(
        this.#record(
          entryId,
          time,
          {
            type: "gemini",
            content: texts.length === 1 && only !== undefined ? only.text : texts.length === 0 ? "" : texts,
            thoughts,
            ...(at === 0 && message.usage !== undefined ? { tokens: usageTokens(message.usage) } : {}),
            model,
            ...(toolCalls.length === 0 ? {} : { toolCalls }),
            sessile: at === 0 ? sessile : { ...sessile, entry: undefined },
          },
          at === 0 ? "" : `segment ${at}`,
        ),
      );
    }
    this.#reportBlocks(message, { entryId, isOwn });
    if (records.length === 0) this.#source.find({ code: "entry", entryId, text: "a reply without content" });
    return records;
  }

  /** Reasoning that the agent sends again: unsigned text of its own models. */
  #thoughts(
    segment: AssistantMessage["content"],
    { entryId, isOwn, time }: { readonly entryId: string; readonly isOwn: boolean; readonly time: number },
  ): readonly ForeignObject[] {
    return segment.flatMap((block) => {
      if (block.type !== "thinking") return [];
      if (isOwn && block.redacted !== true && /\S/.test(block.thinking))
        return [{ subject: "", description: block.thinking, timestamp: timeIso(time) }];
      const text = isOwn ? "reasoning without text" : "reasoning of another maker";
      this.#source.find({ code: "reasoning", entryId, text });
      return [];
    });
  }

  #reportBlocks(message: AssistantMessage, { entryId, isOwn }: { entryId: string; isOwn: boolean }): void {
    const isSigned = message.content.some(
      (block) =>
        (block.type === "text" && block.textSignature !== undefined) ||
        (block.type === "toolCall" && block.thoughtSignature !== undefined) ||
        (block.type === "thinking" && block.thinkingSignature !== undefined && block.redacted !== true),
    );
    if (isSigned && isOwn) this.#source.find({ code: "reasoning", entryId, text: "signatures are left out" });
    for (const { type } of message.content) {
      if (type === "opaque") this.#source.find({ code: "opaque", entryId, text: "a block of a provider" });
    }
  }

  async #call(call: ToolCall, result: WriteResult | undefined, entryId: string): Promise<ForeignObject> {
    const args = readObject(call.arguments);
    if (args === undefined) {
      const text = `arguments of call ${call.id} that are no object are its argument \`input\``;
      this.#source.find({ code: "entry", entryId, text });
    }
    const agentId = this.#subagents.get(call.id);
    const made = result === undefined ? undefined : await this.#resultParts(result);
    return {
      id: call.id,
      name: call.name,
      args: args ?? { input: call.arguments ?? null },
      ...(made === undefined ? {} : { result: made.parts }),
      status: result?.interrupted === true ? "cancelled" : result?.isError === true ? "error" : "success",
      timestamp: timeIso(result?.time ?? 0),
      resultDisplay: readObject(result?.details)?.resultDisplay ?? made?.text ?? "",
      displayName: call.name,
      description: "",
      renderOutputAsMarkdown: false,
      ...(agentId === undefined ? {} : { agentId }),
      ...(result === undefined || result.interrupted ? {} : { sessile: { entry: result.entryId } }),
    };
  }

  /** A result for the model, and its text for people. */
  async #resultParts(
    result: WriteResult,
  ): Promise<{ readonly parts: readonly Part[]; readonly text: string }> {
    return resultParts(result, await this.#blocks(result.entryId, result.content));
  }

  #blocks(entryId: string, content: readonly (TextBlock | ImageBlock)[]): Promise<readonly WriteBlock[]> {
    return writeBlocks(this.#source, entryId, content, acceptsMedia);
  }

  #record(entryId: string, time: number, value: ForeignObject, part = ""): MessageRecord {
    const id = textUuid("gemini", this.#source.header.id, entryId, part);
    return { id, timestamp: timeIso(time), sessile: { entry: entryId }, ...value };
  }

  /** Reports entries without a counterpart in the format, once a kind. */
  #omit(text: string, entryId: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#source.find({ code: "entry", entryId, text });
  }
}

/** The id of a subagent's session, which is the name of its file and in the call that began it. */
function subagentId(sessionId: string): string {
  return /^[\w-]{1,128}$/.test(sessionId) && isFileName(sessionId)
    ? sessionId
    : textUuid("gemini", sessionId);
}

const rank: Readonly<Record<string, number>> = { thinking: 0, text: 1, toolCall: 2 };

/**
 * The blocks of a reply in runs of reasoning, text and calls: a record has them in this order. Blank texts
 * are no part of a request.
 */
function messageSegments({ content }: AssistantMessage): readonly AssistantMessage["content"][] {
  const segments: AssistantMessage["content"][number][][] = [];
  let last = 0;
  for (const block of content) {
    const next = rank[block.type];
    if (next === undefined || (block.type === "text" && !/\S/.test(block.text))) continue;
    if (segments.length === 0 || next < last) segments.push([]);
    segments.at(-1)?.push(block);
    last = next;
  }
  return segments;
}

/** The agent counts cached tokens as a part of the input, and has no count of written ones. */
function usageTokens({ input, output, cacheRead, cacheWrite, totalTokens }: Usage): ForeignObject {
  const prompt = input + cacheRead + cacheWrite;
  const total = totalTokens ?? prompt + output;
  return { input: prompt, output, cached: cacheRead, thoughts: 0, tool: 0, total };
}
