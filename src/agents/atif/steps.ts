/** The path of a session as the steps of a trajectory, with their metrics. */

import { digest } from "../../blobs/index.js";
import type { AssistantMessage, ImageBlock, TextBlock, ToolCall } from "../../content/index.js";
import { blockTexts, plainContent } from "../../content/internal.js";
import { decodeBase64 } from "../../core/base64.js";
import { type CostOptions, usageCost } from "../../providers/cost/index.js";
import { readObject, readText } from "../shared/values.js";
import { describedReply, writeBlocks } from "../shared/write-blocks.js";
import { type WriteResult, type WriteRules, type WriteStep, writeSteps } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import {
  type AtifContent,
  type AtifFinalMetrics,
  type AtifMetrics,
  type AtifPart,
  type AtifResult,
  type AtifStep,
  audioTypes,
  imageTypes,
} from "./trajectory.js";

/** A file that parts of a document name. */
export interface AtifFile {
  /** Relative to the document. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The facts that the steps of one session need. */
export interface StepsInit {
  readonly source: WriteSource;
  readonly prices: CostOptions["prices"];
  readonly version: "1.7" | "1.8";
  /** Files by their path. */
  readonly files: Map<string, Uint8Array>;
  /** The ids of subagents' sessions that the document has. */
  readonly subagents: ReadonlySet<string>;
}

/** Any id and name: the format has no rule. */
const rules: WriteRules = {
  callId: { character: /[\s\S]/u, maxLength: 1024 },
  toolName: { character: /[\s\S]/u, maxLength: 1024 },
};

/** Makes the steps of a session. */
export class TrajectorySteps {
  readonly steps: AtifStep[] = [];
  readonly #init: StepsInit;
  readonly #links = new Map<string, string>();
  readonly #omitted = new Set<string>();
  /** The model of the latest reply. */
  model: string | undefined;
  /** The name of the session. */
  name: string | undefined;
  #priced = 0;
  #unpriced = 0;

  constructor(init: StepsInit) {
    this.#init = init;
    for (const entry of init.source.outline) {
      if (entry.type !== "custom" || entry.customType !== "sessile.subagent") continue;
      const { toolCallId, sessionId } = readObject(entry.data) ?? {};
      const [call, session] = [readText(toolCallId), readText(sessionId)];
      if (call !== undefined && session !== undefined) this.#links.set(call, session);
    }
  }

  async addAll(): Promise<void> {
    const { source } = this.#init;
    // A call without a result stays one: nothing has to be made up.
    const find: WriteSource["find"] = (finding) => {
      if (finding.code !== "interrupted") source.find(finding);
    };
    for await (const step of writeSteps({ ...source, find }, rules)) await this.#add(step, false);
    // The format has no trajectory without a step.
    if (this.steps.length === 0) this.#push({ source: "system", message: "" });
  }

  /** The sums of the steps' metrics. */
  finalMetrics(): AtifFinalMetrics {
    const sum = (value: (metrics: AtifMetrics) => number) =>
      this.steps.reduce((total, { metrics }) => total + (metrics === undefined ? 0 : value(metrics)), 0);
    return {
      total_prompt_tokens: sum(({ prompt_tokens }) => prompt_tokens),
      total_completion_tokens: sum(({ completion_tokens }) => completion_tokens),
      total_cached_tokens: sum(({ cached_tokens }) => cached_tokens),
      ...(this.#priced === 0 ? {} : { total_cost_usd: sum(({ cost_usd }) => cost_usd ?? 0) }),
      total_steps: this.steps.length,
      ...(this.#unpriced === 0 ? {} : { extra: { sessile: { unpriced: this.#unpriced } } }),
    };
  }

  #push(step: Omit<AtifStep, "step_id">): void {
    this.steps.push({ step_id: this.steps.length + 1, ...step });
  }

  async #add(step: WriteStep, isCopy: boolean): Promise<void> {
    switch (step.kind) {
      case "user":
        return this.#addUser(step, isCopy);
      case "reply":
        return this.#addReply(step, isCopy);
      case "compaction":
        return this.#addCompaction(step);
      case "other":
        this.#addOther(step);
    }
  }

  async #addUser(step: WriteStep & { readonly kind: "user" }, isCopy: boolean): Promise<void> {
    const { entryId, time, content, customType } = step;
    this.#push({
      ...readTime(time),
      source: customType === "sessile.initial_context" ? "system" : "user",
      message: await this.#content(entryId, content),
      ...(isCopy ? { is_copied_context: true } : {}),
      extra: { sessile: { entry: entryId, ...(customType === undefined ? {} : { customType }) } },
    });
  }

  async #addReply(step: WriteStep & { readonly kind: "reply" }, isCopy: boolean): Promise<void> {
    const { entryId, time, message, results } = step;
    this.model = message.responseModel ?? message.model;
    const calls = message.content.filter((block): block is ToolCall => block.type === "toolCall");
    const shown = describedReply(message).content;
    const texts = blockTexts(shown);
    const reasoning = message.content.flatMap((block) =>
      block.type === "thinking" && block.thinking !== "" ? [block.thinking] : [],
    );
    if (!isCopy) this.#report(message, entryId);
    const metrics = isCopy ? undefined : this.#metrics(message);
    const observed: AtifResult[] = [];
    for (const result of results) if (result.interrupted !== true) observed.push(await this.#result(result));
    this.#push({
      ...readTime(time),
      source: "agent",
      model_name: this.model,
      message: texts.join("\n"),
      ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join("\n") }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map((call) => ({
              tool_call_id: call.id,
              function_name: call.name,
              arguments: readObject(call.arguments) ?? { input: call.arguments ?? null },
            })),
          }),
      ...(observed.length === 0 ? {} : { observation: { results: observed } }),
      ...(metrics === undefined ? {} : { metrics }),
      ...(isCopy ? { is_copied_context: true } : { llm_call_count: 1 }),
      extra: {
        sessile: {
          entry: entryId,
          provider: message.provider,
          ...(message.stopReason === undefined ? {} : { stopReason: message.stopReason }),
          ...(message.errorMessage === undefined ? {} : { errorMessage: message.errorMessage }),
        },
      },
    });
  }

  /** Reports the blocks that a step has no member for. */
  #report(message: AssistantMessage, entryId: string): void {
    const { source } = this.#init;
    for (const block of message.content) {
      if (block.type === "opaque") source.find({ code: "opaque", entryId, text: "a block of a provider" });
      if (block.type === "thinking" && block.thinking === "")
        source.find({ code: "reasoning", entryId, text: "reasoning without text" });
      if (block.type === "toolCall" && readObject(block.arguments) === undefined) {
        const text = `arguments of call ${block.id} that are no object are its argument \`input\``;
        source.find({ code: "entry", entryId, text });
      }
    }
  }

  async #result(result: WriteResult): Promise<AtifResult> {
    const { callId, entryId, content, isError } = result;
    const session = this.#links.get(callId);
    const isKnown = session !== undefined && this.#init.subagents.has(session);
    return {
      source_call_id: callId,
      content: await this.#content(entryId, content),
      ...(isKnown ? { subagent_trajectory_ref: [{ trajectory_id: session, session_id: session }] } : {}),
      extra: { sessile: { entry: entryId, ...(isError ? { isError } : {}) } },
    };
  }

  /** The summary, and copies of the messages that the model was shown again after it. */
  async #addCompaction(step: WriteStep & { readonly kind: "compaction" }): Promise<void> {
    const { entryId, time, summary, entry, kept } = step;
    const { tokensBefore, strategy } = entry;
    const compaction = { tokensBefore, ...(strategy === undefined ? {} : { strategy }) };
    this.#push({
      ...readTime(time),
      source: "system",
      message: summary,
      extra: { sessile: { entry: entryId, compaction } },
    });
    for await (const each of kept) await this.#add(each, true);
  }

  #addOther({ entry }: WriteStep & { readonly kind: "other" }): void {
    if (entry.type === "session_info") this.name = entry.name ?? entry.title ?? this.name;
    else if (entry.type === "model_change" || entry.type === "thinking_level_change") {
      if (this.#omitted.has(entry.type)) return;
      this.#omitted.add(entry.type);
      this.#init.source.find({ code: "entry", entryId: entry.id, text: `entries of type ${entry.type}` });
    }
  }

  async #content(entryId: string, content: readonly (TextBlock | ImageBlock)[]): Promise<AtifContent> {
    const { source, files, version } = this.#init;
    const types = version === "1.7" ? imageTypes : { ...imageTypes, ...audioTypes };
    const blocks = await writeBlocks(source, entryId, content, (type) => Object.hasOwn(types, type));
    const parts = blocks.map((block): AtifPart => {
      if (block.type === "text") return { type: "text", text: block.text };
      const { mediaType } = block;
      const bytes = decodeBase64(block.base64) ?? new Uint8Array();
      const kind = Object.hasOwn(imageTypes, mediaType) ? "image" : "audio";
      const path = `${kind}s/${digest(bytes).slice("sha256:".length, 39)}.${types[mediaType]}`;
      files.set(path, bytes);
      return { type: kind, source: { media_type: mediaType, path } };
    });
    return parts.length === 0 ? "" : plainContent(parts);
  }

  #metrics(message: AssistantMessage): AtifMetrics | undefined {
    const { usage } = message;
    if (usage === undefined) return undefined;
    const { prices } = this.#init;
    const recorded = usage.cost !== undefined && usage.cost.total > 0 ? usage.cost : undefined;
    const cost = recorded ?? usageCost(usage, message, prices === undefined ? {} : { prices });
    if (cost === undefined) this.#unpriced++;
    else this.#priced++;
    const { input, output, cacheRead, cacheWrite } = usage;
    return {
      prompt_tokens: count(input) + count(cacheRead) + count(cacheWrite),
      completion_tokens: count(output),
      cached_tokens: count(cacheRead),
      ...(cost === undefined ? {} : { cost_usd: cost.total }),
      ...(cacheWrite > 0 ? { extra: { cache_write_tokens: count(cacheWrite) } } : {}),
    };
  }
}

/** A whole number of tokens: the format refuses others. */
function count(tokens: number): number {
  return Number.isFinite(tokens) ? Math.max(0, Math.round(tokens)) : 0;
}

/** A timestamp of four digits of the year, which readers of the format parse. */
function readTime(time: number): { readonly timestamp?: string } {
  const date = new Date(time);
  const timestamp = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return /^\d{4}-/.test(timestamp) ? { timestamp } : {};
}
