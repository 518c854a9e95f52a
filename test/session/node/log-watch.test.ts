import { expect, test } from "vitest";
import { LogWatch } from "../../../src/session/node/watch.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

/** Whether a promise is settled by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

function watched() {
  const disk = new SimulatedDisk();
  disk.put("/log", "a");
  return { disk, watch: new LogWatch(disk, "/log"), never: new AbortController().signal };
}

test("a change is told of to who waits, and to who comes right after it", async () => {
  const { disk, watch, never } = watched();
  // Before the watch began there may have been one.
  expect(await isDone(watch.changed(never))).toBe(true);
  const [first, second] = [watch.changed(never), watch.changed(never)];
  expect(await isDone(first)).toBe(false);
  disk.put("/log", "b");
  expect([await isDone(first), await isDone(second)]).toEqual([true, true]);
  disk.put("/log", "b");
  disk.put("/log", "b");
  expect(await isDone(watch.changed(never))).toBe(true);
  expect(await isDone(watch.changed(never))).toBe(false);
  watch.close();
});

test("an abort and the end of the watch resolve it too, and leave nothing", async () => {
  const { watch, never } = watched();
  await watch.changed(never);
  const controller = new AbortController();
  const aborted = watch.changed(controller.signal);
  controller.abort();
  expect(await isDone(aborted)).toBe(true);
  const waiting = watch.changed(never);
  watch.close();
  expect(await isDone(waiting)).toBe(true);
});

test("is of another file once it is renewed, which may have changed by then", async () => {
  const { disk, watch, never } = watched();
  watch.renew();
  expect(await isDone(watch.changed(never))).toBe(true);
  const waiting = watch.changed(never);
  watch.renew();
  expect(await isDone(waiting)).toBe(false);
  disk.put("/log", "b");
  expect(await isDone(waiting)).toBe(true);
  watch.close();
});
