import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LossList } from "../../src/providers/losses.js";

describe("LossList", () => {
  test("gives losses by item, then by block, and else in the order of their finding", () => {
    const origins = fc.array(
      fc.record({ item: fc.nat({ max: 3 }), block: fc.option(fc.nat({ max: 2 }), { nil: undefined }) }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(origins, (all) => {
        const losses = new LossList();
        all.forEach(({ item, block }, at) => {
          const origin = { entryId: `m${item}`, item, ...(block === undefined ? {} : { block }) };
          losses.add(origin, { code: "moved", by: "target", reason: String(at) });
        });
        const expected = all
          .map((origin, at) => ({ ...origin, at }))
          .toSorted((a, b) => a.item - b.item || (a.block ?? 0) - (b.block ?? 0) || a.at - b.at);
        const found = losses.inOrder();
        expect(found.map(({ reason }) => Number(reason))).toEqual(expected.map(({ at }) => at));
        expect(found.map(({ block }) => block)).toEqual(expected.map(({ block }) => block));
      }),
    );
  });

  test("is JSON-safe, and has no member for what it does not know", () => {
    const losses = new LossList();
    losses.add({ entryId: "e", item: 0 }, { code: "opaque", by: "target", reason: "r" });
    expect(losses.inOrder()).toStrictEqual([{ code: "opaque", by: "target", entryId: "e", reason: "r" }]);
  });

  test("takes back what was found of items that are not sent", () => {
    const losses = new LossList();
    for (const item of [0, 1, 2]) {
      losses.add({ entryId: `m${item}`, item }, { code: "opaque", by: "target", reason: "r" });
    }
    losses.forget((item) => item !== 1);
    expect(losses.inOrder().map(({ entryId }) => entryId)).toEqual(["m1"]);
  });

  test("takes back what holds no longer, of one place alone", () => {
    const losses = new LossList();
    for (const block of [0, 1]) {
      for (const code of ["resized", "moved"] as const) {
        losses.add({ entryId: "m0", item: 0, block }, { code, by: "target", reason: "r" });
      }
    }
    losses.takeBack({ entryId: "m0", item: 0, block: 1 }, ["resized", "asText"]);
    const left = losses.inOrder().map(({ code, block }) => `${code} ${block}`);
    expect(left).toEqual(["resized 0", "moved 0", "moved 1"]);
  });
});
