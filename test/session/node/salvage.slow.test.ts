import { encodeEntry, type SessionEntry } from "sessile";
import { describe, expect, test } from "vitest";
import { diagnoseSessionOn } from "../../../src/storage/files/repair/diagnose.js";
import { salvageSessionOn } from "../../../src/storage/files/repair/salvage.js";
import { sessionOf } from "../../arbitraries/entries.js";
import { exponentOfAsync, growing, maxExponent } from "../../support/growth.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const name = (at: number): string => at.toString(16).padStart(8, "0");
const timestamp = "2025-11-20T23:33:50.805Z";
const custom = (id: string, parentId: string | null): string =>
  encodeEntry({ type: "custom", id, parentId, timestamp, customType: "c" });
const leaf = (id: string, parentId: string): string =>
  encodeEntry({ type: "leaf", id, parentId, timestamp, targetId: parentId } as SessionEntry);
const bad = (line: string): string => line.replace('"customType"', '"customType\u0001');

/** Lines for which somebody has to look for a place. */
const sources: readonly (readonly [string, (at: number, size: number) => string, string?])[] = [
  ["orphans of a parent each", (at) => custom(name(at), `gone ${at}`)],
  ["orphans of one parent", (at) => custom(name(at), "gone")],
  [
    "orphans, each in front of its children",
    (at, size) => custom(name(size - at), at % 2 === 0 ? name(size - at - 1) : `gone ${at}`),
  ],
  ["a circle of all", (at, size) => custom(name(at), name((at + 1) % size))],
  [
    "leaf entries behind leaf entries, and orphans",
    (at, size) => leaf(name(at), at < size / 2 ? name(at - 1) : `gone ${at}`),
  ],
  ["one id again and again", () => custom("a", null)],
  ["one id again and again, of a damaged line", (at) => (at === 0 ? bad : String)(custom("a", null))],
  [
    "damaged lines with whole copies",
    (at, size) => (at < size / 2 ? bad(custom(name(at), null)) : custom(name(at - size / 2), null)),
  ],
  ["damaged lines", (at) => bad(custom(name(at), name(at - 1)))],
  ["lines that are none", () => "{"],
  ["lines that were all joined", (at) => custom(name(at), name(at - 1)), ""],
  ["beginnings of headers in one line", () => '{"type":"session",]'.repeat(20), ""],
];

/** A disk with a file of so many lines. */
function diskWith(size: number, line: (at: number, size: number) => string, between: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  const lines = Array.from({ length: size }, (_, at) => line(at, size));
  disk.put("/s/from.jsonl", `${sessionOf([]).lines[0]}\n${lines.join(between)}\n`);
  return disk;
}

describe("takes time in proportion to", () => {
  test.each(sources.map(([name, line, between = "\n"]) => ({ name, line, between })))(
    "$name",
    async ({ line, between }) => {
      const exponent = await exponentOfAsync(
        growing(1000),
        (size) => diskWith(size, line, between),
        async (disk) => {
          await diagnoseSessionOn(disk, "/s/from.jsonl");
          await salvageSessionOn(disk, "/s/from.jsonl", { to: "/s/to.jsonl" });
          disk.unlink("/s/to.jsonl");
        },
      );
      expect(exponent).toBeLessThan(maxExponent);
    },
  );
});
