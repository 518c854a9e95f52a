import { statSync } from "node:fs";
import {
  type AssistantMessage,
  type BlobStore,
  type Context,
  type EntryDraft,
  type Session,
  toolCalls,
  userMessage,
} from "sessile";
import {
  type CompactionResult,
  type CompactionStrategy,
  type CompactionTrigger,
  type ContextGauge,
  compact,
  contextGauge,
  contextTokens,
  hasInitialContext,
  initialContext,
  isContextOverflow,
  truncateToolResult,
} from "sessile/compaction";
import { SessileError } from "sessile/errors";
import type { Tool } from "sessile/turn";
import { runTool } from "./run-tool.js";
import type { ScriptedModel } from "./scripted-model.js";
import type { ScriptedSummarizer } from "./scripted-summarizer.js";
import type { Task } from "./scripted-work.js";

/** Options of {@link CompactingAgent}. */
export interface AgentOptions {
  readonly session: Session;
  readonly strategy: CompactionStrategy;
  readonly model: ScriptedModel;
  readonly summarizer: ScriptedSummarizer;
  readonly tools: readonly Tool[];
  readonly blobs: BlobStore;
  readonly instructions: string;
  /** The context window of the model, in tokens. */
  readonly window: number;
}

/** An attempt to compact. */
export interface Attempt {
  readonly turn: number;
  readonly strategy: string;
  readonly trigger: CompactionTrigger;
  /** The result, or the code of the error. */
  readonly outcome: CompactionResult | string;
  /** Bytes that were written before there was a summary, or by an attempt that failed. */
  readonly tooEarly: number;
}

/** The most tokens of a tool's output in the log. */
const maxOutputTokens = 2_500;

/** An agent's loop that asks before each call of its model whether there is room. */
export class CompactingAgent {
  readonly #options: AgentOptions;
  session: Session;
  strategy: CompactionStrategy;
  turn = 0;
  gauge: ContextGauge;
  readonly attempts: Attempt[] = [];
  /** The number of outputs that were truncated. */
  cutOutputs = 0;
  /** Called for each turn, and for each attempt to compact. */
  onStep: (attempt?: Attempt) => void = () => undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.session = options.session;
    this.strategy = options.strategy;
    this.gauge = contextGauge(0, options.window);
  }

  /** Tokens until the strategy compacts. */
  get room(): number {
    return (this.strategy.limit?.(this.gauge.window) ?? this.gauge.window) - this.gauge.tokens;
  }

  /** One turn. Gives the entry of what the user said. */
  async run(task: Task): Promise<string> {
    const { model, tools, blobs, instructions } = this.#options;
    this.turn++;
    model.begin(task);
    // A compaction between turns leaves the instructions to the turn that follows.
    const context = await this.#withRoom("pre-turn");
    const told = hasInitialContext(context) ? [] : [initialContext(instructions)];
    const entries = await this.session.append([...told, said(userMessage(task.prompt))]);
    for (;;) {
      const message = await this.#answer();
      await this.session.append([said(message)]);
      const calls = toolCalls(message);
      if (calls.length === 0) break;
      const results = await Promise.all(calls.map((call) => runTool(tools, call, blobs)));
      const cut = results.map((result) => truncateToolResult(result, { maxTokens: maxOutputTokens }));
      this.cutOutputs += cut.filter((result, at) => result !== results[at]).length;
      await this.session.append(cut.map(said));
    }
    this.onStep();
    return entries.at(-1)?.id ?? "";
  }

  /** Compacts now. A failure is recorded, and the next step tries again. */
  async compact(trigger: CompactionTrigger): Promise<void> {
    const { session, strategy, turn } = this;
    const { window, summarizer, instructions } = this.#options;
    const written = () => statSync(session.location ?? "").size;
    const before = written();
    let tooEarly = 0;
    summarizer.begin();
    const outcome = await compact(session, {
      strategy,
      window,
      trigger,
      initialContext: { content: instructions },
      generate: (prompt, options) => {
        tooEarly ||= written() - before;
        return summarizer.generate(prompt, options);
      },
      retry: { delayMs: () => 0 },
    }).catch((error: unknown) => {
      if (!SessileError.is(error, "SUMMARY_FAILED") && !SessileError.is(error, "IRREDUCIBLE")) throw error;
      tooEarly ||= written() - before;
      return error.code;
    });
    const attempt = { turn, strategy: strategy.name, trigger, outcome, tooEarly };
    this.attempts.push(attempt);
    this.onStep(attempt);
  }

  /** A model that counts more than was estimated refuses; then there is one more try. */
  async #answer(): Promise<AssistantMessage> {
    const { model } = this.#options;
    const context = await this.#withRoom("mid-turn");
    try {
      return await model.generate(context);
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      await this.compact("overflow");
      return model.generate(await this.#measured());
    }
  }

  async #withRoom(trigger: CompactionTrigger): Promise<Context> {
    const context = await this.#measured();
    const { window, tokens } = this.gauge;
    if (!this.strategy.shouldCompact(context, { window, tokens })) return context;
    await this.compact(trigger);
    return this.#measured();
  }

  async #measured(): Promise<Context> {
    const context = await this.session.context();
    this.gauge = contextGauge(contextTokens(context), this.#options.window);
    return context;
  }
}

function said(message: (EntryDraft & { type: "message" })["message"]): EntryDraft {
  return { type: "message", message };
}
