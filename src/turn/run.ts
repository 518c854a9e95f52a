/**
 * The loop of an agent: one durable turn, from a user's message to the reply that calls no tool. The session says what
 * comes next, so that a turn that a crash cut short needs no other code. Every message is durable before the next step.
 */

import { runViewTool, viewTool, viewToolName } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import { type CompactionTrigger, compact, contextTokens, isContextOverflow } from "../compaction/index.js";
import {
  type AssistantMessage,
  messageText,
  type ToolCall,
  type ToolResultMessage,
  type UserMessage,
} from "../content/index.js";
import { isBroken, toolsAfter } from "../content/internal.js";
import { assertHas, assertOptions, integerOption } from "../core/arguments.js";
import { Semaphore, sleep, untilAborted } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import {
  type Projection,
  type ProjectOptions,
  project,
  type RefusalSearch,
  type ReplyStream,
  resumeRefusalSearch,
} from "../providers/index.js";
import { inferenceAttributes, toRejection } from "../providers/internal.js";
import {
  type EntryDraft,
  evaluatePermission,
  type Reply,
  type ReplyDelta,
  type Session,
  type ToolCallState,
  type TurnClaim,
  toolStarted,
} from "../session/index.js";
import { interruptedWords } from "../session/internal.js";
import { compactionSizes, errorType, TurnTrace } from "./events.js";
import { generateBy, replyError } from "./models.js";
import type { TurnEnd, TurnOptions } from "./options.js";
import { retryWait } from "./retry.js";
import { besideSteering, followSteering, oneAtATime, steer, waitingMessages } from "./steering.js";
import { checkInput, declaration, failedResult, resultOf, type Tool, type ToolDeclaration } from "./tools.js";

/**
 * Runs a turn to its end, or finishes the one that a crash, a stop or a missing permission left: answers calls that
 * have no result, asks the model, streams, runs its calls, until it calls none. Each step is durable before the next.
 * The turn is claimed: no other process works on it, and what a reply said before a crash is kept.
 *
 * A call that had begun when its process died gets a result that says so, and is not run again unless its tool is
 * `repeatable`. Arguments that do not pass the schema, an unknown tool and an error of a tool are results. A request that
 * is too long is compacted; content that the provider refuses is left out; what may succeed later is sent again.
 *
 * @throws the provider's error if it cannot be helped; SessileError CONCURRENT_WRITER or TURN_LOST if another
 *   process took the turn on; errors of the session and of the blob store. SESSION_CLOSED, if it is closed
 *   meanwhile, leaves the turn as after a crash
 * @throws TypeError for a tool whose schema has no JSON Schema, or two tools with one name
 * @example
 * ```ts
 * import Anthropic from "@anthropic-ai/sdk";
 *
 * const agent = anthropicModel(new Anthropic(), { model: "claude-opus-5-5" });
 * const { reason } = await runTurn(session, { model: agent, message: userMessage("What is in notes.txt?") });
 * ```
 */
export async function runTurn(session: Session, options: TurnOptions): Promise<TurnEnd> {
  return new Turn(session, options).run();
}

const maxCompactions = 3;
/** How often a function of the caller that appends is called, if others steer meanwhile. */
const callerAttempts = 3;

class Turn {
  readonly #session: Session;
  readonly #options: TurnOptions;
  /** Aborts by the caller, or if the claim is lost. */
  #signal: AbortSignal;
  readonly #trace: TurnTrace;
  readonly #tools = new Map<string, Tool>();
  readonly #declarations: readonly ToolDeclaration[];
  /** In the provider's form. */
  readonly #declared: readonly unknown[];
  readonly #permits: Semaphore;
  #steps = 0;
  #reply: AssistantMessage | undefined;
  /** Whether a reply broke off, and the model is to go on. */
  #goesOn = false;
  /** Whether the handle has read entries of others since the turn last looked. */
  #hasRead = false;
  #search: RefusalSearch | undefined;
  /** What the caller's function gave for a step. */
  #given: { readonly step: number; readonly text: string } | undefined;

  constructor(session: Session, options: TurnOptions) {
    assertHas("session", session, ["claimTurn", "append"], "an open session");
    assertOptions(options, "{ model }");
    const { model, tools = [], blobs, signal, onEvent } = options;
    assertHas("model", model, ["ask", "declare"], "a model, such as anthropicModel(client, { model })");
    assertHas("tools", tools, ["map"], "an array of tools");
    this.#session = session;
    this.#options = options;
    this.#signal = signal ?? new AbortController().signal;
    this.#trace = new TurnTrace(session.id, model.target.model, onEvent);
    this.#permits = new Semaphore(integerOption("maxParallel", options.maxParallel, 8, 1));
    for (const tool of tools) {
      if (this.#tools.has(tool.name)) throw new TypeError(`tools: expected names once, got two ${tool.name}`);
      this.#tools.set(tool.name, tool);
    }
    const views = blobs === undefined || this.#tools.has(viewToolName) ? [] : [viewTool("plain")];
    this.#declarations = [...tools.map(declaration), ...views];
    this.#declared = model.declare(this.#declarations);
  }

  async run(): Promise<TurnEnd> {
    const span = this.#trace.turn();
    const unheard = this.#session.on("entry", ({ origin }) => {
      if (origin === "remote") this.#hasRead = true;
    });
    try {
      const reason = await this.#claimed();
      span.end({ "turn.end_reason": reason, "turn.steps": this.#steps });
      return { reason, steps: this.#steps, ...(this.#reply === undefined ? {} : { reply: this.#reply }) };
    } catch (error) {
      span.end({}, error);
      throw error;
    } finally {
      unheard();
    }
  }

  async #claimed(): Promise<TurnEnd["reason"]> {
    const { message, messageId, reply: { ttlMs } = {} } = this.#options;
    const options = ttlMs === undefined ? {} : { ttlMs };
    const claim = () => unlessBusy(this.#session.claimTurn(options));
    let held = await claim();
    let begins = message;
    if (held === undefined && message !== undefined) {
      await steer(this.#session, message, messageId);
      begins = undefined;
      // The other turn may have ended before it could see the message.
      held = await claim();
    }
    if (held === undefined) return "busy";
    for (;;) {
      const reason = await this.#under(held, begins);
      // A message may have come between the last look and the release: its writer found the turn taken.
      if (reason !== "done" || !(await this.#isAwaited())) return reason;
      const next = await claim();
      if (next === undefined) return reason;
      [held, begins] = [next, undefined];
    }
  }

  /** Whether a message waits behind the turn. */
  async #isAwaited(): Promise<boolean> {
    if (this.#signal.aborted) return false;
    await this.#session.refresh();
    await this.#follow();
    return (await waitingMessages(this.#session)).length > 0;
  }

  async #under(claim: TurnClaim, message: UserMessage | undefined): Promise<TurnEnd["reason"]> {
    this.#signal = AbortSignal.any([this.#signal, claim.signal]);
    try {
      await this.#begin(message);
      const reason = await this.#loop();
      claim.signal.throwIfAborted();
      return reason;
    } catch (error) {
      // Other errors follow from the loss of the turn, or the end of the session.
      claim.signal.throwIfAborted();
      throw error;
    } finally {
      await claim.release();
    }
  }

  async #loop(): Promise<TurnEnd["reason"]> {
    const maxSteps = integerOption("maxSteps", this.#options.maxSteps, 100, 1);
    for (;;) {
      const now = await this.#session.turnState();
      if (now.state === "busyElsewhere") return "busy";
      if (now.state === "awaitingResults") {
        if (this.#signal.aborted) await this.#close(now.calls);
        else if (await this.#answer(now.calls)) return "permission";
        continue;
      }
      if (this.#signal.aborted) return "aborted";
      if (now.state === "interruptedReply") {
        await this.#keepInterrupted();
        continue;
      }
      if (now.state === "aborted") await this.#resume(now.entryId);
      const isAsked = now.state === "awaitingReply" || now.state === "paused" || this.#goesOn;
      if (isAsked && this.#reply !== undefined && (await this.#options.until?.(this.#reply)))
        return "condition";
      // A reply that the provider paused is continued before anything else.
      const hasNews = now.state !== "paused" && (await this.#enter(isAsked));
      if (!isAsked && !hasNews) return now.state === "idle" ? "done" : (now.state as TurnEnd["reason"]);
      if (this.#steps === maxSteps) return "steps";
      this.#steps++;
      this.#goesOn = false;
      await this.#ask();
    }
  }

  /** Adds the message that begins the turn. Behind calls without results it waits as steering. */
  async #begin(message: UserMessage | undefined): Promise<void> {
    const { messageId } = this.#options;
    const isKnown = messageId !== undefined && (await this.#session.entry(messageId)) !== undefined;
    if (message === undefined || isKnown) return;
    const { state } = await this.#session.turnState();
    if (state === "interruptedReply") await this.#keepInterrupted();
    if (state === "awaitingResults" || state === "paused") await steer(this.#session, message, messageId);
    else {
      const waiting = await waitingMessages(this.#session);
      const own = {
        type: "message",
        ...(messageId === undefined ? {} : { id: messageId }),
        message,
      } as const;
      const isWaiting = messageId !== undefined && waiting.some(({ id }) => id === messageId);
      await this.#append([...(await this.#changes()), ...waiting, ...(isWaiting ? [] : [own])]);
    }
  }

  /** Goes on behind a reply that broke off, unless the caller stopped it. */
  async #resume(entryId: string): Promise<void> {
    const { items } = await this.#session.context();
    const last = items.at(-1)?.message;
    const message = items.find((item) => item.entryId === entryId)?.message;
    if (message?.role !== "assistant") return;
    if (message.stopReason !== "error" && message.errorMessage !== interruptedWords) return;
    const isTold = last?.role === "custom" && last.customType === continueNote.customType;
    if (!isTold) await this.#append([continueNote]);
    this.#goesOn = true;
  }

  /** Keeps what arrived of a reply whose process ended: a person may have read it. */
  async #keepInterrupted(): Promise<void> {
    await this.#beside(() => this.#session.recoverReply("keep"));
  }

  /**
   * Appends messages that wait, and changed instructions if a request follows. Returns whether there is a message to
   * answer.
   */
  async #enter(isAsked: boolean): Promise<boolean> {
    await this.#session.refresh();
    await this.#follow();
    const messages = await waitingMessages(this.#session);
    if (!isAsked && messages.length === 0) return false;
    const drafts = [...(await this.#changes()), ...messages];
    if (drafts.length > 0) await this.#append(drafts);
    return messages.length > 0;
  }

  /** The instructions of the next request; undefined for those of the session. */
  async #instructions(): Promise<string | undefined> {
    const { instructions } = this.#options;
    if (typeof instructions !== "function") return instructions;
    if (this.#given?.step === this.#steps) return this.#given.text;
    const [session, step, signal] = [this.#session, this.#steps, this.#signal];
    const give = () => untilAborted(Promise.resolve(instructions({ session, step, signal })), signal);
    try {
      this.#given = { step, text: await besideSteering(session, give, callerAttempts) };
      return this.#given.text;
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    }
  }

  /** The change of instructions and tools since the session last recorded them, as a draft. */
  async #changes(): Promise<readonly EntryDraft[]> {
    const { tools } = this.#options;
    const instructions = await this.#instructions();
    if (instructions === undefined && tools === undefined) return [];
    const { items } = await this.#session.context();
    let known: string | null | undefined;
    let declared: readonly unknown[] = [];
    for (const { message } of items) {
      if (message.role !== "system") continue;
      if (message.sections?.instructions !== undefined) known = message.sections.instructions;
      else if (messageText(message) === instructions) known ??= instructions;
      declared = toolsAfter(declared, message);
    }
    const text = (one: unknown) => JSON.stringify(one);
    const wanted = tools === undefined ? declared : this.#declarations;
    const isIn = (list: readonly unknown[]) => {
      const texts = new Set(list.map(text));
      return (one: unknown) => texts.has(text(one));
    };
    const isDeclared = isIn(declared);
    const isWanted = isIn(wanted);
    const toolsAdded = wanted.filter((one) => !isDeclared(one));
    const toolsRemoved = declared
      .filter((one) => !isWanted(one))
      .map((one) => (isRecord(one) ? one.name : one));
    const isChanged = instructions !== undefined && instructions !== known;
    if (!isChanged && toolsAdded.length + toolsRemoved.length === 0) return [];
    const message = {
      role: "system",
      content: "",
      ...(isChanged ? { sections: { instructions } } : {}),
      ...(toolsAdded.length === 0 ? {} : { toolsAdded }),
      ...(toolsRemoved.length === 0 ? {} : { toolsRemoved }),
      timestamp: Date.now(),
    } as const;
    return [{ type: "message", message }];
  }

  // The request and its reply.

  /** Asks the model until it replies, the turn is stopped, or nothing helps. */
  async #ask(): Promise<void> {
    let compactions = 0;
    let isWhole = false;
    for (let attempt = 0; !this.#signal.aborted; ) {
      const projection = await this.#project(isWhole).catch((error: unknown) => {
        if (!this.#signal.aborted) throw error;
      });
      if (projection === undefined) return;
      const { message, error, isDropped } = await this.#request(projection);
      if (isDropped === true) continue;
      if (message !== undefined) this.#reply = message;
      if (error === undefined || this.#signal.aborted) return;
      const { status } = toRejection(error);
      const isRefused = status !== undefined && status >= 400 && status < 500 && status !== 429;
      if (isContextOverflow(error)) {
        const isShorter = compactions++ < maxCompactions && (await this.#compact("overflow"));
        if (!isShorter && !this.#signal.aborted) throw error;
      } else if (isRefused && (await this.#exclude(projection, error))) {
        // The drafts exclude the cause.
      } else if (isRefused && projection.continues !== undefined) isWhole = true;
      else await this.#wait(error, status, attempt++);
      if (message !== undefined) await this.#append([continueNote]);
    }
  }

  /** Waits before another attempt. @throws the error if there is none */
  async #wait(error: unknown, status: number | undefined, attempt: number): Promise<void> {
    const { retry } = this.#options;
    const wait = retryWait(error, status, attempt, retry);
    if (wait === undefined) throw error;
    this.#trace.note("turn.retry", { "error.type": errorType(error), "turn.retry.wait_ms": wait });
    try {
      await (retry?.sleep ?? sleep)(wait, this.#signal);
    } catch (reason) {
      if (!this.#signal.aborted) throw reason;
    }
  }

  /** Makes the request, from a context that has room. */
  async #project(isWhole: boolean): Promise<Projection<unknown>> {
    const { model, compaction, blobs, select, onRequest } = this.#options;
    const target = isWhole ? { ...model.target, heldMs: 0 } : model.target;
    const options: ProjectOptions = {
      ...this.#options.project,
      ...(blobs === undefined ? {} : { blobs }),
      viewTool: blobs !== undefined,
      tools: this.#declared,
      signal: this.#signal,
    };
    let context = await this.#session.context();
    const makes = async () =>
      project(select === undefined ? context : await select(context), target, options);
    const isDue = (factor: number) =>
      compaction?.strategy.shouldCompact(context, {
        window: compaction.window,
        tokens: contextTokens(context) * factor,
      }) === true;
    let projection = isDue(1) ? undefined : await makes();
    // A cache that is lost anyway is the cheapest moment for a cut that is near.
    if (projection === undefined || (projection.prefix.state === "changed" && isDue(earlyFactor))) {
      if (await this.#compact()) {
        context = await this.#session.context();
        projection = undefined;
      }
      projection ??= await makes();
    }
    onRequest?.(projection);
    return projection;
  }

  /** Compacts. Returns whether the context is shorter; a failure has written nothing. */
  async #compact(trigger?: CompactionTrigger): Promise<boolean> {
    const { compaction } = this.#options;
    if (compaction === undefined) return false;
    const span = this.#trace.compaction(trigger ?? "mid-turn");
    const options = {
      generate: generateBy(this.#options.model),
      ...compaction,
      ...(trigger === undefined ? {} : { trigger }),
      signal: this.#signal,
    };
    try {
      const result = await compact(this.#session, options);
      span.end({ "turn.compaction.status": result.status, ...compactionSizes(result) });
      return result.status === "compacted" || result.status === "pruned";
    } catch (error) {
      span.end({}, error);
      const isHarmless = SessileError.is(error, "SUMMARY_FAILED") || SessileError.is(error, "IRREDUCIBLE");
      if (isHarmless || this.#signal.aborted) return false;
      if (SessileError.is(error, "CONCURRENT_WRITER") && (await followSteering(this.#session, error)))
        return false;
      throw error;
    }
  }

  /**
   * Sends a request. `message` is the reply, or what came of one that broke off; `error` says why it did. `isDropped`:
   * the reply was not shown, and does not count, since it did not see all of the content.
   */
  async #request(projection: Projection<unknown>): Promise<{
    readonly message?: AssistantMessage;
    readonly error?: unknown;
    readonly isDropped?: boolean;
  }> {
    const { model, onDelta = () => undefined } = this.#options;
    const isContinued = projection.continues !== undefined;
    const span = this.#trace.inference(projection.continues);
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#signal, stop.signal]);
    const request = { value: projection.value, tools: this.#declared, isContinued, signal };
    let stream: ReplyStream;
    try {
      stream = await model.ask(request);
    } catch (error) {
      span.end({}, error);
      return { error };
    }
    const recorded = await this.#open().catch((error: unknown) => {
      // The reply has no reader: the client ends its request.
      stop.abort(error);
      span.end({}, error);
      throw error;
    });
    const held: ReplyDelta[] = [];
    const show = (delta: ReplyDelta) => {
      recorded.push(delta);
      onDelta(delta, recorded);
    };
    let failure: { readonly error: unknown } | undefined;
    try {
      for await (const delta of stream) {
        if (this.#search === undefined) show(delta);
        else held.push(delta);
      }
    } catch (error) {
      failure = { error };
    }
    const message = await stream.message();
    const isWhole = failure === undefined && (!isBroken(message) || message.refused === true);
    const error = isWhole ? undefined : (failure?.error ?? replyError(stream, message));
    span.end(inferenceAttributes(message), error);
    const isDropped = isWhole && (await this.#restore());
    // The words that a person has read stay.
    if (isDropped || (!isWhole && message.content.length === 0)) {
      await recorded.discard();
      return isDropped ? { isDropped } : { error };
    }
    try {
      for (const delta of held) show(delta);
    } catch (error) {
      // The reply is stored before the caller's own error ends the turn.
      failure ??= { error };
    }
    // A reply that the caller did not stop is to go on, in this process or the next.
    const isFailed = !isWhole && failure === undefined && !this.#signal.aborted;
    const ended: AssistantMessage = isFailed ? { ...message, stopReason: "error" } : message;
    await this.#beside(() => recorded.end(ended));
    if (failure !== undefined) throw failure.error;
    return isWhole ? { message } : { message, error };
  }

  /** Opens a reply that survives the end of this process. */
  async #open(): Promise<Reply> {
    const { model, reply } = this.#options;
    const { provider, model: name, api } = model.target.model;
    const options = { ...reply, provider, model: name, ...(api === undefined ? {} : { api }) };
    return this.#beside(() => this.#session.reply(options));
  }

  /** Leaves out what the provider refused. Returns whether to send again. */
  async #exclude(projection: Projection<unknown>, error: unknown): Promise<boolean> {
    this.#search ??= await resumeRefusalSearch(this.#session);
    const fault = projection.explain(error, this.#search);
    if (fault === undefined) return false;
    const { code, entryId, certainty } = fault;
    this.#trace.note("turn.refusal", {
      "turn.refusal.code": code,
      "turn.refusal.entry": entryId,
      "turn.refusal.certainty": certainty,
    });
    await this.#append(fault.drafts);
    return code === "excluded";
  }

  /** Restores content that the search proved innocent. Returns whether to send again, with it. */
  async #restore(): Promise<boolean> {
    const innocent = this.#search?.accepted(await this.#session.context()) ?? [];
    if (innocent.length > 0) await this.#append(innocent);
    return innocent.length > 0;
  }

  // Calls and their results.

  /** Answers calls without results. Returns whether one waits for a permission. */
  async #answer(calls: readonly ToolCallState[]): Promise<boolean> {
    let waits = false;
    for (const group of parallelGroups(calls, this.#tools)) {
      const stop = new AbortController();
      const signal = AbortSignal.any([this.#signal, stop.signal]);
      let failure: { readonly error: unknown } | undefined;
      const work = group.map((state) =>
        this.#permits
          .run(async () => {
            if (!signal.aborted && (await this.#call(state, signal))) waits = true;
          })
          .catch((error: unknown) => {
            failure ??= { error };
            stop.abort(error);
          }),
      );
      await Promise.all(work);
      if (failure !== undefined) throw (failure as { readonly error: unknown }).error;
      if (this.#signal.aborted) return false;
    }
    return waits;
  }

  /** Answers one call. Returns whether it waits for a permission. */
  async #call({ call, state }: ToolCallState, signal: AbortSignal): Promise<boolean> {
    const tool = this.#tools.get(call.name);
    const { blobs } = this.#options;
    if (tool === undefined && call.name === viewToolName && blobs !== undefined) {
      await this.#view(call, blobs, signal);
      return false;
    }
    if (state === "running" && tool?.repeatable !== true) {
      await this.#result(failedResult(call, unknownOutcomeWords));
      return false;
    }
    if (tool === undefined) {
      const known = [...this.#tools.keys()].join(", ");
      await this.#result(failedResult(call, `There is no tool ${call.name}. The tools are: ${known}`));
      return false;
    }
    const checked = await checkInput(tool, call.arguments);
    if (!checked.isValid) {
      await this.#result(failedResult(call, `The arguments are not valid.\n${checked.problems}`));
      return false;
    }
    const answer = await this.#permission(call, checked.subject, signal);
    if (answer === "later") return !signal.aborted;
    if (answer === "deny") await this.#result(failedResult(call, "The user does not allow this call."));
    else await this.#run(tool, call, checked.input, signal);
    return false;
  }

  async #run(tool: Tool, call: ToolCall, input: unknown, signal: AbortSignal): Promise<void> {
    const { blobs, runCall = (_call, run) => run() } = this.#options;
    // Durable before the tool runs: after a crash, a call without it had no effects.
    await this.#append([toolStarted.draft({ toolCallId: call.id })]);
    const span = this.#trace.call(call);
    const session = this.#session;
    const once = async () => tool.run(input, { call, session, signal });
    const run = async () => {
      const output = await (tool.repeatable === true
        ? besideSteering(session, once, callerAttempts)
        : once());
      return resultOf(call, output, { blobs, signal });
    };
    let result: ToolResultMessage;
    let thrown: unknown;
    try {
      result = await untilAborted(runCall(call, run), signal);
    } catch (error) {
      thrown = error;
      result = failedResult(call, signal.aborted ? stoppedWords : error);
    }
    span.end({}, thrown ?? (result.isError ? "tool_error" : undefined));
    await this.#result(result);
  }

  /** The rules decide, and the caller if they ask. */
  async #permission(
    call: ToolCall,
    subject: string | undefined,
    signal: AbortSignal,
  ): Promise<"allow" | "deny" | "later"> {
    if (subject === undefined) return "allow";
    const permission = call.name;
    const rules = [...(this.#options.permissions ?? []), ...(this.#session.info.permission ?? [])];
    const decided = evaluatePermission(rules, permission, subject);
    if (decided !== "ask") return decided;
    const { approve } = this.#options;
    if (approve === undefined) return "later";
    const request = { call, permission, subject, signal };
    const answer = await untilAborted(Promise.resolve(approve(request)), signal).catch((error: unknown) => {
      if (signal.aborted) return "later" as const;
      throw error;
    });
    if (typeof answer === "string") return answer;
    await this.#session.approveAlways({ permission, pattern: answer.always });
    return "allow";
  }

  /** Shows an attachment again. The view and the result are one append. */
  async #view(call: ToolCall, blobs: Pick<BlobStore, "get">, signal: AbortSignal): Promise<void> {
    const session = this.#session;
    const drafts: EntryDraft[] = [];
    const viewed = {
      leafId: session.leafId,
      tree: () => session.tree(),
      entry: (id: string) => session.entry(id),
      append: async (views: readonly EntryDraft[]) => {
        for (const view of views) drafts.push(view);
      },
    };
    const message = await runViewTool(viewed, call, { blobs, signal });
    await this.#append([...drafts, { type: "message", message }]);
  }

  /** Answers open calls after a stop, so that none of them runs behind the next message. */
  async #close(calls: readonly ToolCallState[]): Promise<void> {
    await this.#append(
      calls.map(({ call, state }) => ({
        type: "message",
        message: failedResult(call, state === "running" ? stoppedWords : notRunWords),
      })),
    );
  }

  async #result(message: ToolResultMessage): Promise<void> {
    await this.#append([{ type: "message", message }]);
  }

  async #append(drafts: readonly EntryDraft[]): Promise<void> {
    await this.#beside(() => this.#session.append(drafts));
  }

  async #beside<T>(append: () => Promise<T>): Promise<T> {
    await this.#follow();
    return besideSteering(this.#session, append);
  }

  /** Moves the leaf behind steering that this handle has read, whoever asked it to read. */
  async #follow(): Promise<void> {
    // Calls that run beside each other wait for it.
    await oneAtATime(this.#session).run(async () => {
      if (!this.#hasRead) return;
      this.#hasRead = false;
      await followSteering(this.#session);
    });
  }
}

/** A claim; undefined if another process, or another call, has the turn. */
async function unlessBusy(claim: Promise<TurnClaim>): Promise<TurnClaim | undefined> {
  try {
    return await claim;
  } catch (error) {
    if (SessileError.is(error, "TURN_BUSY")) return undefined;
    throw error;
  }
}

/** Consecutive calls that may run beside each other, or one that may not. */
function parallelGroups(
  calls: readonly ToolCallState[],
  tools: ReadonlyMap<string, Tool>,
): readonly (readonly ToolCallState[])[] {
  const groups: ToolCallState[][] = [];
  let isOpen = false;
  for (const state of calls) {
    const isParallel = tools.get(state.call.name)?.parallel === true;
    if (isOpen && isParallel) groups.at(-1)?.push(state);
    else groups.push([state]);
    isOpen = isParallel;
  }
  return groups;
}

/** The context is this part of the size at which a compaction is due, if one that would come soon comes early. */
const earlyFactor = 4 / 3;

const unknownOutcomeWords =
  "Interrupted: the process that ran this call ended. Its effects are unknown. Look before you call it again.";
const stoppedWords = "Stopped by the user while it ran. Its effects are unknown.";
const notRunWords = "Not run: the user stopped the turn.";

/** Some models refuse a request that ends with their own words. */
const continueNote = {
  type: "custom_message",
  customType: "sessile.continue",
  content: "Your reply broke off. Go on where it ended, without repeating it.",
  display: false,
} as const satisfies EntryDraft;
