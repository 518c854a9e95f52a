/**
 * Random programs of turns on one session, under faults: processes that end or stand still at any step, aborts, jumps of the
 * clock, replies that break off, refusals, overflows, full disks, lost answers. A program and its faults are data, and time
 * is simulated, so that a seed of fast-check replays a run.
 */
import { deepEqual, ok } from "node:assert/strict";
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
import { SessileError } from "sessile/errors";
import { runTurn, steer, type Tool, type TurnEnd, tool } from "sessile/turn";
import { eachLine } from "../../src/session/internal.js";
import { png } from "./media-files.js";
import { SimulatedTime } from "./simulated-time.js";
import { Ended, Fuse, mortalBackend, mortalBlobs, type StoreFault, Writes } from "./turn-faults.js";
import { requestError, type Said, type TurnModelName, TurnServers, turnModelNames } from "./turn-models.js";

/** What the model does with a request. */
type Reply = "text" | "think" | ToolName | "cut" | "error" | "decline" | "long" | "busy" | "overflow";

/** Of a slow one time passes; a repeatable one may run twice; what a bad one returns is refused by the servers. */
type ToolName = "calls" | "parallel" | "image" | "slow" | "again" | "bad";

/** A turn of a process. */
interface TurnStep {
  readonly do: "turn";
  readonly says: boolean;
  /** Whether the message begins another branch. */
  readonly goesBack: boolean;
  readonly replies: readonly Reply[];
  readonly model: TurnModelName;
  /** The step at which the process ends. */
  readonly ends?: number | undefined;
  /** The event at which the caller stops the turn. */
  readonly stops?: number | undefined;
  /** The tool call during which another handle adds a message. */
  readonly steers?: number | undefined;
  readonly rival?: Rival | undefined;
  /** Milliseconds that the clock jumps in the middle. */
  readonly jump: number;
  /** Writes that fail while the process goes on. */
  readonly fault?: StoreFault | undefined;
  /** Whether others read the replies while they stream. */
  readonly isRead: boolean;
  readonly pace: number;
}

/** A second process, which runs the same turn. */
interface Rival {
  /** The step of the first process at which it starts. */
  readonly at: number;
  /** Milliseconds for which the first process stands still before, and until the second has ended; undefined: both run. */
  readonly still?: number | undefined;
  readonly ends?: number | undefined;
  readonly model: TurnModelName;
}

export type TurnProgramStep =
  | TurnStep
  | { readonly do: "steer" | "extract" | "fork" | "compact" | "instructions" }
  | { readonly do: "later"; readonly ms: number };

const reply = fc.constantFrom<Reply>(
  ...(["text", "text", "calls", "calls", "parallel", "parallel", "image", "think", "slow", "again"] as const),
  ...(["cut", "error", "busy", "decline", "long", "overflow", "bad"] as const),
);
const maybe = (most: number, freq = 2) =>
  fc.option(fc.integer({ min: 1, max: most }), { nil: undefined, freq });
const model = fc.constantFrom(...turnModelNames);

const turnStep: fc.Arbitrary<TurnStep> = fc.record({
  do: fc.constant("turn" as const),
  says: fc.boolean(),
  goesBack: fc.nat({ max: 7 }).map((one) => one === 0),
  replies: fc.array(reply, { minLength: 1, maxLength: 3 }),
  model,
  ends: maybe(120),
  stops: maybe(30, 5),
  steers: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  rival: fc.option(
    fc.record({
      at: fc.integer({ min: 1, max: 80 }),
      still: fc.constantFrom(undefined, 0, 100_000, 100_000),
      ends: maybe(80, 1),
      model,
    }),
    { nil: undefined, freq: 2 },
  ),
  jump: fc.constantFrom(0, 0, 0, 0, 100_000, -100_000),
  fault: fc.option(
    fc.record({
      kind: fc.constantFrom("full" as const, "lost" as const),
      at: fc.integer({ min: 1, max: 40 }),
      count: fc.integer({ min: 1, max: 4 }),
    }),
    { nil: undefined, freq: 2 },
  ),
  isRead: fc.boolean(),
  pace: fc.nat({ max: 3 }),
});

const step: fc.Arbitrary<TurnProgramStep> = fc.oneof(
  { weight: 8, arbitrary: turnStep },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("steer" as const, "extract" as const, "fork" as const, "compact" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("instructions" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("later" as const), ms: fc.nat({ max: 90_000 }) }) },
);

/** Programs of so many steps at most. */
export function turnPrograms(maxLength: number): fc.Arbitrary<readonly TurnProgramStep[]> {
  return fc.array(step, { minLength: 1, maxLength });
}

const bad = png({ width: 5, height: 7 });
const badText = Buffer.from(bad).toString("base64");

/** What a person saw of a reply, and how much of it has to be stored. */
interface Shown {
  readonly pieces: string[];
  sure: number;
}

/** The replies that one process showed. */
class Screen {
  readonly replies: Shown[] = [];
  /** Whether the process stood still for so long that another one may have gone on. */
  #isOverdue = false;

  /** All that was shown is stored; in a process that ended, all but pieces that were on their way. */
  keep(onTheirWay = 0): void {
    if (this.#isOverdue) return;
    for (const one of this.replies) one.sure = one.pieces.length;
    const last = this.replies.at(-1);
    if (last !== undefined) last.sure = Math.max(0, last.sure - onTheirWay);
  }

  standStill(): void {
    this.keep(1);
    this.#isOverdue = true;
  }
}

/**
 * Runs a program on a session, lets a sound process finish, and checks what is stored.
 * @param isReal whether timers are real, since the backend waits for more than this process. A write takes time there, so
 *   that a process may end with more than its last piece on the way
 */
export async function runTurnProgram(
  program: readonly TurnProgramStep[],
  backend: SessionBackend,
  id: string,
  isReal = false,
): Promise<void> {
  const time = new SimulatedTime();
  const restore = isReal ? () => undefined : time.install();
  try {
    await time.drive(new TurnWorld(backend, id, isReal, time).run(program));
  } finally {
    restore();
  }
}

/** One session, its processes, and what has to hold of it. */
class TurnWorld {
  readonly #backend: SessionBackend;
  readonly #isReal: boolean;
  readonly #time: SimulatedTime;
  readonly #blobs = memoryBlobStore();
  readonly #writes = new Writes();
  readonly #servers = new TurnServers();
  /** How often each call ran. */
  readonly #ran = new Map<string, number>();
  readonly #repeatable = new Set<string>();
  /** What a person saw, reply by reply. */
  #shown: Shown[] = [];
  /** Messages that were acknowledged, in order. */
  #said: string[] = [];
  /** Followers of entries and of replies, which end with the program. */
  readonly #stop = new AbortController();
  readonly #following: Promise<void>[] = [];
  readonly #followed: string[] = [];
  readonly #read = new Map<string, { text: string; isWhole: boolean }>();
  readonly #first: string;
  #id: string;
  /** What the clock is ahead of time. */
  #ahead = 0;
  #serial = 0;
  #instructions = 0;

  constructor(backend: SessionBackend, id: string, isReal: boolean, time: SimulatedTime) {
    this.#backend = backend;
    this.#first = id;
    this.#id = id;
    this.#isReal = isReal;
    this.#time = time;
  }

  async run(program: readonly TurnProgramStep[]): Promise<void> {
    const first = await this.#store(new Fuse()).create({ id: this.#id, cwd: "/work" });
    await first.append([{ type: "message", id: this.#word("m"), message: userMessage("Begin.") }]);
    const reader = await this.#store(new Fuse()).open(this.#first);
    this.#following.push(this.#follow(reader));
    try {
      for (const step of program) await this.#step(step);
      await this.#check(await this.#finish());
      await this.#checkFollowers();
    } finally {
      this.#stop.abort();
      await Promise.all(this.#following);
      await reader.close();
      await first.close();
    }
  }

  async #step(step: TurnProgramStep): Promise<void> {
    switch (step.do) {
      case "turn":
        return this.#turn(step);
      case "later":
        return this.#time.pass(step.ms);
      case "instructions":
        this.#instructions++;
        return;
      case "steer":
        return this.#steer();
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
      case "extract":
      case "fork": {
        await using session = await this.#open(new Fuse());
        // A fork of an open call would run it a second time.
        if ((await session.turnState()).state !== "idle") return;
        await using copy = await (step.do === "fork"
          ? this.#store(new Fuse()).fork(this.#id)
          : session.extract());
        this.#id = copy.id;
        this.#shown = [];
        this.#said = [];
      }
    }
  }

  async #steer(): Promise<void> {
    const id = this.#id;
    await using session = await this.#open(new Fuse());
    const text = this.#word("steered");
    await steer(session, userMessage(text));
    // A tool whose turn was stopped may still run behind a fork.
    if (this.#id === id) this.#said.push(text);
  }

  async #turn(step: TurnStep): Promise<void> {
    const { rival, ends, fault, pace } = step;
    const screen = new Screen();
    let running: Promise<unknown> | undefined;
    const during = async () => {
      if (rival === undefined) return;
      if (rival.still !== undefined) {
        screen.standStill();
        await this.#time.pass(rival.still);
      }
      const other: TurnStep = {
        ...step,
        says: false,
        steers: undefined,
        fault: undefined,
        model: rival.model,
      };
      running = this.#process(other, new Fuse(rival.ends));
      if (rival.still !== undefined) await running;
    };
    const stop = rival && { at: rival.at, during };
    await this.#process(step, new Fuse(ends, { fault, stop, pace }), screen);
    await running;
  }

  /** One process: what ends it, and what may refuse it, is no failure of the test. */
  async #process(step: TurnStep, fuse: Fuse, screen = new Screen()): Promise<TurnEnd | undefined> {
    let session: Session | undefined;
    let isLost = false;
    let end: TurnEnd | undefined;
    try {
      session = await this.#open(fuse);
      end = await this.#runTurn(session, step, fuse, screen);
      return end;
    } catch (error) {
      const { code, status } = error as { code?: string; status?: number };
      if (fuse.hasEnded || error instanceof Ended) return undefined;
      isLost = code === "CONCURRENT_WRITER" || code === "TURN_LOST";
      if (isLost || code === "REPLY_FAILED" || status === 529 || status === 400) return undefined;
      if (step.fault !== undefined && (code === "STORAGE_FAILED" || code === "WRITER_POISONED"))
        return undefined;
      throw error;
    } finally {
      if (end !== undefined) screen.keep();
      if (!fuse.hasEnded) await session?.close();
      if (end === undefined && !isLost) screen.keep(fuse.refused + this.#onTheirWay(fuse));
    }
  }

  /** How many pieces may be on their way. */
  #onTheirWay({ hasEnded }: Fuse): number {
    if (!hasEnded) return 0;
    return this.#isReal ? Number.POSITIVE_INFINITY : 1;
  }

  async #runTurn(session: Session, step: TurnStep, fuse: Fuse, screen: Screen): Promise<TurnEnd> {
    const stop = new AbortController();
    const goesBack = step.goesBack && step.says && (await session.turnState()).state === "idle";
    if (goesBack) {
      await session.branch((await session.path())[0]?.id ?? null);
      this.#said = [];
    }
    let events = 0;
    let current: Shown | undefined;
    const text = this.#word("said");
    const end = await runTurn(session, {
      model: this.#servers.model(step.model, this.#script(step), () => fuse.pass()),
      tools: this.#tools(step, fuse),
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
      onDelta: (delta, { id }) => {
        // A process that ended shows nothing more.
        if (delta.type !== "text" || fuse.hasEnded) return;
        if (current === undefined) {
          current = { pieces: [], sure: 0 };
          screen.replies.push(current);
          this.#shown.push(current);
          if (step.isRead && !this.#read.has(id)) this.#following.push(this.#readReply(id));
        }
        current.pieces.push(delta.text);
      },
      onEvent: ({ type, phase }) => {
        if (type === "gen_ai.client.inference" && phase === "start") current = undefined;
        if (++events === step.stops) stop.abort();
      },
      ...(step.says ? { message: userMessage(text) } : {}),
    });
    // Behind an earlier entry it waits there, for the next turn of that branch.
    if (step.says && !(goesBack && end.reason === "busy")) this.#said.push(text);
    return end;
  }

  #tools(step: TurnStep, fuse: Fuse): readonly Tool[] {
    let calls = 0;
    const run = async (
      _input: unknown,
      { call: { id, name } }: { readonly call: { readonly id: string; readonly name: string } },
    ) => {
      await fuse.pass();
      this.#ran.set(id, (this.#ran.get(id) ?? 0) + 1);
      if (name === "again") this.#repeatable.add(id);
      await fuse.pass();
      if (calls++ === step.steers) await this.#steer();
      if (calls === 1) this.#ahead += step.jump;
      if (name === "slow") await this.#time.sleep(45_000);
      if (name === "bad") return ["here", { bytes: bad }];
      return name === "image" ? ["here", { bytes: png({ width: 2, height: 3 }) }] : `ran ${id}`;
    };
    return (["calls", "parallel", "image", "slow", "again", "bad"] as const).map((name) =>
      tool({
        name,
        description: name,
        parameters: { type: "object" },
        parallel: name === "parallel",
        repeatable: name === "again",
        run,
      }),
    );
  }

  /** What the model does with the requests of a turn. */
  #script({ replies }: TurnStep): (body: unknown) => Said {
    let count = 0;
    return (body) => {
      if (JSON.stringify(body).includes(badText)) throw requestError(400, "Could not process image");
      const kind = replies[count++] ?? "text";
      const text = this.#word("Says");
      const thinking = this.#word("Hm");
      const call = (name: string) => [name, this.#word("c")] as const;
      switch (kind) {
        case "text":
          return { text };
        case "think":
          return { thinking, text };
        case "parallel":
          return { calls: [call(kind), call(kind), call(kind)] };
        case "cut":
        case "error":
        case "decline":
        case "long":
          return { text, end: kind };
        case "busy":
          throw requestError(529, "Overloaded");
        case "overflow":
          throw requestError(400, "prompt is too long: 300000 tokens > 200000 maximum");
        default:
          return { thinking, text, calls: [call(kind), call("calls")] };
      }
    };
  }

  /** All claims of processes that ended have run out, and a sound process finishes. */
  async #finish(): Promise<TurnEnd> {
    await this.#time.pass(600_000);
    const step: TurnStep = {
      ...{ do: "turn", says: false, goesBack: false, replies: [], model: "claude-opus-5" },
      ...{ jump: 0, isRead: false, pace: 0 },
    } as const;
    const end = await this.#process(step, new Fuse());
    if (end === undefined) throw new Error("the last process did not end its turn");
    return end;
  }

  async #check({ reason }: TurnEnd): Promise<void> {
    ok(["done", "aborted", "refused", "cut"].includes(reason), reason);
    deepEqual(this.#servers.refused, []);
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
    deepEqual(results.toSorted(), called.toSorted());
    const all: Message[] = [];
    const claims = new Map<string, number>();
    for (const { node } of (await session.tree()).walk()) {
      const entry = await session.entry(node.id);
      if (entry?.type === "message") all.push(entry.message);
      const started = entry && toolStarted.read(entry);
      if (started !== undefined) claims.set(started.toolCallId, (claims.get(started.toolCallId) ?? 0) + 1);
    }
    // No call ran twice, and none without its claim.
    for (const [id, count] of this.#ran) if (!this.#repeatable.has(id)) deepEqual([id, count], [id, 1]);
    for (const id of called)
      ok((claims.get(id) ?? 0) >= (this.#ran.get(id) ?? 0), `${id} ran without a claim`);
    this.#checkWords(messages, all);
  }

  /** What was acknowledged is there once, in order; what was shown is there but for a piece that was on its way. */
  #checkWords(messages: readonly Message[], all: readonly Message[]): void {
    const users = messages.flatMap((message) =>
      message.role === "user" && typeof message.content === "string" ? [message.content] : [],
    );
    for (const text of this.#said) deepEqual([text, users.filter((one) => one === text).length], [text, 1]);
    const replies = all.flatMap((message) => (message.role === "assistant" ? [textOf(message)] : []));
    for (const { pieces, sure } of this.#shown) {
      const text = pieces.slice(0, sure).join("");
      ok(
        replies.some((reply) => reply.startsWith(text)),
        `${text} was shown, and is gone`,
      );
    }
  }

  /** Followers saw what is stored, in its order, and replies as they begin or are. */
  async #checkFollowers(): Promise<void> {
    const stored = await this.#storedIds();
    while (this.#followed.length < stored.length) await this.#time.sleep(1000);
    deepEqual(this.#followed, stored);
    await using session = await this.#store(new Fuse()).open(this.#first);
    for (const [id, { text, isWhole }] of this.#read) {
      const entry = await session.entry(id);
      if (entry?.type !== "message" || entry.message.role !== "assistant") continue;
      const whole = textOf(entry.message);
      if (isWhole) deepEqual([id, text], [id, whole]);
      else ok(whole.startsWith(text), `${text} was read of ${whole}`);
    }
  }

  /** The ids of the entries behind the first message, as the lines have them. */
  async #storedIds(): Promise<readonly string[]> {
    const log = await this.#backend.open(this.#first, { partition: "", mode: "read" } as never);
    const ids: string[] = [];
    const line = (bytes: Uint8Array, _at: number, start: number, end: number) =>
      void ids.push(JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))).id);
    const tooLong = () => ids.push("too long");
    if (log !== undefined) for await (const batch of log.read(undefined)) eachLine(batch, { line, tooLong });
    await log?.close();
    return ids.slice(2);
  }

  async #follow(reader: Session): Promise<void> {
    for await (const entry of reader.follow({ signal: this.#stop.signal, pollMs: 5 }))
      this.#followed.push(entry.id);
  }

  async #readReply(id: string): Promise<void> {
    const read = { text: "", isWhole: false };
    this.#read.set(id, read);
    await using reader = await this.#store(new Fuse()).open(this.#id);
    try {
      for await (const part of reader.followReply(id, { signal: this.#stop.signal, pollMs: 5 })) {
        if (part.type === "deltas")
          for (const delta of part.deltas) if (delta.type === "text") read.text += delta.text;
        read.isWhole = part.type === "end";
      }
    } catch (error) {
      // It ended without a word before the first look.
      if (!SessileError.is(error, "REPLY_NOT_FOUND")) throw error;
    }
  }

  #store(fuse: Fuse) {
    const now = () => this.#time.now() + this.#ahead;
    const writes = this.#isReal ? undefined : this.#writes;
    return sessionStore(mortalBackend(this.#backend, fuse, writes), { now, blobs: this.#blobs });
  }

  #open(fuse: Fuse): Promise<Session> {
    return this.#store(fuse).open(this.#id, { mode: "write" });
  }

  #word(text: string): string {
    return `${text}_${this.#serial++}`;
  }
}

function textOf({ content }: Message & { readonly role: "assistant" }): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
