import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameColumns } from "../../src/tether/frame-columns.js";
import { frameOf, numbered } from "./frames.js";

describe("FrameColumns", () => {
  test("is an array whose ends move, at any size, with gaps among what was restored", () => {
    const step = fc.record({ pushes: fc.nat({ max: 90 }), shifts: fc.nat({ max: 90 }) });
    const gaps = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), gaps, fc.array(step), (expected, gaps, steps) => {
        const columns = new FrameColumns(expected);
        const naive: number[] = [];
        let seq = 0;
        for (const gap of gaps) {
          seq += gap;
          columns.restore(numbered(seq, seq), seq * 7);
          naive.push(seq);
        }
        for (const { pushes, shifts } of steps) {
          for (let i = 0; i < pushes; i++) {
            seq++;
            columns.push(frameOf(seq), seq * 7);
            naive.push(seq);
          }
          for (let i = 0; i < shifts && naive.length > 0; i++) {
            expect(columns.shift()).toBe((naive.shift() as number) * 7);
          }
          expect(columns.lastSeq).toBe(seq);
          const places = Array.from({ length: columns.length }, (_, place) => place);
          expect(places.map((place) => columns.seqAt(place))).toEqual(naive);
          expect(places.map((place) => columns.bytesAt(place))).toEqual(naive.map((number) => number * 7));
          expect(places.map((place) => columns.frameAt(place).payload)).toEqual(naive);
          for (const after of [0, seq, seq + 1, naive[0] ?? 0, naive[5] ?? 0, seq - 4]) {
            const place = naive.findIndex((number) => number > after);
            expect(columns.placeAfter(after)).toBe(place < 0 ? naive.length : place);
          }
        }
      }),
    );
  });

  test("gives a frame its number when it is read, once, and leaves the frame that came as it was", () => {
    const columns = new FrameColumns(4);
    const restored = numbered(6);
    const frame = frameOf({ text: "a" });
    columns.restore(restored, 1);
    columns.push(frame, 1);
    columns.push(numbered(3), 1);
    expect(columns.sequencedAt(0)).toBe(restored);
    expect(columns.sequencedAt(1)).toEqual({ ...frame, seq: 7 });
    expect(columns.sequencedAt(1)).toBe(columns.sequencedAt(1));
    expect(frame).not.toHaveProperty("seq");
    expect(columns.sequencedAt(2)).toEqual(numbered(8));
  });
});
