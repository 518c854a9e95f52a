import fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson } from "../../src/internal/json.js";

test("gives an equal value that shares nothing", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = copyJson(value);
      expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
      for (const [mine, theirs] of Object.entries(copy ?? {}).map(([name, field]) => [
        field,
        (value as Record<string, unknown>)[name],
      ])) {
        if (typeof mine === "object" && mine !== null) expect(mine).not.toBe(theirs);
      }
    }),
  );
});

test("keeps an own member named __proto__, and leaves prototypes alone", () => {
  const copy = copyJson(JSON.parse('{"__proto__": {"a": [1]}}'));
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":[1]}}');
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
});

test("leaves out what JSON does not have", () => {
  expect(copyJson({ a: undefined, b: () => 1, c: [undefined, Number.NaN], d: 1n })).toEqual({
    c: [null, null],
    d: null,
  });
});
