import { describe, expect, test } from "vitest";
import { newResourceId, resourceIdFrom } from "../../src/attachments/ids.js";

describe("newResourceId", () => {
  test("gives res_ and 16 hexadecimal digits, another each time", () => {
    const ids = Array.from({ length: 1000 }, newResourceId);
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^res_[0-9a-f]{16}$/);
  });
});

describe("resourceIdFrom", () => {
  test("takes ids of a caller's own that have the form", () => {
    expect(resourceIdFrom(() => "res_00000000000000ab")).toBe("res_00000000000000ab");
    expect(resourceIdFrom(undefined)).toMatch(/^res_/);
    for (const id of ["", "res_1", "res_00000000000000AB", "x res_0123456789abcdef", 5]) {
      expect(() => resourceIdFrom(() => id as string)).toThrow(TypeError);
    }
  });
});
