import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SyncPacer } from "../../../src/internal/node/node-file-system.js";

let clock = 0;
beforeEach(() => {
  clock = 0;
  vi.spyOn(performance, "now").mockImplementation(() => clock);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs a call that takes so long, and says where it was made. */
async function where(pace: SyncPacer, ms: number): Promise<"here" | "pool"> {
  let made: "here" | "pool" = "pool";
  await pace.run(
    async () => {
      clock += ms;
    },
    () => {
      made = "here";
      clock += ms;
    },
  );
  return made;
}

describe("a call that waits for the device", () => {
  test("is made in the pool first, and here while such calls are short", async () => {
    const pace = new SyncPacer();
    expect(await where(pace, 0.3)).toBe("pool");
    for (let i = 0; i < 20; i++) expect(await where(pace, 0.5)).toBe("here");
  });

  test("goes to the pool when the device becomes slow, and comes back when it is quick again", async () => {
    const pace = new SyncPacer();
    await where(pace, 0.3);
    expect(await where(pace, 30)).toBe("here");
    for (let i = 0; i < 5; i++) expect(await where(pace, 30)).toBe("pool");
    const turns: string[] = [];
    for (let i = 0; i < 60; i++) turns.push(await where(pace, 0.2));
    expect(turns[0]).toBe("pool");
    expect(turns.at(-1)).toBe("here");
  });

  test("is made in the pool while another is there, so that both run at once", async () => {
    const pace = new SyncPacer();
    let end = () => {};
    const first = pace.run(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
      () => undefined,
    );
    for (let i = 0; i < 3; i++) expect(await where(pace, 0.1)).toBe("pool");
    end();
    await first;
    expect(await where(pace, 0.1)).toBe("here");
  });

  test("may fail in either place", async () => {
    const pace = new SyncPacer();
    const fail = () => {
      throw new RangeError("EIO");
    };
    await expect(pace.run(async () => fail(), fail)).rejects.toThrow("EIO");
    await where(pace, 0.1);
    await expect(pace.run(async () => fail(), fail)).rejects.toThrow("EIO");
  });
});
