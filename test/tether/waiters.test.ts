import { getEventListeners } from "node:events";
import fc from "fast-check";
import { type FrameReading, FrameRing } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { Waiters } from "../../src/tether/ring.js";
import { amount, anyFrame, filter, frameOf, sessions } from "./frames.js";
import { isWanted } from "./naive-ring.js";

/** Lets everything go on that waits for nothing but its turn. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Whether a promise still waits when everything had its turn. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  await turn();
  return !settled;
}

describe("FrameRing.wait", () => {
  test("in any order of things every reader gets what it wants, once, in order, or is told what it missed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(anyFrame, { minLength: 1, maxLength: 25 }),
        fc.array(fc.tuple(filter, amount), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(2, 1000),
        async (scheduler, frames, readers, maxFrames) => {
          const ring = new FrameRing({ maxFrames });
          const controller = new AbortController();
          const end = new Error("the end");
          const reads = readers.map(async ([which, howMuch]) => {
            const wanted = frames.flatMap((frame, at) => (isWanted(frame, which) ? [at + 1] : []));
            const got: number[] = [];
            let after = 0;
            let lost = 0;
            const query = { ...which, ...howMuch, signal: controller.signal };
            for (;;) {
              const reading = await ring.wait({ ...query, after }).catch((error: unknown) => error);
              if (reading === end) break;
              const { nextSeq, missed, ...rest } = reading as FrameReading;
              const here = numbersOf({ nextSeq, missed, ...rest });
              expect(here.length + missed).toBeGreaterThan(0);
              const lostHere = wanted.filter(
                (seq) => seq > after && seq <= nextSeq && !here.includes(seq),
              ).length;
              expect(lostHere).toBeLessThanOrEqual(missed);
              got.push(...here);
              lost += lostHere;
              after = nextSeq;
              await scheduler.schedule(Promise.resolve(), "reader");
            }
            expect(got).toEqual(wanted.filter((seq) => got.includes(seq)));
            expect(got.length + lost).toBe(wanted.length);
            if (maxFrames === 1000) expect(got).toEqual(wanted);
          });
          scheduler.scheduleSequence(frames.map((frame) => async () => void ring.append(frame)));
          await scheduler.waitIdle();
          expect(ring.lastSeq).toBe(frames.length);
          controller.abort(end);
          await Promise.all(reads);
          expect(getEventListeners(controller.signal, "abort")).toEqual([]);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("gives at once what is there, and else the next that is wanted, with all that came in the same go", async () => {
    const ring = new FrameRing();
    ring.append(frameOf());
    expect(numbersOf(await ring.wait())).toEqual([1]);
    const waiting = ring.wait({ after: 1, types: ["assistant.done"] });
    ring.append(frameOf());
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done"));
    ring.append(frameOf());
    ring.append(frameOf({}, "assistant.done"));
    expect(await waiting).toMatchObject({ frames: [{ seq: 3 }, { seq: 5 }], nextSeq: 5, missed: 0 });
  });

  test("frames that nobody waits for pass by, and are not missed when they are gone", async () => {
    const ring = new FrameRing({ maxFrames: 2 });
    const waiting = ring.wait({ types: ["assistant.done"] });
    for (let i = 0; i < 10; i++) ring.append(frameOf());
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done"));
    expect(await waiting).toMatchObject({ frames: [{ seq: 11 }], nextSeq: 11, missed: 0 });
  });

  test("tells who waited that its frame was gone before it could be read", async () => {
    const ring = new FrameRing({ maxFrames: 2 });
    const waiting = ring.wait({ types: ["assistant.done"] });
    ring.append(frameOf({}, "assistant.done"));
    for (let i = 0; i < 5; i++) ring.append(frameOf());
    expect(await waiting).toEqual({ frames: [], nextSeq: 6, missed: 4 });
  });

  test("does not let a reader wait that has missed some already", async () => {
    const ring = new FrameRing({ maxFrames: 1 });
    for (let i = 0; i < 3; i++) ring.append(frameOf());
    expect(await ring.wait({ types: [] })).toEqual({ frames: [], nextSeq: 3, missed: 2 });
    expect(await isWaiting(ring.wait({ after: 3, types: [] }))).toBe(true);
  });

  test("a reader with a number of a ring that was lost is not deaf", async () => {
    const ring = new FrameRing();
    const waiting = ring.wait({ after: 500 });
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf());
    expect(await waiting).toMatchObject({ frames: [{ seq: 1 }], nextSeq: 1, missed: 0 });
    expect(numbersOf(await ring.wait({ after: 500 }))).toEqual([1]);
  });

  test("wakes all who want a frame, in the order in which they came", async () => {
    const ring = new FrameRing();
    const order: number[] = [];
    const waiting = Array.from({ length: 1000 }, async (_, at) => {
      const reading = await ring.wait(at % 3 === 0 ? {} : { types: ["assistant.delta"] });
      order.push(at);
      return numbersOf(reading);
    });
    ring.append(frameOf());
    expect(new Set((await Promise.all(waiting)).flat())).toEqual(new Set([1]));
    expect(order).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  });

  test("a query is what it was when the wait began", async () => {
    const ring = new FrameRing();
    const session = { channel: "a", id: "b" };
    const types = ["assistant.done"];
    const waiting = ring.wait({ session, types });
    session.id = "c";
    types.push("assistant.delta");
    ring.append(frameOf({}, "assistant.delta", { channel: "a", id: "b" }));
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done", { channel: "a", id: "b" }));
    expect(numbersOf(await waiting)).toEqual([2]);
  });

  test("throws the reason of its signal: aborted before, while it waits, and between the wake-up and the reading", async () => {
    const ring = new FrameRing();
    const before = AbortSignal.abort(new Error("before"));
    await expect(ring.wait({ signal: before })).rejects.toThrow(new Error("before"));
    const meanwhile = new AbortController();
    const waiting = ring.wait({ signal: meanwhile.signal });
    const other = ring.wait({ signal: new AbortController().signal });
    meanwhile.abort("no error, only a word");
    await expect(waiting).rejects.toBe("no error, only a word");
    const late = new AbortController();
    const woken = ring.wait({ signal: late.signal });
    ring.append(frameOf());
    late.abort(new Error("late"));
    await expect(woken).rejects.toThrow(new Error("late"));
    // What one reader gave up on is there for the others.
    expect(numbersOf(await other)).toEqual([1]);
    await expect(ring.wait({ signal: before })).rejects.toThrow(new Error("before"));
  });

  test("leaves no listener on a signal that outlives many waits", async () => {
    const ring = new FrameRing();
    const { signal } = new AbortController();
    for (let i = 0; i < 20; i++) {
      const waits = [ring.wait({ after: i, signal }), ring.wait({ after: i, signal })];
      expect(getEventListeners(signal, "abort")).toHaveLength(2);
      ring.append(frameOf());
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
      await Promise.all(waits);
    }
  });
});

describe("Waiters", () => {
  test("asks those that were woken or called off no more", async () => {
    const waiters = new Waiters();
    const controller = new AbortController();
    let asked = 0;
    const wants = ({ type }: { readonly type: string }) => {
      asked++;
      return type === "assistant.done";
    };
    const calledOff = waiters.next(wants, controller.signal);
    const woken = waiters.next(wants, undefined);
    waiters.tell(frameOf(), 1);
    expect(asked).toBe(2);
    controller.abort();
    await expect(calledOff).rejects.toBe(controller.signal.reason);
    waiters.tell(frameOf({}, "assistant.done", sessions[1]), 2);
    expect(asked).toBe(3);
    expect(await woken).toBe(2);
    waiters.tell(frameOf({}, "assistant.done"), 3);
    expect(asked).toBe(3);
  });
});
