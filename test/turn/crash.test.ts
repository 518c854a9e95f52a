import {
  memoryBlobStore,
  memorySessionStore,
  type Session,
  sessionStore,
  toolStarted,
  userMessage,
} from "sessile";
import { runTurn, steer, tool } from "sessile/turn";
import { describe, expect, test } from "vitest";
import { png } from "../support/media-files.js";
import { isFull } from "../support/rounds.js";
import { type Said, scriptedModel, shortHistory } from "../support/turn.js";
import { Fuse, mortalBackend, mortalBlobs } from "../support/turn-faults.js";

const calls = Array.from({ length: 20 }, (_, at) => [at < 10 ? "one" : "many", `c${at}`] as const);
const words = "I read all of it. ";

/** What tools did, and what a person saw. */
interface Ledger {
  readonly ran: Map<string, number>;
  shown: string;
  steered: number;
}

/** A process: its handle of the session, and a turn that ends after a number of steps. */
class Process {
  readonly fuse: Fuse;
  readonly #world: World;

  constructor(world: World, steps?: number) {
    this.#world = world;
    this.fuse = new Fuse(steps);
  }

  async run(says: boolean): Promise<Session> {
    const { store: shared, blobs: kept, ledger, now } = this.#world;
    const blobs = mortalBlobs(kept, this.fuse);
    const store = sessionStore(mortalBackend(shared.backend, this.fuse), { now, blobs: kept });
    const exists = (await shared.latest()) !== undefined;
    const session = exists
      ? await store.open("s", { mode: "write" })
      : await store.create({ id: "s", cwd: "/work" });
    const model = scriptedModel(
      ({ value }): Said => {
        this.fuse.point();
        const text = JSON.stringify(value.messages);
        if (!text.includes('"c0"')) return { reply: { content: [said(words), ...calls.map(toCall)] } };
        return "Done with all of it.";
      },
      {},
      () => this.fuse.point(),
    );
    const run = async (_input: unknown, { call }: { readonly call: { readonly id: string } }) => {
      this.fuse.point();
      ledger.ran.set(call.id, (ledger.ran.get(call.id) ?? 0) + 1);
      this.fuse.point();
      if (call.id === "c5" && ledger.steered === 0) {
        await steer(session, userMessage("first"));
        ledger.steered = 1;
        await steer(session, userMessage("second"));
        ledger.steered = 2;
      }
      return call.id === "c12" ? ["seen", { bytes: png({ width: 2, height: 3 }) }] : `ran ${call.id}`;
    };
    const tools = ["one", "many"].map((name) =>
      tool({ name, description: name, parameters: { type: "object" }, parallel: name === "many", run }),
    );
    const onDelta = (delta: { readonly type: string; readonly text?: string }) => {
      // A process that ended shows nothing more.
      if (delta.type === "text" && !this.fuse.hasEnded) ledger.shown += delta.text;
    };
    const message = says && !exists ? { message: userMessage("Go.") } : {};
    await runTurn(session, { model, tools, blobs, onDelta, reply: { batchChars: 1 }, ...message });
    return session;
  }
}

const said = (text: string) => ({ type: "text" as const, text, citations: null });
const toCall = ([name, id]: readonly [string, string]) => ({
  type: "tool_use" as const,
  id,
  name,
  input: {},
  caller: { type: "direct" } as const,
});

class World {
  readonly blobs = memoryBlobStore();
  #time = 1_000_000;
  readonly now = () => this.#time;
  readonly store = memorySessionStore({ now: this.now, blobs: this.blobs });
  readonly ledger: Ledger = { ran: new Map(), shown: "", steered: 0 };

  /** Runs a process that ends after some steps, and one that does not. Returns whether the first ended early. */
  async crash(steps: number): Promise<boolean> {
    const first = new Process(this, steps);
    const isWhole = await first.run(true).then(
      () => true,
      () => false,
    );
    if (isWhole) return false;
    expect(first.fuse.hasEnded).toBe(true);
    await this.finish();
    return true;
  }

  /** Time passes, and with it the claim of a process that ended. */
  pass(): void {
    this.#time += 60_000;
  }

  async finish(): Promise<Session> {
    this.pass();
    return new Process(this).run(true);
  }

  /** What holds whenever a process ended. */
  async check(steps: number): Promise<void> {
    await using session = await this.store.open("s");
    const { ran, shown, steered } = this.ledger;
    const history = await shortHistory(session);
    const where = `after ${steps} steps: ${history.join("\n")}`;
    const path = await session.path();
    const started = path.flatMap((entry) => toolStarted.read(entry)?.toolCallId ?? []);
    const messages = path.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    const whole = messages.filter((one) => one.role === "assistant" && one.stopReason === "toolUse");
    const results = messages.flatMap((one) => (one.role === "toolResult" ? [one.toolCallId] : []));
    // Each call of a whole reply has one result.
    expect(results.toSorted(), where).toEqual(whole.flatMap(() => calls.map(([, id]) => id)).toSorted());
    // No call ran twice, and none without its claim.
    for (const [id, count] of ran) expect([id, count, started.includes(id)], where).toEqual([id, 1, true]);
    // What was shown is there: of a reply whose process ended, all but the piece that was on its way.
    const stored = messages.flatMap((one) =>
      one.role === "assistant" ? one.content.map((block) => (block.type === "text" ? block.text : "")) : [],
    );
    const kept = stored.join("");
    expect(shown.length - kept.length, where).toBeLessThanOrEqual(6);
    // Messages that were acknowledged are there once, in order.
    const texts = messages.flatMap((one) => (one.role === "user" ? [one.content] : []));
    expect(texts.slice(0, 1 + steered), where).toEqual(["Go.", "first", "second"].slice(0, 1 + steered));
    expect(history.at(-1), where).toBe("assistant: Done with all of it.");
  }
}

describe("a turn with 20 calls whose process ends", () => {
  test("at any step is finished by the next process", async () => {
    // Each step with SESSILE_FAULT_ROUNDS, else a part of them.
    const stride = isFull ? 1 : 12;
    let steps = 1 + Math.floor(Math.random() * stride);
    for (; ; steps += stride) {
      const world = new World();
      if (!(await world.crash(steps))) break;
      await world.check(steps);
    }
    expect(steps).toBeGreaterThan(150);
  });

  test("at a step, and again while it is finished", async () => {
    for (const [first, second] of [
      [60, 5],
      [80, 20],
      [100, 31],
      [120, 2],
      [140, 40],
      [90, 90],
    ] as const) {
      const world = new World();
      for (const steps of [first, second]) {
        world.pass();
        await new Process(world, steps).run(true).catch(() => undefined);
        world.ledger.shown = "";
      }
      await world.finish();
      await world.check(first + second);
    }
  });
});
