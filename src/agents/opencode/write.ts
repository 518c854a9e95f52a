/**
 * Writes an exchange file for each session, as `opencode import` takes it: entries of a path as messages
 * with ids.
 */

import type { AssistantMessage, Usage } from "../../content/index.js";
import { unreachable } from "../../core/arguments.js";
import { encodeTexts } from "../../core/bytes.js";
import { bashText } from "../../providers/internal.js";
import type { SessionEntry } from "../../session/index.js";
import { textDigest } from "../shared/ids.js";
import { readMilliseconds } from "../shared/values.js";
import { entryRoles } from "../shared/write-steps.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { type DraftPart, PartWriter, ToolParts, ToolResults } from "./write-parts.js";

/** The version of opencode whose schema the files follow. Older ones take them too. */
const writtenVersion = "1.18.33";

/**
 * Writes a session and its children as one exchange file each. The ids are new, since an import of opencode
 * never changes a message that it has; the ids of this library are in the metadata.
 */
export function writeOpencode(source: WriteSource): WrittenSession {
  const files: WrittenSession["files"][number][] = [];
  const id = writeInto(files, source, undefined);
  return { files, resume: ["opencode", "import", `${id}.json`] };
}

function writeInto(
  files: WrittenSession["files"][number][],
  source: WriteSource,
  parentID: string | undefined,
): string {
  const { header, leafId } = source;
  const id = sessionIdFor(header.id, leafId ?? "");
  source.find({ code: "id", text: `session ${header.id} is ${id}` });
  const children = new Map<string, string>();
  for (const child of source.children) children.set(child.header.id, writeInto(files, child, id));
  files.unshift({ path: `${id}.json`, bytes: encodeTexts(fileTexts(source, { id, parentID, children })) });
  return id;
}

/** The JSON of a file, indented by two, message by message. */
async function* fileTexts(
  source: WriteSource,
  init: {
    readonly id: string;
    readonly parentID: string | undefined;
    readonly children: ReadonlyMap<string, string>;
  },
): AsyncGenerator<string, void, undefined> {
  const { id, parentID, children } = init;
  const indented = (value: object, by: string) => JSON.stringify(value, null, 2).replaceAll("\n", `\n${by}`);
  const writer = new MessageWriter(source, children);
  const info = await sourceInfo(source, id, parentID, writer.plan.last);
  yield `{\n  "info": ${indented(info, "  ")},\n  "messages": [`;
  let separator = "";
  const place = { id, session: source.header.id, now: source.now() };
  for await (const message of numbered(writer, place)) {
    yield `${separator}\n    ${indented(message, "    ")}`;
    separator = ",";
  }
  yield separator === "" ? "]\n}\n" : "\n  ]\n}\n";
}

/** The members that the schema requires, and those that the session_info of the path has. */
async function sourceInfo(
  source: WriteSource,
  id: string,
  parentID: string | undefined,
  lastTime: number | undefined,
): Promise<object> {
  const { header, outline, cwd, now } = source;
  const last = outline.findLast((entry) => entry.type === "session_info");
  const found = last && (await source.entry(last.id));
  const { title, name, slug, permission, stats, archivedAt } = { ...found } as Partial<
    SessionEntry & { readonly type: "session_info" }
  >;
  const created = Math.max(0, readMilliseconds(header.timestamp) ?? now());
  const updated = Math.max(created, lastTime ?? created);
  const archived = readMilliseconds(archivedAt);
  return {
    id,
    slug: slug ?? `sessile-${header.id.slice(0, 8).toLowerCase()}`,
    projectID: "global",
    directory: cwd,
    path: "",
    ...(parentID === undefined ? {} : { parentID }),
    title: title ?? name ?? (await sourceTitle(source)) ?? "Imported session",
    version: writtenVersion,
    metadata: { sessile: { session: header.id, of: id } },
    time: { created, updated, ...(archived === undefined ? {} : { archived }) },
    ...(permission === undefined ? {} : { permission }),
    ...(stats === undefined
      ? {}
      : { summary: { additions: stats.additions, deletions: stats.deletions, files: stats.files } }),
  };
}

/** The first line of the first question. */
async function sourceTitle(source: WriteSource): Promise<string | undefined> {
  for (const outline of source.outline) {
    if (outline.type !== "message" || outline.message.role !== "user") continue;
    const entry = await source.entry(outline.id);
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    const { content } = entry.message;
    const text = typeof content === "string" ? content : content.find(({ type }) => type === "text");
    const line = (typeof text === "object" && "text" in text ? text.text : String(text ?? "")).trim();
    const [first = ""] = line.split("\n", 1);
    if (first !== "") return first.length > 60 ? `${first.slice(0, 59)}…` : first;
  }
  return undefined;
}

interface NumberedMessage {
  readonly info: object;
  readonly parts: readonly object[];
}

/** Gives the ids, in the order of the file. */
async function* numbered(
  writer: MessageWriter,
  { id: sessionID, session, now }: { readonly id: string; readonly session: string; readonly now: number },
): AsyncGenerator<NumberedMessage, void, undefined> {
  const { first = now, last = now, maxIds } = writer.plan;
  const ids = new AscendingIds(sessionID, { first, last, now, count: maxIds });
  const byKey = new Map<string, string>();
  let isFirst = true;
  for await (const { key, time, info, asked, parts } of writer.write()) {
    const id = ids.next("msg", time, key);
    if (info.role === "user") byKey.set(key, id);
    const place = (part: number | string) => ({
      id: ids.next("prt", time, `${key} ${part}`),
      sessionID,
      messageID: id,
    });
    const placed = parts.map((part, at) => {
      // 1.2 drops the metadata of the session.
      const annotated = isFirst ? withSession(part, { session, of: sessionID }) : part;
      const own = { ...annotated, ...place(at) };
      const files = stateAttachments(part.state);
      if (files === undefined) return own;
      const attachments = files.map((file, each) => ({ ...file, ...place(`${at} ${each}`) }));
      return { ...own, state: { ...(part.state as object), attachments } };
    });
    const parentID = asked === undefined ? {} : { parentID: byKey.get(asked) ?? id };
    isFirst = false;
    yield { info: { ...info, time: { ...info.time }, ...parentID, id, sessionID }, parts: placed };
  }
}

function stateAttachments(state: unknown): readonly object[] | undefined {
  return (state as { readonly attachments?: readonly object[] } | undefined)?.attachments;
}

function withSession(part: DraftMessage["parts"][number], annotation: object): DraftMessage["parts"][number] {
  const { metadata } = part;
  if (metadata?.sessile === undefined) return part;
  return { ...part, metadata: { ...metadata, sessile: { ...(metadata.sessile as object), ...annotation } } };
}

// Entries of a path as messages of opencode, without their ids.

/** A message without its ids. */
interface DraftMessage {
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
interface MessagePlan {
  /** The times of the first and the last message; undefined without one. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  /** At least as many as there are messages, parts and files of results. */
  readonly maxIds: number;
}

/** Makes the messages of a session, one after the other. */
class MessageWriter {
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

// The tail that a compaction keeps, repeated after the summary: opencode 1.1 and 1.2 know no tail.

/**
 * The tail that a compaction keeps, for an import back: there a result directly follows its call, and an
 * unmapped entry is absent, so that the kept range begins at the next other one.
 */
function keptAnnotation(
  path: readonly SessionEntry[],
  indexes: ReadonlyMap<string, number>,
  { id, firstKeptEntryId, retain = [] }: SessionEntry & { readonly type: "compaction" },
  written: ReadonlySet<string>,
): { readonly firstKept: string; readonly retain?: readonly string[] } {
  const end = indexes.get(id) ?? 0;
  const results: string[] = [];
  let firstKept = id;
  for (let at = indexes.get(firstKeptEntryId) ?? end; at < end; at++) {
    const entry = path[at] as SessionEntry;
    const isResult = entry.type === "message" && entry.message.role === "toolResult";
    if (isResult) results.push(entry.id);
    else if (written.has(entry.id) && isKept(entry)) {
      firstKept = entry.id;
      break;
    }
  }
  const all = [...retain, ...results];
  return { firstKept, ...(all.length === 0 ? {} : { retain: all }) };
}

/** Empty messages, and stopped replies of reasoning alone, are written, and no messages of an import. */
function isKept(entry: SessionEntry): boolean {
  if (entry.type === "message" && entry.message.role === "user" && entry.message.content.length === 0)
    return false;
  if (entry.type !== "message" || entry.message.role !== "assistant") return entry.type !== "compaction";
  const { content, stopReason } = entry.message;
  return content.some(
    (block) =>
      block.type === "toolCall" ||
      (block.type === "text" && block.text !== "") ||
      (block.type === "thinking" && block.thinking !== "" && stopReason !== "aborted"),
  );
}

/** The entries before a compaction that it keeps, in the order of the context. */
function keptEntries(entries: readonly SessionEntry[], index: number): readonly SessionEntry[] {
  const compaction = entries[index];
  if (compaction?.type !== "compaction") return [];
  const before = entries.slice(0, index).filter(({ type }) => type !== "compaction" && type !== "custom");
  const byId = new Map(before.map((entry) => [entry.id, entry]));
  const retained = new Set(compaction.retain ?? []);
  const first = entries.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const tail = first < 0 ? [] : entries.slice(first, index).filter(({ id }) => byId.has(id));
  const shown = [
    ...[...retained].flatMap((id) => byId.get(id) ?? []),
    ...tail.filter(({ id }) => !retained.has(id)),
  ];
  return shown.filter(({ type }) => entryRoles[type] === "message");
}

// The models of messages, as opencode names them.

/** A provider and a model of its configuration. */
interface Model {
  readonly providerID: string;
  readonly modelID: string;
}

const unknownModel: Model = { providerID: "unknown", modelID: "unknown" };

/**
 * `modelFor` names a model, with or without its provider before a slash. The source may name the provider for
 * all of them.
 */
function sourceModel(source: WriteSource, provider: string, model: string): Model {
  const named = source.modelFor({ provider, model });
  if (source.provider !== undefined) return { providerID: source.provider, modelID: named ?? model };
  if (named === undefined) return { providerID: provider, modelID: model };
  const slash = named.indexOf("/");
  if (slash < 0) return { providerID: provider, modelID: named };
  return { providerID: named.slice(0, slash), modelID: named.slice(slash + 1) };
}

/** The model of the next reply for each entry, else of the last one. opencode resumes with the last model. */
function askedModels(source: WriteSource): ReadonlyMap<string, Model> {
  const asked = new Map<string, Model>();
  let model: Model | undefined;
  for (const entry of source.outline.toReversed()) {
    if (entry.type === "message" && entry.message.role === "assistant")
      model = sourceModel(source, entry.message.provider, entry.message.model);
    if (model !== undefined) asked.set(entry.id, model);
  }
  for (const entry of source.outline) {
    if (entry.type === "model_change") model = sourceModel(source, entry.provider, entry.modelId);
    else if (entry.type === "message" && entry.message.role === "assistant")
      model = sourceModel(source, entry.message.provider, entry.message.model);
    if (!asked.has(entry.id) && model !== undefined) asked.set(entry.id, model);
  }
  return asked;
}

// Ids of opencode: a prefix, the time, and 14 letters and digits. They have to ascend within a session.

/** The time is the low 48 bits of milliseconds times 4096, so that it begins anew every 795 days. */
const countsPerMillisecond = 4096n;
const period = 2 ** 36;
const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The id of a session: the same for the same texts. */
function sessionIdFor(...texts: readonly string[]): string {
  const hex = textDigest("opencode session", ...texts);
  return `ses_${hex.slice(0, 12)}${tail(hex)}`;
}

/** Makes the ids of one session's messages and parts, in the order of the file. */
class AscendingIds {
  readonly #seed: string;
  readonly #isMoved: boolean;
  #last: bigint;

  /**
   * @param seed the id of the session
   * @param first the time of the first message, in milliseconds
   * @param last that of the last one
   * @param count how many ids there will be at most
   */
  constructor(
    seed: string,
    { first, last, now, count }: { first: number; last: number; now: number; count: number },
  ) {
    this.#seed = seed;
    // opencode compares ids of old messages with those of new ones, which have to be greater.
    this.#isMoved = Math.floor(first / period) !== Math.floor(now / period) || last >= now;
    this.#last = this.#isMoved ? BigInt(now) * countsPerMillisecond - BigInt(count) - 1n : 0n;
  }

  next(prefix: "msg" | "prt", time: number, key: string): string {
    const wanted = this.#isMoved ? 0n : BigInt(time) * countsPerMillisecond + 1n;
    this.#last = wanted > this.#last ? wanted : this.#last + 1n;
    const digits = BigInt.asUintN(48, this.#last).toString(16).padStart(12, "0");
    return `${prefix}_${digits}${tail(textDigest(this.#seed, prefix, key))}`;
  }
}

function tail(hex: string): string {
  let text = "";
  for (let at = 12; at < 40; at += 2) text += letters[Number.parseInt(hex.slice(at, at + 2), 16) % 62];
  return text;
}
