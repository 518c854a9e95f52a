/**
 * Blocks as parts of opencode: texts, files, reasoning, calls, and results, which are in the part of their
 * call.
 */

import {
  type AssistantMessage,
  type ImageBlock,
  type TextBlock,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
} from "../../content/index.js";
import { unreachable } from "../../core/arguments.js";
import { encodeBase64 } from "../../core/base64.js";
import { decodeUtf8 } from "../../core/bytes.js";
import { isRecord } from "../../core/shape.js";
import type { SessionEntry } from "../../session/index.js";
import { readMilliseconds, readText } from "../shared/values.js";
import { describedReply } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { metadataFor, signedBy } from "./signatures.js";

/** A part without its ids. */
export interface DraftPart {
  readonly type: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly state?: unknown;
  readonly [member: string]: unknown;
}

type Shown = string | readonly (TextBlock | ImageBlock)[];

/** Longer texts of files are named only. */
const maxFileText = 256 * 1024;

export class PartWriter {
  readonly #source: WriteSource;

  constructor(source: WriteSource) {
    this.#source = source;
  }

  /** The parts of a message in the user's place. */
  async shown(content: Shown, entryId: string, members: object): Promise<readonly DraftPart[]> {
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const parts: DraftPart[] = [];
    for (const block of blocks) {
      const file = await this.file(block, entryId);
      if (file !== undefined && typeof file !== "string") parts.push(file);
      else if (file !== "") parts.push({ type: "text", text: file ?? blockText(block), ...members });
    }
    return parts;
  }

  /**
   * The file part of an attachment. For one that opencode does not send its text, and undefined for a block
   * without an attachment.
   */
  async file(block: TextBlock | ImageBlock, entryId: string): Promise<DraftPart | string | undefined> {
    if (block.type === "text" && block.resource === undefined) return undefined;
    const isLink = block.type === "text" && block.resource?.kind === "link";
    const found = isLink ? undefined : await this.#source.media(block, entryId);
    const name = block.type === "text" ? (block.resource?.name ?? "") : "";
    if (found !== undefined && isSent(found.mediaType)) {
      const url = `data:${found.mediaType};base64,${encodeBase64(found.bytes)}`;
      return { type: "file", mime: found.mediaType, ...(name === "" ? {} : { filename: name }), url };
    }
    if (found !== undefined || isLink) {
      const text = `${found?.mediaType ?? "a link"}: opencode does not send it`;
      this.#source.find({ code: "described", entryId, text });
    }
    const isText = found?.mediaType.startsWith("text/") === true && found.bytes.length <= maxFileText;
    const inside = isText ? decodeUtf8(found.bytes) : undefined;
    return inside === undefined ? blockText(block) : `${blockText(block)}\n${inside}`;
  }

  /** The parts of a reply. Each call is a part that waits for its result. */
  reply(message: AssistantMessage, entryId: string): { readonly parts: readonly DraftPart[] } {
    const called = new Set<string>();
    for (const { type } of message.content)
      if (type === "opaque") this.#drop(entryId, "opaque", "a provider's own block");
    const parts = describedReply(message).content.flatMap((block): readonly DraftPart[] => {
      const metadata = metadataFor(block, message);
      const members = metadata === undefined ? {} : { metadata };
      const isUnsigned = metadata === undefined && (signedBy(block) ?? "") !== "";
      switch (block.type) {
        case "text":
          if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of a text, of another protocol");
          return block.text === "" && metadata === undefined
            ? []
            : [{ type: "text", text: block.text, ...members }];
        case "image":
          return [{ type: "text", text: blockText(block) }];
        case "thinking":
          return this.#reasoning(block, entryId, { members, isUnsigned, time: message.timestamp });
        case "toolCall":
          if (called.has(block.id)) {
            this.#drop(entryId, "entry", `a second call with the id ${block.id} in one message`);
            return [];
          }
          called.add(block.id);
          if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of a call, of another protocol");
          return [callPart(block, metadata)];
        case "opaque":
          return [];
        default:
          return unreachable(block);
      }
    });
    return { parts };
  }

  #reasoning(
    block: AssistantMessage["content"][number] & { readonly type: "thinking" },
    entryId: string,
    { members, isUnsigned, time }: { members: object; isUnsigned: boolean; time: number },
  ): readonly DraftPart[] {
    if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of reasoning, of another protocol");
    const isEmpty = block.thinking === "" || (block.redacted === true && isUnsigned);
    if (isEmpty && !("metadata" in members)) return [];
    // opencode refuses a session with a time beyond the safe integers.
    const start = Math.min(Math.max(0, Math.trunc(time) || 0), Number.MAX_SAFE_INTEGER);
    return [{ type: "reasoning", text: block.thinking, time: { start, end: start }, ...members }];
  }

  #drop(entryId: string, code: "reasoning" | "opaque" | "entry", text: string): void {
    this.#source.find({ code, entryId, text });
  }
}

function blockText(block: TextBlock | ImageBlock): string {
  return block.type === "text" ? block.text : `[image, ${block.mimeType}]`;
}

/** The types that opencode puts into a request: not texts, which it reads when they are attached. */
function isSent(mediaType: string): boolean {
  return mediaType.startsWith("image/") || mediaType === "application/pdf";
}

/** The schema takes an object for the arguments. */
function callPart(
  { id, name, arguments: input, namespace }: ToolCall,
  metadata: Readonly<Record<string, unknown>> | undefined,
): DraftPart {
  const sessile = {
    ...(isRecord(input) ? {} : { isWrapped: true }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const more = Object.keys(sessile).length === 0 ? {} : { sessile };
  return {
    type: "tool",
    callID: id,
    tool: name,
    state: { status: "pending", input: isRecord(input) ? input : { value: input ?? null }, raw: "" },
    ...(metadata === undefined && Object.keys(more).length === 0
      ? {}
      : { metadata: { ...metadata, ...more } }),
  };
}

// Results of tools, which opencode has in the part of their call.

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
  readonly #open = new Set<string>();

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
      if (entry?.type !== "message" || entry.message.role !== "toolResult") {
        answered.push(part);
        if (part.type === "tool") this.#findOpen(entryId, callId);
      } else {
        const state = await this.#partState(part, start, entry, entry.message);
        answered.push({ ...part, state: this.#withChild(state, callId) });
      }
    }
    return answered;
  }

  /** Reports a call without a result, which opencode itself shows to the model as an interrupted one. */
  #findOpen(entryId: string, callId: string): void {
    const text = `call ${callId} has no result`;
    // A compaction may write a reply twice.
    if (this.#open.has(`${entryId} ${text}`)) return;
    this.#open.add(`${entryId} ${text}`);
    this.#source.find({ code: "interrupted", entryId, text });
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
