import fc from "fast-check";
import { expect, test } from "vitest";
import { readPaced, slowMs, stint, turnMs, turnsOf } from "../../../src/session/node/read-paced.js";

/** A clock that only reads move on, and that counts the turns of the loop. */
function pacing() {
  let time = 0;
  let turned = 0;
  let turns = 0;
  let longest = 0;
  return {
    pace: {
      now: () => time,
      turn: async () => {
        longest = Math.max(longest, time - turned);
        turned = time;
        turns++;
      },
    },
    pass: (ms: number) => {
      time += ms;
    },
    turns: () => turns,
    longest: () => Math.max(longest, time - turned),
  };
}

async function readAll(times: readonly number[]) {
  const clock = pacing();
  const ways: string[] = [];
  const seen: number[] = [];
  const now = (at: number) => {
    ways.push("now");
    clock.pass(times[at] ?? 0);
    return at;
  };
  const later = async (at: number) => {
    ways.push("later");
    return at;
  };
  for await (const at of readPaced([...times.keys()], { now, later, ahead: 8 }, clock.pace)) seen.push(at);
  return { ways, seen, clock };
}

test("gives each in order, and a turn of the event loop before more time has passed than one read takes", async () => {
  const quick = fc.double({ min: 0, max: slowMs, maxExcluded: true, noNaN: true });
  await fc.assert(
    fc.asyncProperty(fc.array(quick, { maxLength: 200 }), async (times) => {
      const { ways, seen, clock } = await readAll(times);
      expect(seen).toEqual([...times.keys()]);
      expect(ways.every((way) => way === "now")).toBe(true);
      expect(clock.longest()).toBeLessThan(turnMs + slowMs);
    }),
  );
});

test("after a slow read threads read a while, and then one is tried again", async () => {
  const { ways, seen } = await readAll(Array.from({ length: 3 * (stint + 1) }, () => slowMs));
  expect(seen).toEqual([...seen.keys()]);
  const round = ["now", ...Array.from({ length: stint }, () => "later")];
  expect(ways).toEqual([...round, ...round, ...round]);
  const { ways: ofQuick } = await readAll([0, slowMs, ...Array.from({ length: stint + 2 }, () => 0)]);
  expect(ofQuick.filter((way) => way === "later")).toHaveLength(stint);
  expect(ofQuick.slice(-2)).toEqual(["now", "now"]);
});

test("reads only what is asked for, and throws where it was read", async () => {
  const asked: number[] = [];
  const reads = {
    now: (at: number) => {
      asked.push(at);
      if (at === 3) throw new Error("no 3");
      return at;
    },
    later: async (at: number) => at,
    ahead: 8,
  };
  for await (const at of readPaced([0, 1, 2, 3], reads)) if (at === 1) break;
  expect(asked).toEqual([0, 1]);
  const rest = (async () => {
    for await (const at of readPaced([2, 3, 4], reads)) expect(at).toBe(2);
  })();
  await expect(rest).rejects.toThrow("no 3");
});

test("a turn is due once so much time has passed since the last one", async () => {
  const clock = pacing();
  const turn = turnsOf(clock.pace);
  expect(turn()).toBeUndefined();
  for (let turns = 1; turns < 4; turns++) {
    clock.pass(turnMs - 1);
    expect(turn()).toBeUndefined();
    clock.pass(1);
    await turn();
    expect([turn(), clock.turns()]).toEqual([undefined, turns]);
  }
});
