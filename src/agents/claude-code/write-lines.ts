/**
 * The lines of a transcript as this library writes them: one chain, one line a message. Each rule was seen in
 * requests of Claude Code 1.0.128, 2.0.77 and 2.1.330 after a resume; test/agents/agents has the runs.
 */

import type { AssistantMessage, ImageBlock, TextBlock, Usage } from "../../content/index.js";
import { plainContent } from "../../content/internal.js";
import { unreachable } from "../../core/arguments.js";
import { isRecord } from "../../core/shape.js";
import { textDigest, textUuid } from "../shared/ids.js";
import { describedReply, filledReply, writeBlocks } from "../shared/write-blocks.js";
import type { WriteResult, WriteStep } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { startMark } from "./lines.js";

/** The version in the lines: the newest of which the rules were seen. */
const writtenVersion = "2.1.330";

/** Media types of images and documents that the API takes. */
const mediaTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]);

/** The summary of a compaction without one. */
const noSummary = "[The conversation before this is left out.]";

type Fields = Readonly<Record<string, unknown>>;

export interface LineWriterInit {
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
export class LineWriter {
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
