import { crc32 } from "node:zlib";
import fc from "fast-check";
import type { CallIdRule } from "sessile";
import { describe, expect, test } from "vitest";
import { CallIds } from "../../src/providers/internal.js";
import { text } from "../arbitraries/values.js";

const rules: readonly (readonly [string, CallIdRule | undefined])[] = [
  ["the default", undefined],
  ["OpenAI's", { character: /[A-Za-z0-9_-]/, maxLength: 64, of: (id) => id.split("|")[0] ?? "" }],
  ["Mistral's, letters and digits alone", { character: /[A-Za-z0-9]/, maxLength: 9 }],
  ["Mistral's API's, exactly nine", { character: /[A-Za-z0-9]/, minLength: 9, maxLength: 9 }],
  ["digits alone", { character: /\d/g, maxLength: 12 }],
  ["capitals alone, by a sticky pattern", { character: /[A-Z]/y, maxLength: 10 }],
  ["two letters alone", { character: /[ab]/i, maxLength: 40 }],
  ["all but a bar", { character: /[^|]/, maxLength: 20 }],
  ["all but a bar, by code points", { character: /[^|]/u, maxLength: 20 }],
];

const common = fc.constantFrom(
  "c",
  "call_1",
  "c_2",
  "call_1|fc_1",
  "call_1|undefined",
  "__proto__",
  "constructor",
  "",
);
const stored = fc.oneof(
  common,
  text,
  fc.string({ unit: fc.constantFrom("a", "|", "é", "😀", "\ud83d", "_", "1"), maxLength: 30 }),
  fc.constantFrom("x".repeat(64), "x".repeat(65), `${"x".repeat(63)}é`, "😀".repeat(10)),
);
const idsFor = (rule: CallIdRule | undefined, all: readonly string[]) => {
  const ids = new CallIds(rule);
  return all.map((id) => ids.idFor(id));
};

describe.each(rules)("CallIds by %s rule", (_, rule) => {
  const { character = /[A-Za-z0-9_-]/, maxLength = 64, minLength = 1, of = (id: string) => id } = rule ?? {};
  const allowed = new RegExp(`^(?:${character.source})+$`, character.flags.replace(/[gy]/g, ""));

  test("gives ids that are allowed, each once, and by what stands before alone", () => {
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 30 }), fc.nat({ max: 30 }), (all, cut) => {
        const ids = idsFor(rule, all);
        for (const id of ids) {
          expect(id).toMatch(allowed);
          expect(id.length).toBeLessThanOrEqual(maxLength);
          expect(id.length).toBeGreaterThanOrEqual(minLength);
          expect(id.isWellFormed()).toBe(true);
        }
        expect(new Set(ids).size).toBe(ids.length);
        expect(idsFor(rule, all.slice(0, cut))).toEqual(ids.slice(0, cut));
      }),
      { numRuns: 300 },
    );
  });

  test("keeps the first id of its kind where it is allowed, and always gives it the same", () => {
    fc.assert(
      fc.property(stored, (id) => {
        const own = of(id);
        const [first] = idsFor(rule, [id]);
        if (allowed.test(own) && own.length <= maxLength && own.length >= minLength && own.isWellFormed())
          expect(first).toBe(own);
        expect(idsFor(rule, [id])).toEqual([first]);
      }),
    );
  });

  test("has each reason why an id is another, and none that does not apply", () => {
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 12 }), (all) => {
        const ids = new CallIds(rule);
        for (const id of all) {
          const made = ids.idFor(id);
          if (made === id || ids.isWithin(id, made)) continue;
          const own = of(id);
          const why = ids.differenceReason(id, made);
          const isSpelt = own === "" || (allowed.test(own) && own.isWellFormed());
          const fits = isSpelt && own.length <= maxLength && own.length >= minLength && own !== "";
          expect(why).not.toBe("");
          expect(why.includes("characters that the target does not take")).toBe(!isSpelt);
          expect(why.includes("longer than the target's")).toBe(own.length > maxLength);
          expect(why.includes("shorter than the target's")).toBe(own !== "" && own.length < minLength);
          expect(why.includes("it is empty")).toBe(own === "");
          if (fits) expect(why).toBe("an earlier call of the request has it");
        }
      }),
      { numRuns: 300 },
    );
  });

  test("finds a free one among very many", () => {
    const ids = idsFor(
      rule,
      Array.from({ length: 3000 }, () => "a".repeat(maxLength)),
    );
    expect(new Set(ids).size).toBe(3000);
  });
});

describe("CallIds", () => {
  test("numbers what comes again, past what is taken", () => {
    expect(idsFor(undefined, ["c", "c_2", "c", "c", "c_2"])).toEqual(["c", "c_2", "c_3", "c_4", "c_2_2"]);
  });

  test("tells ids apart that only what is not allowed tells apart", () => {
    const sum = (id: string) => crc32(id).toString(16).padStart(8, "0");
    const expected = [`a_b_${sum("a b")}`, `a_b_${sum("a.b")}`, `a_b_${sum("a b")}_2`];
    expect(idsFor(undefined, ["a b", "a.b", "a b"])).toEqual(expected);
    expect(idsFor(undefined, [""])).toEqual(["_00000000"]);
    expect(idsFor(undefined, ["x".repeat(70)])[0]).toMatch(/^x{55}_[0-9a-f]{8}$/);
  });

  test("knows what of a stored id is the call's own", () => {
    const ids = new CallIds({ character: /\w/, maxLength: 64, of: (id) => id.split("|")[0] ?? "" });
    expect(ids.idFor("call_1|fc_1")).toBe("call_1");
    expect([ids.isWithin("call_1|fc_1", "call_1"), ids.isWithin("call_1|fc_1", "fc_1")]).toEqual([
      true,
      false,
    ]);
    expect(new CallIds().isWithin("a", "a")).toBe(false);
  });

  test.each([8, 0, -1, 1.5, Number.NaN])("takes no rule of at most %s characters", (maxLength) => {
    expect(() => new CallIds({ character: /\w/, maxLength })).toThrow(RangeError);
    expect(() => new CallIds({ character: /\w/, maxLength })).toThrow(
      /callId\.maxLength: expected an integer >= 9/,
    );
  });

  test("takes no rule whose shortest id is longer than its longest", () => {
    expect(() => new CallIds({ character: /\w/, minLength: 10, maxLength: 9 })).toThrow(
      /callId\.minLength: expected at most 9, got 10/,
    );
  });

  test("takes no rule that leaves nothing to tell ids apart by", () => {
    expect(() => new CallIds({ character: /[a]/, maxLength: 64 })).toThrow(/callId\.character: expected/);
    expect(() => new CallIds({ character: /[é]/, maxLength: 64 })).toThrow(RangeError);
  });
});
