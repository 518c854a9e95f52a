/** Writes the steps of a session as the lines of a rollout. */

import type { AssistantMessage, Usage } from "../../content/index.js";
import type { SessionEntry } from "../../session/index.js";
import { type WriteResult, type WriteStep, type WriteSteps, writeSteps } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { summaryPrefix } from "./compacted.js";
import { type CodexItem, type ItemStep, ItemWriter, isResponses } from "./write-items.js";
import type { LineAnnotation, RolloutLines } from "./write-lines.js";

/** A session as steps, with the writer of their items. */
export interface CodexSteps {
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
