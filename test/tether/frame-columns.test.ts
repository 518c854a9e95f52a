import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameColumns } from "../../src/tether/frame-columns.js";
import { frameOf, numbered } from "./frames.js";

describe("FrameColumns", () => {
  test("is an array whose ends move, at any size, with any gaps", () => {
    const step = fc.record({
      pushes: fc.nat({ max: 90 }),
      gap: fc.integer({ min: 1, max: 3 }),
      shifts: fc.nat({ max: 90 }),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.array(step), (expected, steps) => {
        const columns = new FrameColumns(expected);
        const naive: { seq: number; bytes: number }[] = [];
        let seq = 0;
        for (const { pushes, gap, shifts } of steps) {
          for (let i = 0; i < pushes; i++) {
            seq += gap;
            columns.push(frameOf(seq), seq, seq * 7);
            naive.push({ seq, bytes: seq * 7 });
          }
          for (let i = 0; i < shifts && naive.length > 0; i++) {
            expect(columns.shift()).toBe(naive.shift()?.bytes);
          }
          expect(columns.length).toBe(naive.length);
          for (const [place, row] of naive.entries()) {
            expect(columns.seqAt(place)).toBe(row.seq);
            expect(columns.bytesAt(place)).toBe(row.bytes);
            expect(columns.frameAt(place).payload).toBe(row.seq);
          }
          for (const after of [0, seq, seq + 1, naive[0]?.seq ?? 0, naive[5]?.seq ?? 0, seq - 4]) {
            const place = naive.findIndex((row) => row.seq > after);
            expect(columns.placeAfter(after)).toBe(place < 0 ? naive.length : place);
          }
        }
      }),
    );
  });

  test("gives a frame its number when it is read, once, and leaves the frame that came as it was", () => {
    const columns = new FrameColumns(4);
    const frame = frameOf({ text: "a" });
    const numberedBefore = numbered(9);
    columns.push(frame, 7, 1);
    columns.push(numbered(3), 8, 1);
    columns.push(numberedBefore, 9, 1);
    expect(columns.sequencedAt(0)).toEqual({ ...frame, seq: 7 });
    expect(columns.sequencedAt(0)).toBe(columns.sequencedAt(0));
    expect(frame).not.toHaveProperty("seq");
    expect(columns.sequencedAt(1)).toEqual(numbered(8));
    expect(columns.sequencedAt(2)).toBe(numberedBefore);
  });
});
