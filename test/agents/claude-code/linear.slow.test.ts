import { claudeCode } from "sessile/claude-code";
import { importSession } from "sessile/interop";
import { expect, it } from "vitest";
import { maxExponent } from "../../support/growth.js";
import { bytesOf, call, type Fields, line, mainPath, reply, result, user } from "./transcript.js";

/** Transcripts by the index of a line and their length. */
const shapes: Readonly<Record<string, (at: number, count: number) => Fields>> = {
  "one chain": (at) => user(`u${at}`, at === 0 ? null : `u${at - 1}`, "x"),
  "a cycle": (at, count) => user(`u${at}`, `u${(at + 1) % count}`, "x"),
  "one parent of all": (at) => user(`u${at}`, "u0", "x"),
  "calls of one id": (at) =>
    at % 2 === 0
      ? reply(`a${at}`, `a${at - 1}`, `m${at}`, call("c"))
      : user(`a${at}`, `a${at - 1}`, [result("c")]),
  "a reply of many lines": (at) => reply(`a${at}`, `a${at - 1}`, "m", call(`c${at}`)),
  "compactions in a row": (at) =>
    line("system", `b${at}`, null, { subtype: "compact_boundary", logicalParentUuid: `b${at - 1}` }),
  "a sidechain back to front": (at) => user(`u${at}`, `u${at + 1}`, "x", { isSidechain: at > 0 }),
};

it.each(Object.keys(shapes))("reads %s in linear time", async (name) => {
  const points: (readonly [number, number])[] = [];
  for (const count of [5_000, 40_000]) {
    const bytes = bytesOf(Array.from({ length: count }, (_, at) => shapes[name]?.(at, count) ?? {}));
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3; run++) {
      const started = process.cpuUsage();
      await importSession([{ path: mainPath, bytes }], { from: claudeCode, keep: "none" });
      const { user, system } = process.cpuUsage(started);
      least = Math.min(least, user + system);
    }
    points.push([Math.log(count), Math.log(least)]);
  }
  const [[x0, y0], [x1, y1]] = points as [(typeof points)[0], (typeof points)[0]];
  expect((y1 - y0) / (x1 - x0)).toBeLessThan(maxExponent);
});
