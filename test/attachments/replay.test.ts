import { replayAlways, replayCurrentTurn, replayNever, replayWithin } from "sessile/attachments";
import type { ReplayPlace } from "sessile/content";
import { describe, expect, test } from "vitest";
import { image } from "./samples.js";

const place = (more: Partial<ReplayPlace> = {}): ReplayPlace => ({
  entryId: "e",
  item: 0,
  currentTurn: false,
  viewed: false,
  newer: { count: 0, bytes: 0 },
  ...more,
});
const newer = (count: number, bytes: number) => place({ newer: { count, bytes } });

describe("replay policies", () => {
  test("of the current turn: what is attached or viewed in it", () => {
    expect(replayCurrentTurn(image(1), place())).toBe("describe");
    expect(replayCurrentTurn(image(1), place({ currentTurn: true }))).toBe("full");
    expect(replayCurrentTurn(image(1), place({ viewed: true }))).toBe("full");
  });

  test("always and never", () => {
    expect(replayAlways(image(1), place())).toBe("full");
    expect(replayNever(image(1), place({ currentTurn: true, viewed: true }))).toBe("describe");
  });

  test("within a budget: the newest that fit with all that is newer, and the turn's own in any case", () => {
    const replay = replayWithin({ maxBytes: 250, maxCount: 2 });
    expect(replay(image(1), newer(1, 150))).toBe("full");
    expect(replay(image(1), newer(1, 151))).toBe("describe");
    expect(replay(image(1), newer(2, 0))).toBe("describe");
    expect(replay(image(1), { ...newer(9, 9000), currentTurn: true })).toBe("full");
    expect(replayWithin({})(image(1), newer(99, 99_999))).toBe("full");
    expect(replayWithin({ maxCount: 0 })(image(1), place())).toBe("describe");
    expect(() => replayWithin({ maxBytes: -1 })).toThrow(RangeError);
    expect(() => replayWithin({ maxCount: 0.5 })).toThrow(RangeError);
  });
});
