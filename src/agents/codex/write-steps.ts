/**
 * Writes the steps of a session as the lines of a rollout: items, and the events by which Codex lists and
 * shows it.
 */

import type { AssistantMessage, ToolCall, Usage } from "../../content/index.js";
import { blockTexts } from "../../content/internal.js";
import { replyItems } from "../../providers/internal.js";
import type { SessionEntry } from "../../session/index.js";
import { textUuid } from "../shared/ids.js";
import { type ForeignObject, parseJson, readObject, readText } from "../shared/values.js";
import {
  describedReply,
  filledReply,
  type WriteBlock,
  type WriteResult,
  type WriteStep,
  type WriteSteps,
  writeBlocks,
  writeSteps,
} from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { modelItems } from "./items.js";
import { summaryPrefix } from "./thread-state.js";

/** A session as steps, with the writer of their items. */
interface CodexSteps {
  readonly steps: WriteSteps;
  readonly items: ItemWriter;
}

/** The steps of a session. Calls have the ids that Codex's items name. */
export function codexSteps(source: WriteSource): CodexSteps {
  const itemIds = new Map<string, string>();
  const bare: WriteSource = {
    ...source,
    outline: source.outline.map((entry) => withCallIds(entry, itemIds)),
    entry: async (id) => withCallIds(await source.entry(id), itemIds),
  };
  return { steps: writeSteps(bare), items: new ItemWriter(bare, itemIds) };
}

/** An entry whose calls and results have the id of the call alone; the ids of the items go to the map. */
function withCallIds(entry: SessionEntry, itemIds: Map<string, string>): SessionEntry {
  if (entry.type !== "message") return entry;
  const { message } = entry;
  if (message.role === "toolResult") {
    const [callId] = splitId(message.toolCallId);
    return { ...entry, message: { ...message, toolCallId: callId } };
  }
  if (message.role !== "assistant") return entry;
  const content = message.content.map((block, at) => {
    if (block.type !== "toolCall") return block;
    const [callId, itemId] = splitId(block.id);
    if (itemId !== undefined && isResponses(message)) itemIds.set(`${entry.id} ${at}`, itemId);
    return callId === block.id ? block : { ...block, id: callId };
  });
  return { ...entry, message: { ...message, content } };
}

/** The id of a call, and that of its item after a bar. */
function splitId(id: string): readonly [callId: string, itemId?: string] {
  const bar = id.indexOf("|");
  return bar <= 0 ? [id] : [id.slice(0, bar), id.slice(bar + 1)];
}

/** The state that the lines so far lead to. */
export interface WrittenState {
  /** The provider of the rollout; undefined for lines after those of Codex. */
  readonly provider?: string;
  model?: string | undefined;
  effort?: string | undefined;
  totals: Usage;
}

/** A state before the first line. */
export function emptyState(): WrittenState {
  return { totals: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
}

/** Lines in pieces. */
type Pieces = AsyncGenerator<string, void, undefined>;

/** Writes steps as lines. */
export class StepWriter {
  readonly #source: WriteSource;
  readonly #items: ItemWriter;
  readonly #lines: RolloutLines;
  readonly #state: WrittenState;

  constructor(source: WriteSource, items: ItemWriter, lines: RolloutLines, state: WrittenState) {
    this.#source = source;
    this.#items = items;
    this.#lines = lines;
    this.#state = state;
  }

  async *write(step: WriteStep): Pieces {
    if (step.kind === "user") await this.#user(step);
    else if (step.kind === "reply") await this.#reply(step);
    else if (step.kind === "compaction") yield* this.#compaction(step);
    else this.#other(step.entry, step.time);
    yield* this.#lines.take();
  }

  async #user(step: ItemStep & { readonly kind: "user" }): Promise<void> {
    const { entryId, time, customType, display } = step;
    const [item] = await this.#items.user(step);
    if (item === undefined) return;
    const annotation: LineAnnotation =
      customType === undefined ? { entry: entryId } : { entry: entryId, customType, display };
    if (customType === undefined) {
      this.#lines.beginTurn(entryId, time);
      this.#lines.showUser(entryId, item, time);
    }
    this.#lines.item(item, time, annotation);
  }

  async #reply(step: ItemStep & { readonly kind: "reply" }): Promise<void> {
    const { entryId, time, message, results } = step;
    const model = this.#messageModel(message);
    if (model !== undefined && model !== this.#state.model) this.#turnContext(model, time, undefined);
    const items = await this.#items.reply(step);
    for (const [at, item] of items.entries()) {
      this.#lines.showReply(entryId, item, at, time);
      this.#lines.item(
        item,
        time,
        at === 0 ? { entry: entryId, ...providerOfReply(message, this.#state.provider) } : undefined,
      );
    }
    if (message.usage !== undefined && items.length > 0) this.#tokenCount(message.usage, time);
    await this.#results(results, items);
    if (message.stopReason === "aborted") {
      this.#lines.add("event_msg", { type: "turn_aborted", reason: "interrupted" }, time);
    }
  }

  /** Writes the results of a reply that is written already. */
  async *results(step: ItemStep & { readonly kind: "reply" }, isWanted: (id: string) => boolean): Pieces {
    const wanted = step.results.filter(
      ({ entryId, interrupted }) => interrupted !== true && isWanted(entryId),
    );
    if (wanted.length > 0) await this.#results(wanted, await this.#items.reply(step));
    yield* this.#lines.take();
  }

  async #results(results: readonly WriteResult[], items: readonly CodexItem[]): Promise<void> {
    for (const result of results) {
      const item = await this.#items.result(result, items);
      const annotation = { entry: result.entryId, ...(result.isError ? { isError: true } : {}) };
      this.#lines.item(item, result.time, result.interrupted === true ? undefined : annotation);
    }
  }

  #compaction({ entryId, time, summary, kept, entry }: WriteStep & { readonly kind: "compaction" }): Pieces {
    const message = `${summaryPrefix}\n${summary}`;
    const annotation = { entry: entryId, tokensBefore: entry.tokensBefore };
    const list = { name: "replacement_history", items: this.#history(message, kept) };
    return this.#lines.addList("compacted", { message }, list, time, annotation);
  }

  async *#history(
    message: string,
    kept: AsyncIterable<WriteStep>,
  ): AsyncGenerator<CodexItem, void, undefined> {
    yield { type: "message", role: "user", content: [{ type: "input_text", text: message }] };
    for await (const each of kept) {
      if (each.kind === "user") yield* await this.#items.user(each);
      if (each.kind !== "reply") continue;
      const items = await this.#items.reply(each);
      yield* items;
      for (const result of each.results) yield this.#items.result(result, items);
    }
  }

  #other(entry: SessionEntry, time: number): void {
    switch (entry.type) {
      case "model_change": {
        const { provider, modelId } = entry;
        const model = this.#source.modelFor({ provider, model: modelId }) ?? modelId;
        this.#turnContext(model, time, { entry: entry.id });
        return;
      }
      case "thinking_level_change": {
        const effort = entry.thinkingLevel === "off" ? "none" : entry.thinkingLevel;
        if (!efforts.has(effort)) return;
        this.#state.effort = effort;
        if (this.#state.model !== undefined) this.#turnContext(this.#state.model, time, { entry: entry.id });
        return;
      }
      case "session_info": {
        const { name } = entry;
        if (name === undefined) return;
        const payload = { type: "thread_name_updated", thread_id: this.#source.header.id, thread_name: name };
        this.#lines.add("event_msg", payload, time, { entry: entry.id });
        return;
      }
      default:
    }
  }

  /** The model under which a reply is written; undefined if Codex has no name for it. */
  #messageModel(message: AssistantMessage): string | undefined {
    const { provider, model } = message;
    return this.#source.modelFor({ provider, model }) ?? (isResponses(message) ? model : undefined);
  }

  #turnContext(model: string, time: number, annotation: LineAnnotation | undefined): void {
    const { effort } = this.#state;
    this.#state.model = model;
    const payload = {
      cwd: this.#source.cwd,
      approval_policy: "on-request",
      // 0.58 reads the mode, later versions the type.
      sandbox_policy: { type: "read-only", mode: "read-only" },
      model,
      ...(effort === undefined ? {} : { effort }),
      summary: "auto",
    };
    this.#lines.add("turn_context", payload, time, annotation);
  }

  #tokenCount(usage: Usage, time: number): void {
    const { totals } = this.#state;
    this.#state.totals = {
      input: totals.input + usage.input,
      output: totals.output + usage.output,
      cacheRead: totals.cacheRead + usage.cacheRead,
      cacheWrite: totals.cacheWrite + usage.cacheWrite,
    };
    const info = {
      total_token_usage: usageTokens(this.#state.totals),
      last_token_usage: usageTokens(usage),
      model_context_window: null,
    };
    this.#lines.add("event_msg", { type: "token_count", info, rate_limits: null }, time);
  }
}

/** Levels of reasoning that Codex knows. */
const efforts: ReadonlySet<string> = new Set(["none", "minimal", "low", "medium", "high", "xhigh"]);

/** The provider of a reply that came over another protocol. */
function providerOfReply(
  message: AssistantMessage,
  written: string | undefined,
): Readonly<Record<string, unknown>> {
  const { provider, model, api } = message;
  const isWritten = isResponses(message) && (written === undefined || provider === written);
  return isWritten ? {} : { provider, model, ...(api === undefined ? {} : { api }) };
}

function usageTokens({ input, output, cacheRead, cacheWrite, totalTokens }: Usage) {
  return {
    input_tokens: input + cacheRead + cacheWrite,
    cached_input_tokens: cacheRead,
    ...(cacheWrite === 0 ? {} : { cache_write_input_tokens: cacheWrite }),
    output_tokens: output,
    reasoning_output_tokens: 0,
    total_tokens: totalTokens ?? input + cacheRead + cacheWrite + output,
  };
}

// Steps of a session as Codex's items: messages, and replies with the results of their calls.

/** An item of Codex. */
type CodexItem = ForeignObject & { readonly type: string };

/** A step that Codex has items for. */
type ItemStep = WriteStep & { readonly kind: "user" | "reply" };

/** The protocol whose reasoning and items Codex sends back. */
const responsesApi = "openai-responses";

/** Whether a reply came over the protocol that Codex speaks. */
export function isResponses({ api }: Pick<AssistantMessage, "api">): boolean {
  return api === responsesApi;
}

/**
 * Writes the items of steps. A compaction repeats the steps that it keeps: they have the same items again, and no
 * finding a second time.
 */
class ItemWriter {
  readonly #source: WriteSource;
  /** Ids of items in calls, by the entry and index of the block. */
  readonly #itemIds: ReadonlyMap<string, string>;
  /** The entries that were written. */
  readonly #written = new Set<string>();
  /** The entry and place of the item that has an id. */
  readonly #owners = new Map<string, string>();

  constructor(source: WriteSource, itemIds: ReadonlyMap<string, string>) {
    this.#source = source;
    this.#itemIds = itemIds;
  }

  /** The source of an entry's content. */
  #once(entryId: string): WriteSource {
    if (this.#written.has(entryId)) return { ...this.#source, find: () => {} };
    this.#written.add(entryId);
    return this.#source;
  }

  /** The items of a message of the user. */
  async user(step: ItemStep & { readonly kind: "user" }): Promise<readonly CodexItem[]> {
    const { entryId, content } = step;
    const blocks = await writeBlocks(this.#once(entryId), entryId, content);
    return [{ type: "message", role: "user", content: blocks.map(inputPart) }];
  }

  /** The items of a reply, without its results. */
  async reply({ entryId, message }: ItemStep & { readonly kind: "reply" }): Promise<readonly CodexItem[]> {
    const source = this.#once(entryId);
    const identified = message.content.map((block, at) => {
      if (block.type !== "toolCall") return block;
      const itemId = this.#itemIds.get(`${entryId} ${at}`);
      return plainCall(itemId === undefined ? block : { ...block, id: `${block.id}|${itemId}` });
    });
    const none = { provider: "none", model: "none" };
    const own = { ...message, content: identified };
    const { items: made, losses } = replyItems(
      isResponses(message) ? await filledReply(source, entryId, own) : describedReply(own),
      entryId,
      isResponses(message) ? message : none,
    );
    for (const { code, reason } of losses) {
      if (code === "reasoning" || code === "opaque") source.find({ code, entryId, text: reason });
    }
    return made.flatMap((item, at) =>
      this.#item(item as unknown as ForeignObject, `${entryId} ${at}`, source, entryId),
    );
  }

  /** The item of a result, in the form that its call asks for. */
  async result(result: WriteResult, replyItems: readonly CodexItem[]): Promise<CodexItem> {
    const { entryId, callId, content } = result;
    const source = this.#once(`${entryId} ${callId}`);
    const blocks = await writeBlocks(source, entryId, content);
    const call = replyItems.find(({ call_id }) => call_id === callId);
    return resultItem(callId, readText(call?.type) ?? "function_call", blocks);
  }

  /** @param place the entry and index of the item */
  #item(item: ForeignObject, place: string, source: WriteSource, entryId: string): readonly CodexItem[] {
    const type = readText(item.type) ?? "message";
    if (type === "message") {
      const { role: _role, content: given, ...rest } = item;
      const parts = typeof given === "string" ? [{ text: given }] : (given as readonly ForeignObject[]);
      const content = parts.map(({ text, refusal }) => ({ type: "output_text", text: text ?? refusal }));
      return [{ ...this.#unique(rest, place), type, role: "assistant", content }];
    }
    if (modelItems.has(type)) return [{ ...this.#unique(item, place), type }];
    source.find({ code: "opaque", entryId, text: `Codex has no item ${type}` });
    return [];
  }

  /** An item without its id if another one has it, which the API refuses. */
  #unique(item: ForeignObject, place: string): ForeignObject {
    const { id, ...unnamed } = item;
    if (typeof id !== "string") return item;
    const owner = this.#owners.get(id) ?? place;
    this.#owners.set(id, owner);
    return owner === place ? item : unnamed;
  }
}

/** A call that the API would take as one of a tool of its own, which Codex has not, as a function's. */
function plainCall(call: ToolCall): ToolCall {
  const item = readObject(readObject(parseJson(call.thoughtSignature))?.item);
  if (item === undefined || item.type === "local_shell_call") return call;
  const { thoughtSignature: _signature, ...plain } = call;
  return plain;
}

function resultItem(callId: string, callType: string, blocks: readonly WriteBlock[]): CodexItem {
  const texts = blockTexts(blocks);
  const isText = texts.length === blocks.length;
  const text = texts.join("\n");
  if (callType === "tool_search_call") {
    const tools = parseJson(text);
    if (Array.isArray(tools)) {
      return { type: "tool_search_output", call_id: callId, status: "completed", execution: "client", tools };
    }
  }
  const output = isText && blocks.length <= 1 ? text : blocks.map(inputPart);
  // Early versions hold text alone there.
  if (callType === "custom_tool_call")
    return { type: "custom_tool_call_output", call_id: callId, output: isText ? text : output };
  return { type: "function_call_output", call_id: callId, output };
}

/** A block as a part of a message or an output. */
function inputPart(block: WriteBlock): ForeignObject {
  return block.type === "text"
    ? { type: "input_text", text: block.text }
    : { type: "input_image", image_url: `data:${block.mediaType};base64,${block.base64}` };
}

// The written lines of a rollout: items, and the events by which Codex lists and shows a session.

/** Members for this library beside the payload, which Codex ignores: ids and types for the way back. */
type LineAnnotation = Readonly<Record<string, unknown>> & { readonly entry: string };

/** The form of the lines. */
interface LineForm {
  readonly threadId: string;
  /** The number of the first line, in threads that number them. */
  readonly ordinal?: number;
}

/** Makes the lines of one rollout. */
export class RolloutLines {
  readonly #form: LineForm;
  /** Lines that were not taken, in pieces. */
  #made: string[] = [];
  #count = 0;
  #turnId: string | undefined;

  constructor(form: LineForm) {
    this.#form = form;
  }

  /** Adds a line. */
  add(type: string, payload: ForeignObject, time: number, annotation?: LineAnnotation): void {
    const { ordinal } = this.#form;
    const line = {
      timestamp: new Date(time).toISOString(),
      ...(ordinal === undefined ? {} : { ordinal: ordinal + this.#count++ }),
      type,
      payload,
      ...(annotation === undefined ? {} : { sessile: annotation }),
    };
    this.#made.push(`${JSON.stringify(line)}\n`);
  }

  /** Returns the lines since the last call. */
  take(): readonly string[] {
    const made = this.#made;
    this.#made = [];
    return made;
  }

  /** A line whose payload ends with a list of items, in pieces: the list may be as long as the session. */
  async *addList(
    type: string,
    payload: ForeignObject,
    list: { readonly name: string; readonly items: AsyncIterable<CodexItem> },
    time: number,
    annotation: LineAnnotation,
  ): AsyncGenerator<string, void, undefined> {
    this.add(type, { ...payload, [list.name]: [] }, time, annotation);
    yield* this.#made.splice(0, this.#made.length - 1);
    const [line = ""] = this.take();
    // In a string of JSON its quotes are escaped.
    const empty = `${JSON.stringify(list.name)}:[]`;
    const at = line.indexOf(empty) + empty.length - 1;
    yield line.slice(0, at);
    let separator = "";
    for await (const item of list.items) {
      yield `${separator}${JSON.stringify(item)}`;
      separator = ",";
    }
    yield line.slice(at);
  }

  /** Adds an item of the conversation. */
  item(item: CodexItem, time: number, annotation?: LineAnnotation): void {
    this.add("response_item", item, time, annotation);
  }

  /** Begins a turn, in threads that number their lines: they show turns by these events. */
  beginTurn(entryId: string, time: number): void {
    if (this.#form.ordinal === undefined) return;
    this.endTurn(time);
    this.#turnId = textUuid("codex", this.#form.threadId, entryId);
    const started_at = Math.floor(time / 1000);
    this.#event(
      { type: "task_started", turn_id: this.#turnId, started_at, model_context_window: null },
      time,
    );
  }

  /** Ends the turn. */
  endTurn(time: number): void {
    if (this.#turnId === undefined) return;
    const completed_at = Math.floor(time / 1000);
    this.#event(
      { type: "task_complete", turn_id: this.#turnId, last_agent_message: null, completed_at },
      time,
    );
    this.#turnId = undefined;
  }

  /** The event that shows a message of the user. */
  showUser(entryId: string, item: CodexItem, time: number): void {
    const parts = (item.content as readonly ForeignObject[]) ?? [];
    const text = parts.flatMap((part) => (typeof part.text === "string" ? [part.text] : [])).join("\n");
    const images = parts.flatMap((part) => (typeof part.image_url === "string" ? [part.image_url] : []));
    if (this.#form.ordinal === undefined) {
      this.#event({ type: "user_message", message: text, images, local_images: [], text_elements: [] }, time);
      return;
    }
    const shown = [
      ...images.map((image_url) => ({ type: "image", image_url })),
      ...(text === "" ? [] : [{ type: "text", text, text_elements: [] }]),
    ];
    this.#completed({ type: "UserMessage", id: this.#foreignId(entryId, "user"), content: shown }, time);
  }

  /** The event that shows an item of a reply. */
  showReply(entryId: string, item: CodexItem, at: number, time: number): void {
    const isLegacy = this.#form.ordinal === undefined;
    if (item.type === "message") {
      const text = (item.content as readonly ForeignObject[]).map((part) => String(part.text)).join("");
      if (isLegacy) this.#event({ type: "agent_message", message: text }, time);
      else {
        const id = this.#foreignId(entryId, String(at));
        this.#completed({ type: "AgentMessage", id, content: [{ type: "Text", text }] }, time);
      }
    }
    if (item.type !== "reasoning" || !Array.isArray(item.summary)) return;
    const texts = item.summary.map((part) => String(readObject(part)?.text ?? ""));
    if (texts.length === 0) return;
    if (isLegacy) for (const text of texts) this.#event({ type: "agent_reasoning", text }, time);
    else {
      const id = this.#foreignId(entryId, String(at));
      this.#completed({ type: "Reasoning", id, summary_text: texts, raw_content: [] }, time);
    }
  }

  #event(payload: ForeignObject, time: number): void {
    this.add("event_msg", payload, time);
  }

  #completed(item: ForeignObject, time: number): void {
    const turn_id = this.#turnId ?? this.#foreignId("", "turn");
    const { threadId: thread_id } = this.#form;
    this.#event({ type: "item_completed", thread_id, turn_id, item, completed_at_ms: time }, time);
  }

  #foreignId(entryId: string, part: string): string {
    return textUuid("codex", this.#form.threadId, entryId, part);
  }
}
