/**
 * Random programs of turns on one session, under faults: processes that end at any step, aborts, clock jumps, replies
 * that break off, refusals, overflows, full disks, lost answers. A program and its faults are data, so that a seed of fast-check replays a run.
 */
import fc from "fast-check";
import {
  type Message,
  memoryBlobStore,
  type Session,
  type SessionBackend,
  sessionStore,
  toolCalls,
  toolStarted,
  userMessage,
} from "sessile";
import { compact, rollingSummary } from "sessile/compaction";
import { runTurn, steer, type Tool, type TurnEnd, tool } from "sessile/turn";
import { expect } from "vitest";
import { png } from "./media-files.js";
import { type BoundRequest, PreservedThinking } from "./providers/anthropic/preserved-thinking.js";
import { anthropicBreaches } from "./providers/anthropic/rules.js";
import { type Said, scriptedModel } from "./turn.js";
import { Ended, Fuse, mortalBackend, mortalBlobs, type StoreFault } from "./turn-faults.js";

/** What the model does with a request. */
type Reply =
  | "text"
  | "calls"
  | "parallel"
  | "image"
  | "think"
  | "cut"
  | "error"
  | "busy"
  | "decline"
  | "long";

/** A turn of a process. */
interface TurnStep {
  readonly do: "turn";
  readonly says: boolean;
  readonly replies: readonly Reply[];
  readonly model: 0 | 1;
  /** The step at which the process ends. */
  readonly ends?: number | undefined;
  /** The event at which the caller stops the turn. */
  readonly stops?: number | undefined;
  /** The tool call during which another handle adds a message. */
  readonly steers?: number | undefined;
  /** Whether a second process runs the turn at the same time. */
  readonly rival: boolean;
  /** Milliseconds that the clock jumps in the middle. */
  readonly jump: number;
  /** Writes that fail while the process goes on. */
  readonly fault?: StoreFault | undefined;
}

export type TurnProgramStep =
  | TurnStep
  | { readonly do: "steer" | "fork" | "compact" | "instructions" }
  | { readonly do: "later"; readonly ms: number };

const reply = fc.constantFrom<Reply>(
  ...(["text", "text", "calls", "calls", "parallel", "parallel", "image", "think"] as const),
  ...(["cut", "error", "busy", "decline", "long"] as const),
);
const maybe = (most: number) => fc.option(fc.integer({ min: 1, max: most }), { nil: undefined, freq: 2 });

const turnStep: fc.Arbitrary<TurnStep> = fc.record({
  do: fc.constant("turn" as const),
  says: fc.boolean(),
  replies: fc.array(reply, { minLength: 1, maxLength: 5 }),
  model: fc.constantFrom(0 as const, 1 as const),
  ends: maybe(150),
  stops: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined, freq: 5 }),
  steers: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  rival: fc.nat({ max: 5 }).map((one) => one === 0),
  jump: fc.constantFrom(0, 0, 0, 0, 100_000, -100_000),
  fault: fc.option(
    fc.record({
      kind: fc.constantFrom("full" as const, "lost" as const),
      at: fc.integer({ min: 1, max: 40 }),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    { nil: undefined, freq: 2 },
  ),
});

/** Programs of several turns. */
export const turnProgram: fc.Arbitrary<readonly TurnProgramStep[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: turnStep },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom("steer" as const, "fork" as const, "compact" as const) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("instructions" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("later" as const), ms: fc.nat({ max: 90_000 }) }) },
  ),
  { minLength: 2, maxLength: 8 },
);

const models = ["claude-opus-5", "claude-opus-5-5"] as const;

/** One session, its processes, and what has to hold of it. */
export class TurnPrograms {
  readonly #backend: SessionBackend;
  readonly #isRemote: boolean;
  readonly #blobs = memoryBlobStore();
  readonly #server = new PreservedThinking();
  /** How often each call ran. */
  readonly #ran = new Map<string, number>();
  /** Pieces of replies that a person saw, reply by reply. */
  #shown: string[][] = [];
  /** Messages that were acknowledged, in order. */
  #said: string[] = [];
  readonly #refused: string[] = [];
  readonly #followed: string[] = [];
  #id: string;
  #time = 1_000_000_000;
  #serial = 0;
  #instructions = 0;

  /** @param isRemote whether a write lasts, so that a process may end with more than its last piece on the way */
  constructor(backend: SessionBackend, id: string, isRemote = false) {
    this.#backend = backend;
    this.#id = id;
    this.#isRemote = isRemote;
  }

  /** Runs a program, lets a sound process finish, and checks what is stored. */
  async run(program: readonly TurnProgramStep[]): Promise<void> {
    const stop = new AbortController();
    const first = await this.#store(new Fuse()).create({ id: this.#id, cwd: "/work" });
    await first.append([{ type: "message", id: this.#word("m"), message: userMessage("Begin.") }]);
    const following = this.#follow(first, stop.signal);
    try {
      for (const step of program) await this.#step(step);
      await this.#check(await this.#finish());
    } finally {
      stop.abort();
      await following;
      await first.close();
    }
  }

  async #step(step: TurnProgramStep): Promise<void> {
    switch (step.do) {
      case "turn":
        return this.#turn(step);
      case "later":
        this.#time += step.ms;
        return;
      case "instructions":
        this.#instructions++;
        return;
      case "steer": {
        await using session = await this.#open(new Fuse());
        const text = this.#word("steered");
        await steer(session, userMessage(text));
        this.#said.push(text);
        return;
      }
      case "compact": {
        await using session = await this.#open(new Fuse());
        if ((await session.turnState()).state !== "idle") return;
        const strategy = rollingSummary({ reserveTokens: 10, keepRecentTokens: 40 });
        const generate = async () => ({ text: this.#word("Summary") });
        await compact(session, { strategy, window: 100_000, generate, trigger: "manual" }).catch(
          () => undefined,
        );
        return;
      }
      case "fork": {
        await using session = await this.#open(new Fuse());
        // A fork of an open call would run it a second time.
        if ((await session.turnState()).state !== "idle") return;
        await using fork = await session.extract();
        this.#id = fork.id;
        this.#shown = [];
        this.#said = [];
      }
    }
  }

  async #turn(step: TurnStep): Promise<void> {
    const fuse = new Fuse(step.ends, step.fault);
    const runs = [this.#process(step, fuse)];
    if (step.rival) runs.push(this.#process({ ...step, says: false, steers: undefined }, new Fuse()));
    await Promise.all(runs);
  }

  /** One process: what ends it, and what may refuse it, is no failure of the test. */
  async #process(step: TurnStep, fuse: Fuse): Promise<TurnEnd | undefined> {
    const stop = new AbortController();
    const shown: string[][] = [];
    let session: Session | undefined;
    try {
      session = await this.#open(fuse);
      return await this.#runTurn(session, step, fuse, stop, shown);
    } catch (error) {
      if (fuse.hasEnded || error instanceof Ended) {
        if (this.#isRemote) this.#shown = this.#shown.filter((pieces) => pieces !== shown.at(-1));
        return undefined;
      }
      const { code, status } = error as { code?: string; status?: number };
      if (["CONCURRENT_WRITER", "TURN_LOST", "REPLY_FAILED"].includes(String(code)) || status === 529)
        return undefined;
      if (step.fault !== undefined && ["STORAGE_FAILED", "WRITER_POISONED"].includes(String(code)))
        return undefined;
      throw error;
    } finally {
      if (!fuse.hasEnded) await session?.close();
    }
  }

  async #runTurn(
    session: Session,
    step: TurnStep,
    fuse: Fuse,
    stop: AbortController,
    shown: string[][],
  ): Promise<TurnEnd> {
    let events = 0;
    let calls = 0;
    const model = this.#model(step, fuse);
    let pieces: string[] | undefined;
    const run = async (
      _input: unknown,
      { call }: { readonly call: { readonly id: string; readonly name: string } },
    ) => {
      fuse.point();
      this.#ran.set(call.id, (this.#ran.get(call.id) ?? 0) + 1);
      fuse.point();
      if (calls++ === step.steers) {
        await using other = await this.#open(new Fuse());
        const text = this.#word("steered");
        await steer(other, userMessage(text));
        this.#said.push(text);
      }
      if (calls === 1) this.#time += step.jump;
      return call.name === "image" ? ["here", { bytes: png({ width: 2, height: 3 }) }] : `ran ${call.id}`;
    };
    const tools: readonly Tool[] = ["calls", "parallel", "image"].map((name) =>
      tool({ name, description: name, parameters: { type: "object" }, parallel: name === "parallel", run }),
    );
    const text = this.#word("said");
    const end = await runTurn(session, {
      model,
      tools,
      blobs: mortalBlobs(this.#blobs, fuse),
      instructions: `Be brief, ${this.#instructions}.`,
      signal: stop.signal,
      maxSteps: 8,
      compaction: {
        strategy: rollingSummary({ reserveTokens: 10, keepRecentTokens: 60 }),
        window: 100_000,
        generate: async () => ({ text: this.#word("Summary") }),
      },
      reply: { batchChars: 1 },
      retry: { attempts: 2, sleep: async () => undefined },
      onDelta: (delta) => {
        if (delta.type !== "text") return;
        if (pieces === undefined) {
          pieces = [];
          shown.push(pieces);
          this.#shown.push(pieces);
        }
        pieces.push(delta.text);
      },
      onEvent: ({ type, phase }) => {
        if (type === "gen_ai.client.inference" && phase === "start") pieces = undefined;
        if (++events === step.stops) stop.abort();
      },
      ...(step.says ? { message: userMessage(text) } : {}),
    });
    if (step.says) this.#said.push(text);
    return end;
  }

  /** A model that checks each request as its provider does, and signs its reasoning. */
  #model({ replies, model: at }: TurnStep, fuse: Fuse) {
    const model = models[at];
    const said = (text: string) => ({ type: "text" as const, text, citations: null });
    const call = (name: string) => ({
      type: "tool_use" as const,
      id: this.#word("c"),
      name,
      input: {},
      caller: { type: "direct" } as const,
    });
    return scriptedModel(
      ({ value, tools }, count): Said => {
        fuse.point();
        const body = JSON.parse(JSON.stringify({ model, max_tokens: 100, tools, ...value }));
        for (const { path, problem } of anthropicBreaches(body)) this.#refused.push(`${path}: ${problem}`);
        const { refused } = this.#server.check(body as BoundRequest);
        if (refused !== undefined && model === "claude-opus-5-5") this.#refused.push(refused);
        const kind = replies[count] ?? "text";
        const text = this.#word("Says");
        const signed = (...content: readonly object[]): Said => {
          const thinking = { type: "thinking", thinking: this.#word("Hm"), signature: "" };
          return { reply: { content: this.#server.reply(body, [thinking, ...content] as never) as never } };
        };
        switch (kind) {
          case "text":
            return text;
          case "think":
            return signed(said(text));
          case "calls":
          case "image":
            return signed(said(text), call(kind), call("calls"));
          case "parallel":
            return { reply: { content: [call(kind), call(kind), call(kind)] } };
          case "cut":
            return { cut: text };
          case "error":
            return { cut: text, error: { type: "overloaded_error", message: "Overloaded" } };
          case "busy":
            return { fail: Object.assign(new Error("Overloaded"), { status: 529 }) };
          case "decline":
            return { reply: { content: [said(text)], stop_reason: "refusal" } };
          case "long":
            return { reply: { content: [said(text)], stop_reason: "max_tokens" } };
        }
      },
      { model },
      () => fuse.point(),
    );
  }

  /** All claims of processes that ended have run out, and a sound process finishes. */
  async #finish(): Promise<TurnEnd> {
    this.#time += 600_000;
    const step = { do: "turn", says: false, replies: [], model: 0, rival: false, jump: 0 } as const;
    const end = await this.#process(step, new Fuse());
    if (end === undefined) throw new Error("the last process did not end its turn");
    return end;
  }

  async #check({ reason }: TurnEnd): Promise<void> {
    expect(["done", "aborted", "refused", "cut"]).toContain(reason);
    expect(this.#refused).toEqual([]);
    await using session = await this.#store(new Fuse()).open(this.#id);
    const path = await session.path();
    const messages = path.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    // Each call of a reply that did not break off has one result, after it.
    const called = messages.flatMap((message) =>
      message.role === "assistant" && message.stopReason === "toolUse"
        ? toolCalls(message).map(({ id }) => id)
        : [],
    );
    const results = messages.flatMap((message) =>
      message.role === "toolResult" ? [message.toolCallId] : [],
    );
    expect(results.toSorted()).toEqual(called.toSorted());
    // No call ran twice, and none without its claim.
    const entries = [...(await session.tree()).walk()].map(({ node }) => node);
    const claims = new Set<string>();
    for (const { id, type } of entries) {
      const entry = type === "custom" ? await session.entry(id) : undefined;
      const started = entry && toolStarted.read(entry);
      if (started !== undefined) claims.add(started.toolCallId);
    }
    for (const [id, count] of this.#ran) expect([id, count]).toEqual([id, 1]);
    for (const id of called.filter((one) => this.#ran.has(one)))
      expect([id, claims.has(id)]).toEqual([id, true]);
    this.#checkWords(messages);
    // A follower saw entries as they are stored, in order.
    const stored = entries.map(({ id }) => id).filter((id) => this.#followed.includes(id));
    expect(this.#followed.filter((id) => stored.includes(id))).toEqual(stored);
  }

  /** What was acknowledged is there once, in order; what was shown is there but for a piece that was on its way. */
  #checkWords(messages: readonly Message[]): void {
    const users = messages.flatMap((message) =>
      message.role === "user" && typeof message.content === "string" ? [message.content] : [],
    );
    for (const text of this.#said)
      expect([text, users.filter((one) => one === text).length]).toEqual([text, 1]);
    const replies = messages.flatMap((message) =>
      message.role === "assistant"
        ? [message.content.map((block) => (block.type === "text" ? block.text : "")).join("")]
        : [],
    );
    for (const pieces of this.#shown) {
      const sure = pieces.slice(0, -1).join("");
      expect([sure, replies.some((text) => text.startsWith(sure))]).toEqual([sure, true]);
    }
  }

  async #follow(session: Session, signal: AbortSignal): Promise<void> {
    await using reader = await this.#store(new Fuse()).open(session.id);
    for await (const entry of reader.follow({ signal, pollMs: 5 })) this.#followed.push(entry.id);
  }

  #store(fuse: Fuse) {
    return sessionStore(mortalBackend(this.#backend, fuse), { now: () => this.#time, blobs: this.#blobs });
  }

  #open(fuse: Fuse): Promise<Session> {
    return this.#store(fuse).open(this.#id, { mode: "write" });
  }

  #word(text: string): string {
    return `${text}_${this.#serial++}`;
  }
}
