/** Sessions as trajectories of ATIF, the exchange format of tools for evaluation and training. */

import { type BlobStore, digest } from "../blobs/index.js";
import type { AssistantMessage, ImageBlock, TextBlock, ToolCall } from "../content/index.js";
import { blockTexts, plainContent } from "../content/internal.js";
import { oneOfOption } from "../core/arguments.js";
import { decodeBase64 } from "../core/base64.js";
import { type CostOptions, usageCost } from "../providers/cost/index.js";
import { type LoadedSession, loadSession, writeSource } from "./export.js";
import { ReportBuilder } from "./report.js";
import { readObject, readText, wellFormed } from "./shared/values.js";
import {
  describedReply,
  type WriteResult,
  type WriteRules,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "./shared/write-steps.js";
import type { ExportSource, InteropReport, WriteSource } from "./types.js";

/** Options of {@link toAtif}. */
export interface AtifOptions {
  /** @default the leaf of the source */
  readonly leafId?: string | null;
  /** Sessions of subagents, by the ids that `sessile.subagent` entries name. */
  readonly children?: readonly ExportSource[];
  /** The bytes of images and sounds. Without it stored ones are described. */
  readonly blobs?: BlobStore;
  /** @default "1.8" */
  readonly version?: "1.7" | "1.8";
  /** The agent that ran. @default the agent of the import, else `sessile` of the version `unknown` */
  readonly agent?: { readonly name: string; readonly version: string };
  /** Rows that take precedence over the published prices. */
  readonly prices?: CostOptions["prices"];
}

/** A document, the files that its parts name, and the losses. */
export interface AtifExport {
  readonly trajectory: AtifTrajectory;
  /** To write beside the document. */
  readonly files: readonly AtifFile[];
  readonly report: InteropReport;
}

/**
 * Writes the path to a leaf as a trajectory of ATIF: a step for each message, a reply with its calls, their
 * results and metrics, a compaction as a system step with copies of the kept messages. The ids of entries
 * are in `extra.sessile`. Calls without a result stay open.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf; errors of the blob store
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const { trajectory, files } = await toAtif(session, { blobs });
 * const document = JSON.stringify(trajectory);
 * files.map(({ path }) => path); // such as "images/0f1e….png", beside the document
 * ```
 */
export async function toAtif(source: ExportSource, options: AtifOptions = {}): Promise<AtifExport> {
  const version = oneOfOption("version", options.version ?? "1.8", ["1.7", "1.8"]);
  const report = new ReportBuilder();
  const session = await loadSession(source, options.leafId);
  const children = new Map<string, LoadedSession>();
  for (const child of options.children ?? []) {
    const loaded = await loadSession(child);
    children.set(loaded.header.id, loaded);
  }
  children.delete(session.header.id);
  const files = new Map<string, Uint8Array>();
  const make = (loaded: LoadedSession): Promise<TrajectorySteps> =>
    stepsOfSession(loaded, { options, version, report, files, subagents: new Set(children.keys()) });
  const document = (loaded: LoadedSession, steps: TrajectorySteps): AtifTrajectory => ({
    schema_version: `ATIF-v${version}`,
    session_id: loaded.header.id,
    trajectory_id: loaded.header.id,
    agent: {
      ...(options.agent ??
        atifAgent(loaded) ??
        atifAgent(session) ?? { name: "sessile", version: "unknown" }),
      ...(steps.model === undefined ? {} : { model_name: steps.model }),
    },
    steps: steps.steps,
    final_metrics: steps.finalMetrics(),
    extra: {
      sessile: {
        cwd: loaded.header.cwd,
        ...(steps.name === undefined ? {} : { name: steps.name }),
        ...(loaded.header.parentSession === undefined ? {} : { parentSession: loaded.header.parentSession }),
      },
    },
  });
  const main = document(session, await make(session));
  const subagents: AtifTrajectory[] = [];
  for (const child of children.values()) subagents.push(document(child, await make(child)));
  return {
    trajectory: wellFormed(subagents.length === 0 ? main : { ...main, subagent_trajectories: subagents }),
    files: Array.from(files, ([path, bytes]) => ({ path, bytes })),
    report: report.build("atif", { exact: false }),
  };
}

async function stepsOfSession(
  loaded: LoadedSession,
  init: {
    readonly options: AtifOptions;
    readonly version: "1.7" | "1.8";
    readonly report: ReportBuilder;
    readonly files: Map<string, Uint8Array>;
    readonly subagents: ReadonlySet<string>;
  },
): Promise<TrajectorySteps> {
  const { options, report, ...rest } = init;
  const source = writeSource(loaded, [], options, report);
  const steps = new TrajectorySteps({ ...rest, source, prices: options.prices });
  await steps.addAll();
  return steps;
}

/** The agent that an imported session names. */
function atifAgent({
  roots,
}: LoadedSession): { readonly name: string; readonly version: string } | undefined {
  for (const entry of roots.toReversed()) {
    if (entry.type !== "custom" || entry.customType !== "sessile.foreign") continue;
    const { agent, agentVersion } = (entry.data ?? {}) as Readonly<Record<string, unknown>>;
    const name = readText(agent);
    if (name !== undefined) return { name, version: readText(agentVersion) ?? "unknown" };
  }
  return undefined;
}

// The path of a session as the steps of a trajectory, with their metrics.

/** A file that parts of a document name. */
interface AtifFile {
  /** Relative to the document. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The facts that the steps of one session need. */
interface StepsInit {
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
class TrajectorySteps {
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

// The shapes of ATIF, the Agent Trajectory Interchange Format of Harbor, as far as an export writes them.
// Unknown members are refused by its validator; `extra` takes any.
//
// @see https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md (1.7) and the
//   models of its package for 1.8, which adds audio (stored copies, 2026-11-23)

/** A document: one path of a session. */
export interface AtifTrajectory {
  readonly schema_version: "ATIF-v1.7" | "ATIF-v1.8";
  /** The id of the session. */
  readonly session_id: string;
  /** Unique among the subagents of a document. */
  readonly trajectory_id: string;
  readonly agent: AtifAgent;
  /** At least one. */
  readonly steps: readonly AtifStep[];
  readonly final_metrics?: AtifFinalMetrics;
  readonly subagent_trajectories?: readonly AtifTrajectory[];
  readonly extra?: AtifExtra;
}

/** Members of any names. This library's are in `sessile`. */
type AtifExtra = Readonly<Record<string, unknown>>;

/** The agent of a document, and its model. */
interface AtifAgent {
  readonly name: string;
  readonly version: string;
  readonly model_name?: string;
}

/** A message. Calls, reasoning and metrics are only of the source `agent`. */
interface AtifStep {
  /** From 1, without gaps. */
  readonly step_id: number;
  /** ISO 8601. */
  readonly timestamp?: string;
  readonly source: "system" | "user" | "agent";
  readonly message: AtifContent;
  readonly model_name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly AtifToolCall[];
  readonly observation?: { readonly results: readonly AtifResult[] };
  readonly metrics?: AtifMetrics;
  /** Shown again to the model, such as after a compaction: no part of training data. */
  readonly is_copied_context?: boolean;
  readonly llm_call_count?: number;
  readonly extra?: AtifExtra;
}

/** Text, or parts with media. */
export type AtifContent = string | readonly AtifPart[];

/** A part of a content: text, or a file beside the document. */
type AtifPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly source: AtifSource };

/** The location of a part's file. */
interface AtifSource {
  readonly media_type: string;
  /** Relative to the document. */
  readonly path: string;
}

/** A call of a tool. */
interface AtifToolCall {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The result of a call. */
interface AtifResult {
  /** A call of the same step. */
  readonly source_call_id: string;
  readonly content: AtifContent;
  readonly subagent_trajectory_ref?: readonly {
    readonly trajectory_id: string;
    readonly session_id: string;
  }[];
  readonly extra?: AtifExtra;
}

/** Tokens and cost in US dollars. The prompt includes cached tokens. */
interface AtifMetrics {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd?: number;
  readonly extra?: AtifExtra;
}

/** Sums over all steps. */
interface AtifFinalMetrics {
  readonly total_prompt_tokens: number;
  readonly total_completion_tokens: number;
  readonly total_cached_tokens: number;
  readonly total_cost_usd?: number;
  readonly total_steps: number;
  readonly extra?: AtifExtra;
}

/** Media types that a part can have, and the extension of their files. */
const imageTypes: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/gif": "gif",
  "image/webp": "webp",
};
const audioTypes: Readonly<Record<string, string>> = {
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/aac": "aac",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/webm": "webm",
  "audio/aiff": "aiff",
};
