/**
 * A path as the steps that a writer writes: messages of three roles, each reply with all of its results, and
 * compactions with the messages that they keep. They are planned on outlines, and made one by one.
 */

import {
  type AssistantMessage,
  blockResource,
  type CustomMessage,
  describeResource,
  type ImageBlock,
  type Message,
  type TextBlock,
  type ToolCall,
  type ToolResultMessage,
  toolPairs,
} from "../../content/index.js";
import { describeImage, shownBlocks, withMedia } from "../../content/internal.js";
import { encodeBase64 } from "../../core/base64.js";
import {
  bashText,
  branchSummaryText,
  type CallIdRule,
  CallIds,
  interruptedText,
  namePrefix,
} from "../../providers/internal.js";
import type { EntryType, SessionEntry } from "../../session/index.js";
import type { AppendSource, WriteSource } from "../types.js";

/** Ids and names that an agent accepts in its files. */
export interface WriteRules {
  /** @default letters, digits, `_` and `-`, at most 64 */
  readonly callId?: CallIdRule;
  /** @default letters, digits, `_` and `-`, at most 64 */
  readonly toolName?: { readonly character: RegExp; readonly maxLength: number };
}

interface Step {
  readonly entryId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** A step of {@link writeSteps}. */
export type WriteStep = Step &
  (
    | {
        readonly kind: "user";
        readonly content: readonly (TextBlock | ImageBlock)[];
        /** The type of a custom message, such as `sessile.initial_context`; absent for a user message. */
        readonly customType?: string;
        /** Whether user interfaces show it. */
        readonly display: boolean;
      }
    | {
        readonly kind: "reply";
        readonly message: AssistantMessage;
        /** One for each call of the message, in order. */
        readonly results: readonly WriteResult[];
      }
    | {
        readonly kind: "compaction";
        /** Empty if an edit removed it. */
        readonly summary: string;
        readonly entry: CompactionEntry;
        /**
         * The messages that stay in context after the summary, in the order of display. Empty for earlier
         * compactions if many keep much.
         */
        readonly kept: AsyncIterable<WriteStep>;
      }
    /** A change of model, of the level of thinking, of the title; state of a program. */
    | { readonly kind: "other"; readonly entry: SessionEntry }
  );

/** The result of a call. */
export interface WriteResult extends Step {
  /** As the agent accepts it. */
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError: boolean;
  readonly details?: unknown;
  /** Made up, because the call has none. */
  readonly interrupted?: true;
}

/** The steps of a path, each made when the loop comes to it. */
export interface WriteSteps extends AsyncIterable<WriteStep> {
  /** The steps of the outline: with ids, times, calls and results, and with texts that are cut. */
  readonly outlines: readonly WriteStep[];
  /** The step of an outline. */
  whole(outline: WriteStep): Promise<WriteStep>;
}

/**
 * The steps of a path. Results follow their calls, a call without a result gets a made-up one
 * (`interrupted`), results without a call are left out (`entry`), call ids and tool names are changed if the
 * agent would refuse them (`callId`, `toolName`). Commands, summaries of branches and custom messages are
 * messages of the user.
 */
export function writeSteps(source: WriteSource, rules: WriteRules = {}): WriteSteps {
  return new Steps(source, rules);
}

/**
 * The steps that were added to an original. A result that was added to a reply of the original is `late`, with the
 * step of its reply.
 */
export async function* addedSteps(
  source: AppendSource,
  rules: WriteRules = {},
): AsyncGenerator<{ readonly step: WriteStep; readonly late?: WriteResult }, void, undefined> {
  const added = new Set(source.added.map(({ id }) => id));
  const lateIn = (step: WriteStep) =>
    step.kind !== "reply"
      ? []
      : step.results.filter(({ entryId, interrupted }) => interrupted !== true && added.has(entryId));
  const steps = writeSteps(source, rules);
  for (const outline of steps.outlines) {
    const isAdded = added.has(outline.entryId);
    if (!isAdded && lateIn(outline).length === 0) continue;
    const step = await steps.whole(outline);
    if (isAdded) yield { step };
    else for (const late of lateIn(step)) yield { step, late };
  }
}

type MessageEntry = SessionEntry & { readonly type: "message" };
/** The results of a reply, in the order of its calls; undefined for an open call. */
type StoredResults = (MessageEntry | undefined)[];

function isMessage(entry: SessionEntry): entry is MessageEntry {
  return entry.type === "message";
}

const defaultName = { character: /[A-Za-z0-9_-]/, maxLength: 64 };

class Steps implements WriteSteps {
  readonly outlines: readonly WriteStep[];
  readonly #source: WriteSource;
  readonly #rules: WriteRules;
  readonly #callIds: CallIds;
  readonly #kept: KeptEntries;
  /** Indexes on the path of the entries that are read whole. */
  readonly #indexes = new Map<string, number>();
  readonly #outlines = new Map<string, WriteStep>();
  readonly #stored: ReadonlyMap<string, StoredResults>;
  /** Each finding is reported once, by the outline. */
  #find: WriteSource["find"];

  constructor(source: WriteSource, rules: WriteRules) {
    this.#source = source;
    this.#rules = rules;
    this.#find = source.find;
    this.#callIds = new CallIds(rules.callId);
    this.#kept = new KeptEntries(source.outline);
    this.#stored = this.#results();
    const [first] = this.#kept.left;
    if (first !== undefined) {
      const text = `${this.#kept.left.length} earlier compactions have the summary alone`;
      this.#find({ code: "entry", entryId: first.id, text });
    }
    const steps: WriteStep[] = [];
    for (const [at, entry] of source.outline.entries()) {
      const step = this.#step(entry, at, this.#stored.get(entry.id) ?? []);
      if (step === undefined) continue;
      this.#outlines.set(entry.id, step);
      this.#indexes.set(entry.id, at);
      steps.push(step);
    }
    this.outlines = steps;
    this.#find = () => {};
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WriteStep, void, undefined> {
    for (const outline of this.outlines) yield await this.whole(outline);
  }

  async whole(outline: WriteStep): Promise<WriteStep> {
    const { entryId } = outline;
    const entry = await this.#source.entry(entryId);
    const results: (MessageEntry | undefined)[] = [];
    for (const stored of this.#stored.get(entryId) ?? [])
      results.push(stored && ((await this.#source.entry(stored.id)) as MessageEntry));
    const callIds = outline.kind === "reply" ? outline.results.map(({ callId }) => callId) : [];
    return this.#step(entry, this.#indexes.get(entryId) ?? 0, results, callIds) ?? outline;
  }

  /**
   * The results of each reply, by the id of its entry, in the order of its calls. As the context has them: a
   * compaction may show a call before a result that precedes it on the path. Others as the path has them.
   */
  #results(): ReadonlyMap<string, StoredResults> {
    const { outline } = this.#source;
    const messages = outline.filter(isMessage);
    const results = new Map<string, StoredResults>();
    const paired = new Set<MessageEntry>();
    const last = outline.findLastIndex(({ type }) => type === "compaction");
    const shown = last < 0 ? [] : [...this.#kept.of(last), ...outline.slice(last)].filter(isMessage);
    for (const list of [shown, messages]) {
      let first = 0;
      const { pairs } = toolPairs(list.map(({ message }) => message));
      for (const [at, { callAt, resultAt }] of pairs.entries()) {
        if (pairs[at - 1]?.callAt !== callAt) first = at;
        const { id } = list[callAt] as MessageEntry;
        const stored = results.get(id) ?? [];
        results.set(id, stored);
        const result = resultAt === undefined ? undefined : list[resultAt];
        if (result === undefined || paired.has(result) || stored[at - first] !== undefined) continue;
        stored[at - first] = result;
        paired.add(result);
      }
    }
    for (const entry of messages) {
      if (entry.message.role === "toolResult" && !paired.has(entry))
        this.#find({ code: "entry", entryId: entry.id, text: "a result without a call" });
    }
    return results;
  }

  /** @param callIds the ids of the calls of a reply, if they have some already */
  #step(
    entry: SessionEntry,
    at: number,
    results: StoredResults,
    callIds: readonly string[] = [],
  ): WriteStep | undefined {
    const base = { entryId: entry.id, time: entryTime(entry) };
    switch (entry.type) {
      case "message":
        return this.#message(entry.message, base, results, callIds);
      case "custom_message": {
        const { customType, content, display } = entry;
        return { kind: "user", ...base, content: contentBlocks(content), customType, display };
      }
      case "branch_summary": {
        if (entry.summary === "") return undefined;
        const { summary, fromId } = entry;
        const text = branchSummaryText({ role: "branchSummary", summary, fromId, timestamp: base.time });
        return {
          kind: "user",
          ...base,
          content: contentBlocks(text),
          customType: "branch_summary",
          display: true,
        };
      }
      case "compaction":
        return { kind: "compaction", ...base, summary: entry.summary, entry, kept: this.#keptSteps(at) };
      default:
        return { kind: "other", ...base, entry };
    }
  }

  #message(
    message: Message,
    base: Step,
    results: StoredResults,
    callIds: readonly string[],
  ): WriteStep | undefined {
    switch (message.role) {
      case "user": {
        const content = named(contentBlocks(message.content), message.name);
        return { kind: "user", ...base, content, display: true };
      }
      case "custom":
        return { kind: "user", ...base, ...toCustomStep(message) };
      case "bashExecution": {
        if (message.excludeFromContext === true) {
          this.#find({ code: "entry", entryId: base.entryId, text: "a command that models do not see" });
          return undefined;
        }
        return {
          kind: "user",
          ...base,
          content: contentBlocks(bashText(message)),
          customType: "bash",
          display: true,
        };
      }
      case "assistant":
        return this.#reply(message, base, results, callIds);
      case "system":
        this.#find({ code: "entry", entryId: base.entryId, text: "instructions of this harness" });
        return undefined;
      default:
        // A result is written with its reply.
        return undefined;
    }
  }

  #reply(
    message: AssistantMessage,
    base: Step,
    stored: StoredResults,
    callIds: readonly string[],
  ): WriteStep {
    const results: WriteResult[] = [];
    const content = message.content.map((block) => {
      if (block.type !== "toolCall") return block;
      const call = this.#call(block, base.entryId, callIds[results.length]);
      results.push(this.#result(call, stored[results.length], base));
      return call;
    });
    return { kind: "reply", ...base, message: { ...message, content }, results };
  }

  #call(call: ToolCall, entryId: string, given: string | undefined): ToolCall {
    const id = given ?? this.#callIds.idFor(call.id);
    if (id !== call.id) {
      this.#find({ code: "callId", entryId, text: `call ${call.id} has the id ${id}` });
    }
    const name = this.#toolName(call.name);
    if (name !== call.name) {
      this.#find({ code: "toolName", entryId, text: `tool ${call.name} has the name ${name}` });
    }
    return id === call.id && name === call.name ? call : { ...call, id, name };
  }

  #toolName(name: string): string {
    const { character, maxLength } = this.#rules.toolName ?? defaultName;
    const valid = Array.from(name, (each) => (character.test(each) ? each : "_")).join("");
    return (valid === "" ? "unnamed" : valid).slice(0, maxLength);
  }

  #result(
    { id: callId, name: toolName }: ToolCall,
    entry: MessageEntry | undefined,
    { entryId, time }: Step,
  ): WriteResult {
    const message = entry?.message as ToolResultMessage | undefined;
    if (entry === undefined || message === undefined) {
      this.#find({ code: "interrupted", entryId, text: `call ${callId} has no result` });
      const content = contentBlocks(interruptedText);
      return { entryId, time, callId, toolName, content, isError: true, interrupted: true };
    }
    const { content, isError, details } = message;
    return {
      entryId: entry.id,
      time: entryTime(entry),
      callId,
      toolName,
      content,
      isError,
      ...(details === undefined ? {} : { details }),
    };
  }

  /** The steps of the entries that a compaction keeps. */
  #keptSteps(at: number): AsyncIterable<WriteStep> {
    return {
      [Symbol.asyncIterator]: async function* (this: Steps) {
        for (const { id } of this.#kept.of(at)) {
          const step = this.#outlines.get(id);
          if (step?.kind === "user" || step?.kind === "reply") yield await this.whole(step);
        }
      }.bind(this),
    };
  }
}

function toCustomStep({ customType, content, display }: CustomMessage) {
  return { content: contentBlocks(content), customType, display };
}

function contentBlocks(
  content: string | readonly (TextBlock | ImageBlock)[],
): readonly (TextBlock | ImageBlock)[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The blocks of a named user, whose name comes first. */
function named(
  content: readonly (TextBlock | ImageBlock)[],
  name: string | undefined,
): readonly (TextBlock | ImageBlock)[] {
  const prefix = name === undefined || content.length === 0 ? "" : namePrefix(name);
  if (prefix === "") return content;
  const [first, ...rest] = content;
  if (first?.type === "text" && first.resource === undefined)
    return [{ ...first, text: prefix + first.text }, ...rest];
  return [{ type: "text", text: prefix.trimEnd() }, ...content];
}

function entryTime({ timestamp }: SessionEntry): number {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? 0 : time;
}

// The entries that the compactions of a path keep. Agents repeat them after each summary, so that
// compactions that keep everything would make a file grow with the square of their number.

type CompactionEntry = SessionEntry & { readonly type: "compaction" };

/** Entries that are repeated for all compactions together, for each entry of the path. */
const copiesPerEntry = 2;
/** Short paths are written whole. */
const minCopies = 1024;

/** The entries that each compaction of a path keeps. */
class KeptEntries {
  readonly #path: readonly SessionEntry[];
  /** The indexes of entries on the path. */
  readonly #indexes: ReadonlyMap<string, number>;
  /** The compactions whose kept entries are written: the last ones, as many as the bound allows. */
  readonly #written = new Set<number>();
  /** Earlier compactions that are written without them. No context shows it any more. */
  readonly left: readonly SessionEntry[];

  constructor(path: readonly SessionEntry[]) {
    this.#path = path;
    this.#indexes = new Map(path.map(({ id }, at) => [id, at]));
    const left: SessionEntry[] = [];
    let budget = Math.max(minCopies, copiesPerEntry * path.length);
    for (let at = path.length - 1; at >= 0; at--) {
      const entry = path[at] as SessionEntry;
      if (entry.type !== "compaction") continue;
      const count = at - this.#keptStart(entry, at) + (entry.retain?.length ?? 0);
      if (this.#written.size > 0 && count > budget) left.push(entry);
      else this.#written.add(at);
      budget -= count;
    }
    this.left = left.reverse();
  }

  /** The entries that a compaction keeps: those it retains, then those of its range. */
  of(at: number): readonly SessionEntry[] {
    if (!this.#written.has(at)) return [];
    const entry = this.#path[at] as CompactionEntry;
    const retained = new Set<SessionEntry>();
    for (const id of entry.retain ?? []) {
      const index = this.#indexes.get(id);
      if (index !== undefined && index < at) retained.add(this.#path[index] as SessionEntry);
    }
    const range = this.#path.slice(this.#keptStart(entry, at), at);
    return [...retained, ...range.filter((each) => !retained.has(each))];
  }

  /** Where the range of a compaction begins; its own place if it has none. */
  #keptStart({ firstKeptEntryId }: CompactionEntry, at: number): number {
    return Math.min(at, this.#indexes.get(firstKeptEntryId) ?? at);
  }
}

// The content of a message as a writer needs it: texts, and media with their bytes.

/** A block with its bytes. */
export type WriteBlock =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "media";
      readonly mediaType: string;
      readonly base64: string;
      /** The name of a file. */
      readonly name?: string;
    };

/** Images that the models of all makers read. */
const commonImages: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * Reads the media of blocks. Links, and media that are gone (`missing`) or that the format cannot hold
 * (`described`), become their descriptors.
 *
 * @param accepts whether the format holds a media type. Default: images that the models of all makers read, since
 *   an agent sends what its file has, and a refused image ends its session.
 */
export async function writeBlocks(
  source: WriteSource,
  entryId: string,
  content: readonly (TextBlock | ImageBlock)[],
  accepts: (mediaType: string) => boolean = (mediaType) => commonImages.has(mediaType),
): Promise<readonly WriteBlock[]> {
  const blocks: WriteBlock[] = [];
  for (const block of content) {
    const resource = block.type === "text" ? blockResource(block) : undefined;
    if (block.type === "text" && (resource === undefined || resource.kind === "link")) {
      blocks.push({ type: "text", text: block.text });
      continue;
    }
    const descriptor = resource === undefined ? "[an image]" : describeResource(resource);
    const declared = resource === undefined || resource.kind === "link" ? undefined : resource.mediaType;
    if (declared !== undefined && !accepts(declared)) {
      source.find({ code: "described", entryId, text: descriptor });
      blocks.push({ type: "text", text: descriptor });
      continue;
    }
    const media = await source.media(block, entryId);
    if (media === undefined) blocks.push({ type: "text", text: descriptor });
    else if (accepts(media.mediaType)) {
      const name = resource?.name;
      const base64 = encodeBase64(media.bytes);
      const { mediaType } = media;
      blocks.push({ type: "media", mediaType, base64, ...(name === undefined ? {} : { name }) });
    } else {
      source.find({ code: "described", entryId, text: descriptor });
      blocks.push({ type: "text", text: descriptor });
    }
  }
  return blocks;
}

type ReplyBlock = AssistantMessage["content"][number];

/** The reply with descriptors in place of images, and of blocks with media, for which a format has no form. */
export function describedReply(message: AssistantMessage): AssistantMessage {
  return { ...message, content: message.content.flatMap(described) };
}

/** The reply with the bytes of the media in its provider's blocks, or descriptors if they are gone. */
export async function filledReply(
  source: WriteSource,
  entryId: string,
  message: AssistantMessage,
): Promise<AssistantMessage> {
  const content: ReplyBlock[] = [];
  for (const block of message.content) {
    if (block.type !== "opaque" || block.resources === undefined) {
      for (const each of block.type === "image" ? described(block) : [block]) content.push(each);
      continue;
    }
    const base64 = new Map<string, string>();
    for (const resource of block.resources) {
      const media = await source.media(resource, entryId);
      if (media !== undefined) base64.set(resource.resourceId, encodeBase64(media.bytes));
    }
    const data = withMedia(block.data, (id) => base64.get(id));
    if (data !== undefined) content.push({ type: "opaque", data });
    else for (const each of described(block)) content.push(each);
  }
  return { ...message, content };
}

function described(block: ReplyBlock): readonly ReplyBlock[] {
  if (block.type !== "opaque" && block.type !== "image") return [block];
  const attached = block.type === "image" ? [block] : shownBlocks(block);
  const texts = attached.map((each): TextBlock => {
    if (each.type === "text") return { type: "text", text: each.text };
    const size = Math.floor((each.data.length * 3) / 4);
    return { type: "text", text: describeImage({ mediaType: each.mimeType, size }) };
  });
  return texts.length === 0 ? [block] : texts;
}

// The one table of how writers treat each entry type. A new type without a row does not compile.

/**
 * - `message`: an item of contexts.
 * - `setting`: written if the format has it.
 * - `edit`: carried out on the messages of the path.
 * - `unmapped`: no format has a counterpart; the report counts it.
 */
type EntryRole = "message" | "compaction" | "setting" | "edit" | "leaf" | "custom" | "unmapped";

export const entryRoles: Readonly<Record<EntryType, EntryRole>> = {
  message: "message",
  custom_message: "message",
  branch_summary: "message",
  compaction: "compaction",
  model_change: "setting",
  thinking_level_change: "setting",
  session_info: "setting",
  context_edit: "edit",
  message_update: "edit",
  part_update: "edit",
  leaf: "leaf",
  custom: "custom",
  label: "unmapped",
  context_pin: "unmapped",
  resource_view: "unmapped",
  resource_observation: "unmapped",
  usage: "unmapped",
  revert: "unmapped",
};
