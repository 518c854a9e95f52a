import fc from "fast-check";
import { expect, it } from "vitest";
import { isName } from "../../../src/core/ids.js";
import { isHashedName, joinedName, keyOfName, nameByKey } from "../../../src/frameworks/shared/handles.js";
import { text } from "../../arbitraries/values.js";

/** Keys as frameworks have them, and keys that look like names. */
const key = fc.oneof(
  text,
  fc.uuid(),
  fc.webPath(),
  fc.constantFrom(
    "",
    "-Users-me-project",
    "x.a",
    "k.a",
    "x._41",
    "a.",
    "-",
    "A",
    "a",
    "ab_",
    "user:1/thread:2",
  ),
  fc.string({ unit: fc.constantFrom(..."abAB01._-%xk"), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom(..."aA."), minLength: 95, maxLength: 125 }),
  text.map(nameByKey),
);

it("gives names that are safe in file names, also if case is ignored", () => {
  fc.assert(
    fc.property(key, (any) => {
      const name = nameByKey(any);
      expect(isName(name)).toBe(true);
      expect(name).toBe(name.toLowerCase());
      expect(name.length).toBeLessThanOrEqual(120);
    }),
    { numRuns: 1000 },
  );
});

it("gives three thousand keys three thousand names, and the keys back", () => {
  const keys = new Set(fc.sample(key, { numRuns: 3000, seed: 19 }));
  const names = new Map<string, string>();
  for (const each of keys) {
    const name = nameByKey(each);
    expect(names.get(name)).toBeUndefined();
    names.set(name, each);
    expect(keyOfName(name)).toBe(isHashedName(name) ? undefined : each);
  }
  expect(names.size).toBe(keys.size);
});

it.each([
  ["thread-1", "thread-1"],
  ["a".repeat(100), "a".repeat(100)],
  ["a".repeat(101), `x.${"a".repeat(101)}`],
  ["Ab", "x._41b"],
  ["-Users-me", "x.-_55sers-me"],
  ["a.", "x.a_2e"],
  ["x.y", "x.x.y"],
  ["user/1", "x.user_2f1"],
])("the name of %s is %s", (from, name) => {
  expect(nameByKey(from)).toBe(name);
});

it("hashes long, empty and ill-formed keys, and keys together", () => {
  const hashed = ["", "\ud800", "\ud801", "Ä".repeat(60), JSON.stringify("\ud800"), '"\\ud800"'];
  const names = [
    ...hashed.map(nameByKey),
    joinedName(""),
    joinedName("", ""),
    joinedName("a", "b"),
    joinedName("ab"),
  ];
  expect(new Set(names).size).toBe(new Set(hashed).size + 4);
  for (const each of ["", "\ud800", "Ä".repeat(60)]) expect(isHashedName(nameByKey(each))).toBe(true);
});

it.each(["x.", "x._4", "x._zz", "x.a", "x._41_", "K.A", "Upper", "a_b", "x._c3", "k.00"])(
  "%s is the name of no key",
  (name) => {
    expect(keyOfName(name)).toBeUndefined();
  },
);
