/** Results of tools, which opencode has in the part of their call. */

import { type ToolResultMessage, toolCalls } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import type { SessionEntry } from "../../session/index.js";
import { readMilliseconds, readText } from "../shared/values.js";
import type { WriteSource } from "../types.js";
import type { DraftPart, PartWriter } from "./write-parts.js";

/** A call that is written, whose result may follow. */
interface WrittenCall {
  readonly key: string;
  hasResult: boolean;
  /** The same call before a compaction that repeats it. */
  readonly earlier: WrittenCall | undefined;
}

type ToolState = Readonly<Record<string, unknown>> & { readonly metadata: object };

/**
 * The results of calls, found on the outline: a call is written with its result, which follows it anywhere. Takes
 * the entries in the order in which they are written.
 */
export class ToolResults {
  readonly #children: ReadonlyMap<string, string>;
  /** The nearest call of each id. */
  readonly #calls = new Map<string, WrittenCall>();
  /** By entry and id. */
  readonly #byEntry = new Map<string, WrittenCall>();
  /** The entries of results by the key of the call. */
  readonly #results = new Map<string, string>();
  readonly #orphans = new Map<string, string>();
  /** Sessions of subagents by the call that started them. */
  readonly #readChild = new Map<string, string>();

  /** @param children ids of the children in opencode by those of their sessions here */
  constructor(children: ReadonlyMap<string, string>) {
    this.#children = children;
  }

  /** @param round distinguishes repeated entries */
  add(entry: SessionEntry, round: string): void {
    if (entry.type === "custom" && entry.customType === "sessile.subagent") this.#addChild(entry.data);
    if (entry.type !== "message") return;
    const { message } = entry;
    if (message.role === "toolResult") this.#addResult(entry.id, message.toolCallId, round);
    if (message.role !== "assistant") return;
    for (const id of new Set(toolCalls(message).map((call) => call.id))) {
      const place = `${entry.id}\0${id}`;
      const known = this.#byEntry.get(place);
      const earlier = known?.hasResult ? undefined : known;
      const call = { key: callKey(entry.id, id, round), hasResult: false, earlier };
      this.#byEntry.set(place, call);
      this.#calls.set(id, call);
    }
  }

  /** The entry of the result of a call that is written in a round. */
  resultByEntryId(entryId: string, callId: string, round: string): string | undefined {
    return this.#results.get(callKey(entryId, callId, round));
  }

  /** Why no call takes a result; undefined if one does. */
  orphanReason(entryId: string, round: string): string | undefined {
    return this.#orphans.get(`${round}\0${entryId}`);
  }

  childByCallId(callId: string): string | undefined {
    return this.#readChild.get(callId);
  }

  /** The custom entry that names the session of a subagent. */
  #addChild(data: unknown): void {
    const { toolCallId, sessionId } = isRecord(data) ? data : {};
    const id = readText(sessionId);
    const child = id === undefined ? undefined : this.#children.get(id);
    if (child !== undefined) this.#readChild.set(String(toolCallId), child);
  }

  #addResult(entryId: string, callId: string, round: string): void {
    const call = this.#calls.get(callId);
    if (call === undefined || call.hasResult) {
      const reason = `a ${call === undefined ? "result without a call" : "second result of a call"}`;
      this.#orphans.set(`${round}\0${entryId}`, reason);
      return;
    }
    for (let each: WrittenCall | undefined = call; each !== undefined; each = each.earlier) {
      each.hasResult = true;
      this.#results.set(each.key, entryId);
    }
  }
}

function callKey(entryId: string, callId: string, round: string): string {
  return `${round}\0${entryId}\0${callId}`;
}

/** Writes the parts of calls with their results. */
export class ToolParts {
  readonly #source: WriteSource;
  readonly #parts: PartWriter;
  readonly #results: ToolResults;
  /** Whether the session is of opencode: its tools' details are shown there. */
  readonly #isOwn: boolean;

  constructor(source: WriteSource, parts: PartWriter, results: ToolResults) {
    this.#source = source;
    this.#parts = parts;
    this.#results = results;
    this.#isOwn = source.header.id.startsWith("ses_");
  }

  /** The parts of a reply, with the results of its calls. */
  async answered(
    parts: readonly DraftPart[],
    { entryId, start, round }: { readonly entryId: string; readonly start: number; readonly round: string },
  ): Promise<readonly DraftPart[]> {
    const answered: DraftPart[] = [];
    for (const part of parts) {
      const callId = String(part.callID);
      const resultId =
        part.type === "tool" ? this.#results.resultByEntryId(entryId, callId, round) : undefined;
      const entry = resultId === undefined ? undefined : await this.#source.entry(resultId);
      if (entry?.type !== "message" || entry.message.role !== "toolResult") answered.push(part);
      else {
        const state = await this.#partState(part, start, entry, entry.message);
        answered.push({ ...part, state: this.#withChild(state, callId) });
      }
    }
    return answered;
  }

  /** Reports a result that no call takes. */
  report({ id }: SessionEntry, round: string): void {
    const text = this.#results.orphanReason(id, round);
    if (text !== undefined) this.#source.find({ code: "entry", entryId: id, text });
  }

  async #partState(
    part: DraftPart,
    start: number,
    entry: SessionEntry,
    message: ToolResultMessage,
  ): Promise<ToolState> {
    const { input } = part.state as { readonly input: unknown };
    const texts: string[] = [];
    const attachments: DraftPart[] = [];
    for (const block of message.content) {
      const file = await this.#parts.file(block, entry.id);
      if (file !== undefined && typeof file !== "string") attachments.push(file);
      else texts.push(file ?? (block.type === "text" ? block.text : ""));
    }
    const output = texts.join("\n");
    const { details, isError } = message;
    const isKnown = this.#isOwn && isRecord(details);
    const annotation = {
      entry: entry.id,
      ...(texts.length > 1 ? { lengths: texts.map(({ length }) => length) } : {}),
      ...(isKnown || details === undefined ? {} : { details }),
    };
    const end = Math.max(start, readMilliseconds(entry.timestamp) ?? start);
    const time = { start, end };
    const metadata = { ...(isKnown ? details : {}), sessile: annotation };
    // The state of an error has no files.
    if (isError && attachments.length === 0) return { status: "error", input, error: output, metadata, time };
    return {
      status: "completed",
      input,
      output,
      title: "",
      metadata: isError ? { ...metadata, sessile: { ...annotation, isError } } : metadata,
      time,
      ...(attachments.length === 0 ? {} : { attachments }),
    };
  }

  /** Names the session of the subagent that a call started. */
  #withChild(state: ToolState, callId: string): ToolState {
    const child = this.#results.childByCallId(callId);
    return child === undefined ? state : { ...state, metadata: { ...state.metadata, sessionId: child } };
  }
}
