/** Entries of a path as messages of opencode, without their ids. */

import type { AssistantMessage, Usage } from "../../content/index.js";
import { unreachable } from "../../core/arguments.js";
import { bashText } from "../../providers/internal.js";
import type { SessionEntry } from "../../session/index.js";
import { entryRoles } from "../shared/entry-roles.js";
import { readMilliseconds } from "../shared/values.js";
import type { WriteSource } from "../types.js";
import { keptAnnotation, keptEntries } from "./kept-entries.js";
import { askedModels, type Model, sourceModel, unknownModel } from "./models.js";
import { type DraftPart, PartWriter } from "./write-parts.js";
import { ToolParts, ToolResults } from "./write-tools.js";

export type { DraftPart } from "./write-parts.js";

/** A message without its ids. */
export interface DraftMessage {
  /** Unique in the session. */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly info: Readonly<Record<string, unknown>> & { readonly time: { readonly created: number } };
  /** The key of the message that a reply answers. */
  readonly asked?: string;
  readonly parts: readonly DraftPart[];
}

type MessageEntry = SessionEntry & { readonly type: "message" };

const silentCustomTypes = new Set(["sessile.foreign", "sessile.foreign_line", "sessile.subagent"]);

/** What is known of the messages before they are written. */
export interface MessagePlan {
  /** The times of the first and the last message; undefined without one. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  /** At least as many as there are messages, parts and files of results. */
  readonly maxIds: number;
}

/** Makes the messages of a session, one after the other. */
export class MessageWriter {
  readonly plan: MessagePlan;
  readonly #source: WriteSource;
  readonly #parts: PartWriter;
  readonly #tools: ToolParts;
  /** Messages that were not taken. */
  #messages: DraftMessage[] = [];
  /** The ids of the entries that have a message. */
  readonly #written = new Set<string>();
  /** The model that a question is put to, by its entry. */
  readonly #asked: ReadonlyMap<string, Model>;
  /** The indexes of entries on the path. */
  readonly #indexes: ReadonlyMap<string, number>;
  #clock: MessageClock;
  #isRetimed = false;
  #lastQuestion: string | undefined;
  /** Distinguishes repeated entries. */
  #round = "";

  /** @param children ids of the children in opencode by those of their sessions here */
  constructor(source: WriteSource, children: ReadonlyMap<string, string>) {
    this.#source = source;
    this.#parts = new PartWriter(source);
    const results = new ToolResults(children);
    this.#tools = new ToolParts(source, this.#parts, results);
    this.#asked = askedModels(source);
    this.#indexes = new Map(source.outline.map(({ id }, at) => [id, at]));
    this.#clock = new MessageClock(source.now());
    this.plan = this.#planned(results);
    this.#clock = new MessageClock(source.now());
  }

  /** The messages of the whole path. */
  async *write(): AsyncGenerator<DraftMessage, void, undefined> {
    for (const { outline, round } of this.#writtenEntries()) {
      this.#round = round;
      await this.#add(await this.#source.entry(outline.id), round !== "");
      yield* this.#messages.splice(0);
    }
  }

  /** The entries in the order of their messages. The tail that the last compaction keeps is repeated after it. */
  *#writtenEntries(): Generator<{ readonly outline: SessionEntry; readonly round: string }, void, undefined> {
    const entries = this.#source.outline;
    const last = entries.findLastIndex(({ type }) => type === "compaction");
    for (const [index, outline] of entries.entries()) {
      yield { outline, round: "" };
      if (index !== last) continue;
      for (const kept of keptEntries(entries, index)) yield { outline: kept, round: outline.id };
    }
  }

  #planned(results: ToolResults): MessagePlan {
    let first: number | undefined;
    let last: number | undefined;
    // A reply without a question gets one: two ids.
    let maxIds = 2;
    for (const { outline, round } of this.#writtenEntries()) {
      results.add(outline, round);
      maxIds += entryMaxIds(outline);
      if (!isMessage(outline)) continue;
      last = this.#clock.pass(outline);
      first ??= last;
    }
    return { first, last, maxIds };
  }

  async #add(entry: SessionEntry, kept: boolean): Promise<void> {
    switch (entry.type) {
      case "message":
        return this.#addMessage(entry, kept);
      case "custom_message": {
        const { customType, content, display, details } = entry;
        const draft = { type: "custom_message", customType, display, details };
        return this.#addQuestion(entry, await this.#parts.shown(content, entry.id, { synthetic: true }), {
          kept,
          draft,
        });
      }
      case "branch_summary": {
        const { type, fromId, summary, details, usage } = entry;
        const text = `A line of work that was tried and left, as a summary of it:\n\n${summary}`;
        const parts = summary === "" ? [] : [{ type: "text", text, synthetic: true }];
        return this.#addQuestion(entry, parts, { kept, draft: { type, fromId, summary, details, usage } });
      }
      case "compaction":
        return this.#addCompaction(entry);
      case "custom":
        if (!silentCustomTypes.has(entry.customType)) this.#leaveOut(entry, `custom ${entry.customType}`);
        return undefined;
      case "thinking_level_change":
        this.#leaveOut(entry, entry.type);
        return undefined;
      default:
        // Models are named by messages, names by the session's own record.
        if (entryRoles[entry.type] === "unmapped") this.#leaveOut(entry, entry.type);
        return undefined;
    }
  }

  async #addMessage(entry: MessageEntry, kept: boolean): Promise<void> {
    const { message } = entry;
    switch (message.role) {
      case "user": {
        const name = message.name === undefined ? {} : { name: message.name };
        const parts = await this.#parts.shown(message.content, entry.id, {});
        return this.#addQuestion(entry, parts, { kept, ...name });
      }
      case "custom": {
        const { customType, content, display, details } = message;
        const draft = { type: "custom_message", customType, display, details };
        const parts = await this.#parts.shown(content, entry.id, { synthetic: true });
        return this.#addQuestion(entry, parts, { kept, draft });
      }
      case "bashExecution": {
        const hidden = message.excludeFromContext === true ? { ignored: true } : {};
        const parts = [{ type: "text", text: bashText(message), synthetic: true, ...hidden }];
        return this.#addQuestion(entry, parts, { kept, draft: { type: "message", message } });
      }
      case "assistant":
        return this.#addReply(entry, message, kept);
      case "toolResult":
        return this.#tools.report(entry, this.#round);
      case "system":
        return this.#leaveOut(entry, "system message");
      default:
        return unreachable(message);
    }
  }

  /** A message in the user's place. */
  #addQuestion(
    entry: SessionEntry,
    parts: readonly DraftPart[],
    members: { readonly kept: boolean; readonly draft?: object; readonly name?: string },
  ): void {
    const { kept, ...more } = members;
    const annotation = { entry: entry.id, ...(kept ? { kept } : {}), ...more };
    const model = this.#asked.get(entry.id) ?? unknownModel;
    this.#push(entry, { role: "user", agent: "build", model }, withAnnotation(parts, annotation));
    this.#lastQuestion = this.#messages.at(-1)?.key;
  }

  async #addReply(entry: MessageEntry, message: AssistantMessage, kept: boolean): Promise<void> {
    const { errorMessage, stopReason } = message;
    const annotation = {
      entry: entry.id,
      ...(kept ? { kept } : {}),
      ...(errorMessage === undefined || stopReason === "aborted" ? {} : { error: errorMessage }),
    };
    const { parts } = this.#parts.reply(message, entry.id);
    if (stopReason === "aborted" && parts.length > 0 && parts.every(({ type }) => type === "reasoning")) {
      const text = "opencode does not send a stopped reply of reasoning alone";
      this.#source.find({ code: "reasoning", entryId: entry.id, text });
    }
    const error =
      stopReason === "aborted"
        ? { error: { name: "MessageAbortedError", data: { message: errorMessage ?? "aborted" } } }
        : {};
    const info = { ...this.#replyInfo(entry, message), finish: finishReason(message), ...error };
    const annotated = withAnnotation(parts, annotation, this.#hasAnnotatable(parts));
    const place = { entryId: entry.id, start: this.#entryTime(entry), round: this.#round };
    this.#push(entry, info, await this.#tools.answered(annotated, place));
  }

  /** A reply of reasoning alone has its annotation there: an added text would be sent. */
  #hasAnnotatable(parts: readonly DraftPart[]): readonly string[] {
    return parts.some(({ type }) => type !== "reasoning") ? ["text", "tool"] : ["reasoning"];
  }

  #addCompaction(entry: SessionEntry & { readonly type: "compaction" }): void {
    const { summary, tokensBefore, usage, model } = entry;
    const annotation = { entry: entry.id, ...this.#keptBy(entry), tokensBefore };
    const parts = withAnnotation([{ type: "compaction", auto: false }], annotation);
    const asked = this.#asked.get(entry.id) ?? unknownModel;
    this.#push(entry, { role: "user", agent: "build", model: asked }, parts);
    this.#lastQuestion = this.#messages.at(-1)?.key;
    const by = model === undefined ? asked : this.#model(model.provider, model.modelId);
    const info = {
      ...this.#replyInfo(entry, { usage, provider: by.providerID, model: by.modelID }),
      ...by,
      mode: "compaction",
      agent: "compaction",
      summary: true,
      finish: "stop",
    };
    this.#push(entry, info, [{ type: "text", text: summary }], " summary");
  }

  #keptBy(entry: SessionEntry & { readonly type: "compaction" }) {
    return keptAnnotation(this.#source.outline, this.#indexes, entry, this.#written);
  }

  #replyInfo(
    entry: SessionEntry,
    reply: Pick<AssistantMessage, "provider" | "model" | "mode"> & { readonly usage?: Usage | undefined },
  ): Readonly<Record<string, unknown>> {
    const { usage, provider, model, mode = "build" } = reply;
    const { cwd } = this.#source;
    return {
      role: "assistant",
      ...this.#model(provider, model),
      mode,
      agent: mode,
      path: { cwd, root: cwd },
      cost: amount(usage?.cost?.total),
      tokens: {
        input: amount(usage?.input),
        output: amount(usage?.output),
        reasoning: 0,
        cache: { read: amount(usage?.cacheRead), write: amount(usage?.cacheWrite) },
      },
      time: { completed: this.#entryTime(entry) },
    };
  }

  #push(
    entry: SessionEntry,
    info: Readonly<Record<string, unknown>>,
    parts: readonly DraftPart[],
    suffix = "",
  ): void {
    const time = this.#entryTime(entry);
    this.#clock.pass(entry);
    const isReply = info.role === "assistant";
    if (isReply && this.#lastQuestion === undefined) this.#addPlaceholder(entry, time);
    this.#written.add(entry.id);
    this.#messages.push({
      key: `${entry.id} ${this.#round}${suffix}`,
      time,
      info: { ...info, time: { created: time, ...(info.time as object | undefined) } },
      ...(isReply && this.#lastQuestion !== undefined ? { asked: this.#lastQuestion } : {}),
      parts,
    });
  }

  /** A reply has to answer a message. This one has nothing that a model is sent. */
  #addPlaceholder(entry: SessionEntry, time: number): void {
    const key = `${entry.id} question`;
    const info = { role: "user", agent: "build", model: unknownModel, time: { created: time } };
    const parts = [{ type: "text", text: "", synthetic: true, ignored: true }];
    this.#messages.push({ key, time, info, parts });
    this.#lastQuestion = key;
  }

  #entryTime(entry: SessionEntry): number {
    const { time, isMoved } = this.#clock.entryTime(entry);
    if (isMoved && this.#round === "" && !this.#isRetimed) {
      this.#isRetimed = true;
      const text = "times that run back or ahead of the clock are moved";
      this.#source.find({ code: "retimed", entryId: entry.id, text });
    }
    return time;
  }

  #model(provider: string, model: string): Model {
    return sourceModel(this.#source, provider, model);
  }

  #leaveOut({ id }: SessionEntry, what: string): void {
    this.#source.find({ code: "entry", entryId: id, text: `${what}: opencode has no place for it` });
  }
}

/** opencode orders messages by time: one that runs back, or ahead of the clock, is moved. */
class MessageClock {
  readonly #now: number;
  #time = 0;

  constructor(now: number) {
    this.#now = now;
  }

  /** The time of the next message. */
  entryTime({ timestamp }: SessionEntry): { readonly time: number; readonly isMoved: boolean } {
    const own = readMilliseconds(timestamp) ?? this.#time;
    const time = Math.max(this.#time, 0, Math.min(own, this.#now));
    return { time, isMoved: time !== own };
  }

  /** Writes a message. */
  pass(entry: SessionEntry): number {
    this.#time = this.entryTime(entry).time;
    return this.#time;
  }
}

/** Whether an entry has a message of its own. */
function isMessage(entry: SessionEntry): boolean {
  if (entry.type === "message") return entry.message.role !== "system" && entry.message.role !== "toolResult";
  return entry.type === "custom_message" || entry.type === "branch_summary" || entry.type === "compaction";
}

/** The messages, parts and files of an entry, at most. A compaction may repeat a call: its result has files twice. */
function entryMaxIds(entry: SessionEntry): number {
  const content = entry.type === "message" && "content" in entry.message ? entry.message.content : "";
  const blocks = Array.isArray(content) ? content.length : 1;
  const isResult = entry.type === "message" && entry.message.role === "toolResult";
  return isResult ? 2 * blocks : isMessage(entry) ? 4 + blocks : 0;
}

function finishReason({ stopReason, refused, content }: AssistantMessage): string {
  if (refused === true) return "content-filter";
  switch (stopReason) {
    case "toolUse":
      return "tool-calls";
    case undefined:
      return content.some(({ type }) => type === "toolCall") ? "tool-calls" : "stop";
    default:
      return stopReason;
  }
}

/** The schema takes finite numbers. */
function amount(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? value : 0;
}

/** Adds an annotation to the first part that can have one, else to a part of its own, which is never sent. */
function withAnnotation(
  parts: readonly DraftPart[],
  annotation: object,
  types: readonly string[] = ["text"],
): readonly DraftPart[] {
  const at = parts.findIndex(({ type }) => types.includes(type));
  const part = parts[at];
  if (part === undefined) {
    if (types.includes("reasoning")) return parts;
    return [
      ...parts,
      { type: "text", text: "", synthetic: true, ignored: true, metadata: { sessile: annotation } },
    ];
  }
  const { sessile } = part.metadata ?? {};
  const metadata = { ...part.metadata, sessile: { ...(sessile as object | undefined), ...annotation } };
  return parts.with(at, { ...part, metadata });
}
