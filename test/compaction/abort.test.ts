import { expect, test, vi } from "vitest";
import { pause, untilAborted } from "../../src/compaction/abort.js";

const never = new Promise<never>(() => undefined);

test("gives what the promise gives, and leaves no listener behind", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  expect(await untilAborted(Promise.resolve(5), signal)).toBe(5);
  await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  expect(added.mock.calls.length).toBe(2);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  );
});

test("throws the signal's reason, also where the promise never settles", async () => {
  const reason = new Error("enough");
  await expect(untilAborted(never, AbortSignal.abort(reason))).rejects.toBe(reason);
  const controller = new AbortController();
  const waiting = untilAborted(never, controller.signal);
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test("a promise that fails after the signal aborted is nobody's fault: no unhandled rejection", async () => {
  const reason = new Error("enough");
  const failing = Promise.reject(new Error("late"));
  await expect(untilAborted(failing, AbortSignal.abort(reason))).rejects.toBe(reason);
  // One that is not handled is told of when the microtasks are done, and fails the run.
  await new Promise((resolve) => setTimeout(resolve, 1));
});

test("a pause waits as long as it says, and its timer goes with the signal", async () => {
  vi.useFakeTimers();
  try {
    const controller = new AbortController();
    let passed = false;
    const first = pause(1000, controller.signal).then(() => {
      passed = true;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(passed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await first;
    expect(passed).toBe(true);
    const second = pause(1000, controller.signal);
    controller.abort("stop");
    await expect(second).rejects.toBe("stop");
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
