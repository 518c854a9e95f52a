/**
 * The parts of opencode's messages: those of a reply as messages with calls and results, and those of a user
 * message.
 */

import type {
  AssistantMessage,
  ImageBlock,
  TextBlock,
  ToolResultMessage,
  Usage,
} from "../../content/index.js";
import { plainContent, shownBlocks } from "../../content/internal.js";
import { isRecord } from "../../core/shape.js";
import { replyEnd, replyEnding } from "../../providers/internal.js";
import {
  type ForeignObject,
  readCount,
  readNumber,
  readObject,
  readText,
  toArray,
} from "../shared/values.js";
import type { DraftEntry, ForeignRecord } from "../types.js";
import { isRedacted, partApi, partSignature } from "./signatures.js";
import { type EntryAnnotation, metadataAnnotation, type StoredMessage } from "./stored-sessions.js";

type Block = AssistantMessage["content"][number];

/** One request to the model, and its reply. */
interface Step {
  readonly parts: readonly ForeignRecord[];
  /** The parts of tools. */
  readonly tools: readonly ForeignRecord[];
  readonly records: readonly PartOutcome[];
  /** The part that ended it. */
  readonly finish: ForeignObject | undefined;
}

const unsentTypes = new Set(["step-start", "step-finish", "snapshot", "patch", "agent", "retry", "file"]);

/**
 * The steps of a message, which 1.0 and older stored as one.
 * @param isFirst whether a call is the first one with its id
 */
export function messageSteps(
  { parts }: StoredMessage,
  isFirst: (callId: string, record: ForeignRecord) => boolean,
): readonly Step[] {
  type Open = {
    parts: ForeignRecord[];
    tools: ForeignRecord[];
    records: PartOutcome[];
    finish?: ForeignObject;
  };
  const newStep = (): Open => ({ parts: [], tools: [], records: [] });
  let step = newStep();
  const steps: Open[] = [step];
  for (const record of parts) {
    const { value } = record;
    const { type } = value;
    if (type === "step-start" && step.parts.length > 0) {
      step = newStep();
      steps.push(step);
    }
    if (type === "step-finish") step.finish = value;
    const isCall =
      type === "tool" && readText(value.callID) !== undefined && readText(value.tool) !== undefined;
    const isText = type === "text" || type === "reasoning";
    const isNew = !isText && type !== "tool" && !unsentTypes.has(String(type));
    const isSent = isCall ? isFirst(String(value.callID), record) : isText || isNewContent(value, isNew);
    step.records.push({ record, outcome: isSent ? "mapped" : "unmapped", isNew });
    if (!isSent) continue;
    step.parts.push(record);
    if (isCall) step.tools.push(record);
  }
  return steps.map((each) => ({ ...each, finish: each.finish }));
}

/** The message of a step; undefined for one without content. */
export function messageReply(
  { info }: StoredMessage,
  { parts, finish }: Step,
  steps: number,
  timestamp: number,
  annotation: EntryAnnotation | undefined,
): AssistantMessage | undefined {
  const { value } = info;
  const provider = readText(value.providerID) ?? "unknown";
  const values = parts.map((part) => part.value);
  const api = partApi(values, provider);
  const content = values.flatMap((part) => partBlock(part, api));
  if (content.length === 0) return undefined;
  const counted = steps > 1 && finish !== undefined ? finish : value;
  const usage = readUsage(counted.tokens, counted.cost);
  const mode = readText(value.mode);
  const errorMessage =
    readText(readObject(readObject(value.error)?.data)?.message) ?? readText(annotation?.members.error);
  const hasCalls = content.some(({ type }) => type === "toolCall");
  return {
    role: "assistant",
    content,
    provider,
    model: readText(value.modelID) ?? "unknown",
    ...(api === undefined ? {} : { api }),
    ...(usage === undefined ? {} : { usage }),
    ...readEnding(value, steps > 1 ? finish?.reason : undefined, hasCalls),
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(value.summary === true ? { summary: true } : {}),
    ...(mode === undefined ? {} : { mode }),
    timestamp,
  };
}

/** Whether a part of a newer version has words or media, which the reply keeps. */
function isNewContent(part: ForeignObject, isNew: boolean): boolean {
  return isNew && unknownPart(part).length > 0;
}

function partBlock(part: ForeignObject, api: string | undefined): readonly Block[] {
  const signature = partSignature(part, api);
  const text = readText(part.text) ?? "";
  if (part.type === "tool") {
    const { callID, tool, state } = part;
    const { isWrapped, namespace } = readObject(readObject(part.metadata)?.sessile) ?? {};
    const input = readObject(state)?.input ?? {};
    return [
      {
        type: "toolCall",
        id: readText(callID) ?? "",
        name: readText(tool) ?? "",
        arguments: isWrapped === true ? (readObject(input)?.value ?? null) : input,
        ...(typeof namespace === "string" ? { namespace: namespace.toWellFormed() } : {}),
        ...(signature === undefined ? {} : { thoughtSignature: signature }),
      },
    ];
  }
  if (part.type === "reasoning") {
    if (text === "" && signature === undefined) return [];
    return [
      {
        type: "thinking",
        thinking: text,
        ...(signature === undefined ? {} : { thinkingSignature: signature }),
        ...(isRedacted(part) ? { redacted: true } : {}),
      },
    ];
  }
  if (part.type !== "text") return unknownPart(part);
  if (text === "" && signature === undefined) return [];
  return [{ type: "text", text, ...(signature === undefined ? {} : { textSignature: signature }) }];
}

function readEnding(
  { error, finish }: ForeignObject,
  ownFinish: unknown,
  hasCalls: boolean,
): Pick<AssistantMessage, "stopReason" | "refused"> {
  const reason = ownFinish ?? finish;
  if ((error !== undefined && error !== null) || reason === "aborted") return { stopReason: "aborted" };
  const { stopReason, refused } = replyEnding(replyEnd(reason) ?? (hasCalls ? "toolUse" : "stop"), "");
  return refused === undefined ? { stopReason } : { stopReason, refused };
}

/** `input` is less the cached part. From 1.18 on `output` is less the reasoning, which `total` tells. */
export function readUsage(value: unknown, cost: unknown): Usage | undefined {
  const tokens = readObject(value);
  if (tokens === undefined) return undefined;
  const cache = readObject(tokens.cache);
  const input = readCount(tokens.input);
  const cacheRead = readCount(cache?.read);
  const cacheWrite = readCount(cache?.write);
  const counted = readCount(tokens.output);
  const total = readNumber(tokens.total);
  const reasoning = readCount(tokens.reasoning);
  const isWithout = total === input + cacheRead + cacheWrite + counted + reasoning;
  const output = isWithout ? counted + reasoning : counted;
  const sum = input + output + cacheRead + cacheWrite;
  if (sum === 0) return undefined;
  const price = readNumber(cost) ?? 0;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: total ?? sum,
    // opencode has the sum alone.
    ...(price > 0 ? { cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: price } } : {}),
  };
}

/** The result of a tool; undefined for one that has not ended. */
export function toolOutcome(part: ForeignObject, timestamp: number): ToolResultMessage | undefined {
  const state = readObject(part.state) ?? {};
  const { status, error } = state;
  if (status !== "completed" && status !== "error") return undefined;
  const metadata = readObject(state.metadata) ?? {};
  const annotation = metadataAnnotation(metadata);
  const { sessile: _own, ...shownDetails } = metadata;
  const details =
    annotation?.members.details ?? (Object.keys(shownDetails).length === 0 ? undefined : shownDetails);
  const shown = status === "completed" ? readText(state.output) : undefined;
  // The output of a stopped command is its result (1.18).
  const printed = metadata.interrupted === true ? readText(metadata.output) : undefined;
  const text = shown ?? printed ?? readText(error) ?? "";
  const attachments = status === "completed" ? toArray(state.attachments) : [];
  const files = attachments.flatMap((item): readonly (TextBlock | ImageBlock)[] => {
    const file = readObject(item);
    const block = file && fileBlock(file);
    return block === undefined ? [] : [block];
  });
  const texts = splitText(text, annotation?.members.lengths, files.length);
  return {
    role: "toolResult",
    toolCallId: readText(part.callID) ?? "",
    toolName: readText(part.tool) ?? "",
    content: [...texts, ...files],
    ...(details === undefined ? {} : { details }),
    isError: status === "error" || annotation?.members.isError === true,
    timestamp,
  };
}

/** The texts of a result as they were before they were joined. */
function splitText(text: string, lengths: unknown, files: number): readonly TextBlock[] {
  const sizes = toArray(lengths).map(readCount);
  const total = sizes.reduce((sum, size) => sum + size + 1, -1);
  if (sizes.length > 1 && total === text.length) {
    let at = 0;
    return sizes.map((size) => {
      const part = text.slice(at, at + size);
      at += size + 1;
      return { type: "text", text: part };
    });
  }
  return text === "" && files > 0 ? [] : [{ type: "text", text }];
}

// The parts of a user message: the user's own, and those that opencode added.

type Content = string | readonly (TextBlock | ImageBlock)[];

/** Adjacent parts of one origin: one entry. */
interface UserRun {
  /** The origin of parts that are not the user's. */
  readonly customType: string | undefined;
  readonly content: Content;
  /** The id of the first part, or its index. */
  readonly part: string | number;
}

/** The outcome of a part. */
interface PartOutcome {
  readonly record: ForeignRecord;
  readonly outcome: "mapped" | "unmapped";
  /** The type is not known. */
  readonly isNew: boolean;
}

/** The runs of a message. */
interface UserRuns extends Iterable<UserRun> {
  readonly length: number;
  readonly records: readonly PartOutcome[];
  /** Of all runs. */
  readonly content: readonly (TextBlock | ImageBlock)[];
}

/** Texts that opencode sends for parts without one (read in 1.1.65 to 1.18.33, 2026-11-23). */
const compactionText = "What did we do so far?";
const subtaskText = "The following tool was executed by the user";

/** Types of parts that no model is sent. */
const unsentPartTypes = new Set(["snapshot", "patch", "agent", "retry", "step-start", "step-finish"]);

/** @param isCompacted the message asks for a compaction that was completed, and is not sent itself */
export function userRuns(parts: readonly ForeignRecord[], isCompacted: boolean): UserRuns {
  const runs: {
    customType: string | undefined;
    blocks: (TextBlock | ImageBlock)[];
    part: string | number;
  }[] = [];
  const records: PartOutcome[] = [];
  for (const [index, record] of parts.entries()) {
    const { value } = record;
    const read = isCompacted && value.type !== "compaction" ? [] : partBlocks(value);
    const isOwn = value.type === "compaction" && isCompacted;
    const isNew = !isKnown(value) && !isOwn;
    const isAnnotation = value.ignored === true && metadataAnnotation(value.metadata) !== undefined;
    records.push({
      record,
      outcome: read.length > 0 || isOwn || isAnnotation ? "mapped" : "unmapped",
      isNew,
    });
    if (isOwn) continue;
    for (const { block, customType } of read) {
      const last = runs.at(-1);
      if (last !== undefined && last.customType === customType) last.blocks.push(block);
      else runs.push({ customType, blocks: [block], part: readText(value.id) ?? index });
    }
  }
  const list = runs.map(({ customType, blocks, part }) => ({
    customType,
    part,
    content: plainContent(blocks),
  }));
  const content = runs.flatMap(({ blocks }) => blocks);
  return { length: list.length, records, content, [Symbol.iterator]: () => list[Symbol.iterator]() };
}

function isKnown({ type }: ForeignObject): boolean {
  const sent = type === "text" || type === "file" || type === "compaction" || type === "subtask";
  return sent || (typeof type === "string" && unsentPartTypes.has(type));
}

/** A block, and the origin of one that is not the user's. */
interface OwnedBlock {
  readonly block: TextBlock | ImageBlock;
  readonly customType: string | undefined;
}

/** The block of a part that a model is sent, the words and media of an unknown part; none of any other. */
function partBlocks(part: ForeignObject): readonly OwnedBlock[] {
  const { type, synthetic, ignored } = part;
  if (type === "compaction")
    return [{ block: { type: "text", text: compactionText }, customType: "opencode.compaction" }];
  if (type === "subtask")
    return [{ block: { type: "text", text: subtaskText }, customType: "opencode.subtask" }];
  if (type === "text") {
    const text = readText(part.text);
    if (text === undefined || text === "" || ignored === true) return [];
    return [{ block: { type, text }, customType: synthetic === true ? "opencode.synthetic" : undefined }];
  }
  const block = type === "file" ? fileBlock(part) : undefined;
  const blocks = isKnown(part) ? (block === undefined ? [] : [block]) : unknownPart(part);
  return blocks.map((each) => ({ block: each, customType: undefined }));
}

/** The words and the media of a part of a newer version, whose other members may be the program's own. */
function unknownPart(part: ForeignObject): readonly (TextBlock | ImageBlock)[] {
  return shownBlocks({ type: "opaque", data: part });
}

const dataUrl = /^data:([^;,]{0,255})(?:;[^;,]{0,255}){0,16};base64,/;

/**
 * A file as the model is sent it: its bytes, or its name if there are none. Undefined for a text or folder,
 * which opencode sends as synthetic text beside the part.
 */
function fileBlock({ mime, url, filename }: ForeignObject): TextBlock | ImageBlock | undefined {
  if (mime === "text/plain" || mime === "application/x-directory") return undefined;
  const address = readText(url) ?? "";
  const mimeType = readText(mime) ?? "application/octet-stream";
  const [head, named = ""] = dataUrl.exec(address.slice(0, 1000)) ?? [];
  if (head !== undefined)
    return { type: "image", data: address.slice(head.length), mimeType: readText(mime) ?? named };
  const name = readText(filename) ?? "file";
  const where = address === "" || address.startsWith("data:") ? "" : `: ${address.slice(0, 1000)}`;
  return { type: "text", text: `[Attached ${mimeType}: ${name}${where}]` };
}

/** An entry of another type than a user message, restored from the metadata of an export by Sessile. */
export function annotatedDraft(
  draft: ForeignObject,
  blocks: readonly (TextBlock | ImageBlock)[],
): DraftEntry | undefined {
  if (draft.type === "custom_message") {
    const { customType, display, details } = draft;
    if (typeof customType !== "string") return undefined;
    const known = {
      type: "custom_message",
      customType,
      content: plainContent(blocks),
      display: display === true,
    };
    return { ...known, ...(details === undefined ? {} : { details }) } as DraftEntry;
  }
  const isBash =
    draft.type === "message" && isRecord(draft.message) && draft.message.role === "bashExecution";
  return draft.type === "branch_summary" || isBash ? (draft as unknown as DraftEntry) : undefined;
}
