import { memoryReferenceCache, type ReferenceKey } from "sessile";
import { describe, expect, test } from "vitest";
import { image } from "../attachments/samples.js";

const key: ReferenceKey = { blob: image(1).blob, provider: "p" };
const file = { kind: "file", id: "f" } as const;

describe("memoryReferenceCache", () => {
  test("keeps what it is given under digest, provider and account together", () => {
    const cache = memoryReferenceCache();
    cache.set(key, file);
    expect(cache.get({ ...key })).toBe(file);
    const others: readonly ReferenceKey[] = [
      { ...key, blob: image(2).blob },
      { ...key, provider: "q" },
      { ...key, account: "a" },
      { ...key, account: "" },
      { ...key, account: "null" },
    ];
    for (const other of others) expect(cache.get(other)).toBe(undefined);
  });

  test("keys that only run into each other are different", () => {
    const cache = memoryReferenceCache();
    cache.set({ ...key, provider: 'p",null' }, file);
    expect(cache.get({ ...key, provider: "p", account: "null" })).toBe(undefined);
    cache.set({ ...key, provider: "__proto__" }, file);
    expect(cache.get({ ...key, provider: "__proto__" })).toBe(file);
  });

  test("the last one counts, and one that is gone is gone", () => {
    const cache = memoryReferenceCache();
    cache.set(key, file);
    cache.set(key, { ...file, id: "g" });
    expect(cache.get(key)).toEqual({ ...file, id: "g" });
    expect([cache.delete(key), cache.delete(key), cache.get(key)]).toEqual([true, false, undefined]);
  });

  test("does not look at the time", () => {
    const cache = memoryReferenceCache();
    cache.set(key, { ...file, expiresAt: 0 });
    expect(cache.get(key)).toEqual({ ...file, expiresAt: 0 });
  });
});
