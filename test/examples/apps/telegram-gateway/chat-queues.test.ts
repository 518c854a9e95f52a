import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatQueues } from "../../../../examples/apps/telegram-gateway/chat-queues.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

describe("chatQueues", () => {
  it("does everything once, each chat in order and one at a time, never more chats than it may", async () => {
    const tasks = fc.array(fc.record({ chat: fc.nat(4), turns: fc.nat(3) }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(tasks, fc.integer({ min: 1, max: 4 }), async (all, maxRunning) => {
        const done: number[] = [];
        const running: number[] = [];
        const queues = chatQueues(
          async (index: number) => {
            const { chat, turns } = all[index] as (typeof all)[number];
            expect(running).not.toContain(chat);
            running.push(chat);
            expect(running.length).toBeLessThanOrEqual(maxRunning);
            for (let at = 0; at < turns; at++) await turn();
            running.splice(running.indexOf(chat), 1);
            done.push(index);
          },
          { maxRunning, maxWaiting: 0 },
        );
        for (const [index, { chat }] of all.entries()) queues.add(chat, index);
        await queues.room(never);
        expect([...done].sort((a, b) => a - b)).toEqual(all.map((_, index) => index));
        for (const chat of [0, 1, 2, 3, 4]) {
          const order = done.filter((index) => all[index]?.chat === chat);
          expect(order).toEqual([...order].sort((a, b) => a - b));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("has room again when enough is done, or the signal aborts", async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const queues = chatQueues(() => held, { maxRunning: 1, maxWaiting: 1 });
    const rooms: string[] = [];
    queues.add(1, "a");
    await queues.room(never).then(() => rooms.push("one"));
    queues.add(2, "b");
    const stop = new AbortController();
    const waits = [
      queues.room(never).then(() => rooms.push("two")),
      queues.room(stop.signal).then(() => rooms.push("aborted")),
    ];
    await turn();
    expect(rooms).toEqual(["one"]);
    stop.abort();
    await turn();
    expect(rooms).toEqual(["one", "aborted"]);
    letGo();
    await Promise.all(waits);
    expect(rooms).toEqual(["one", "aborted", "two"]);
  });

  it("begins nothing after it was closed, and waits for what had begun", async () => {
    const done: string[] = [];
    const queues = chatQueues(
      async (task: string) => {
        await turn();
        done.push(task);
      },
      { maxRunning: 2, maxWaiting: 9 },
    );
    for (const [chat, task] of [
      [1, "a"],
      [1, "b"],
      [2, "c"],
      [3, "d"],
    ] as const) {
      queues.add(chat, task);
    }
    await queues.close();
    await turn();
    expect(done).toEqual(["a", "c"]);
  });
});
