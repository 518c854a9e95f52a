import { describe, expect, test } from "vitest";
import { abortable } from "../../src/internal/abort.js";

/** Counts to `to`, and says how it ended. */
function counting(to: number): AsyncIterable<number> & { ended: string } {
  const source = {
    ended: "not yet",
    async *[Symbol.asyncIterator]() {
      try {
        for (let n = 1; n <= to; n++) yield n;
        source.ended = "of itself";
      } finally {
        if (source.ended === "not yet") source.ended = "early";
      }
    },
  };
  return source;
}

async function all<T>(source: AsyncIterable<T>, each: (item: T) => void = () => undefined): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) {
    items.push(item);
    each(item);
  }
  return items;
}

describe("abortable", () => {
  test("gives what the source gives, with a signal and without", async () => {
    for (const signal of [undefined, new AbortController().signal]) {
      const source = counting(3);
      expect(await all(abortable(source, signal))).toEqual([1, 2, 3]);
      expect(source.ended).toBe("of itself");
    }
  });

  test("throws the reason, and ends the source, when the signal aborts between two items", async () => {
    const controller = new AbortController();
    const source = counting(3);
    const items: number[] = [];
    const run = all(abortable(source, controller.signal), (item) => {
      items.push(item);
      controller.abort(new RangeError("enough"));
    });
    await expect(run).rejects.toThrow(new RangeError("enough"));
    expect(items).toEqual([1]);
    expect(source.ended).toBe("early");
  });

  test("does not begin after an abort", async () => {
    const source = counting(3);
    const run = all(abortable(source, AbortSignal.abort(new RangeError("before"))));
    await expect(run).rejects.toThrow(new RangeError("before"));
    expect(source.ended).toBe("not yet");
  });

  test("does not wait for a source that hangs, nor for its end", async () => {
    const controller = new AbortController();
    const hanging: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => new Promise(() => undefined),
      }),
    };
    const run = all(abortable(hanging, controller.signal));
    controller.abort(new RangeError("waited enough"));
    await expect(run).rejects.toThrow(new RangeError("waited enough"));
  });

  test("ends the source when it is left early, and passes its errors on", async () => {
    for (const signal of [undefined, new AbortController().signal]) {
      const source = counting(3);
      for await (const item of abortable(source, signal)) if (item === 2) break;
      expect(source.ended).toBe("early");
      const failing = (async function* () {
        yield 1;
        throw new RangeError("broken");
      })();
      await expect(all(abortable(failing, signal))).rejects.toThrow(new RangeError("broken"));
    }
  });

  test("leaves no listener on the signal", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    await all(abortable(counting(3), signal));
    for await (const _ of abortable(counting(3), signal)) break;
    expect(listeners).toBe(0);
  });
});
