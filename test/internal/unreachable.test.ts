import { expect, test } from "vitest";
import { unreachable } from "../../src/internal/arguments.js";

test("unreachable names what came past the types", () => {
  expect(() => unreachable({ kind: "new" } as never)).toThrow(new TypeError('unexpected value: "new"'));
  expect(() => unreachable("new" as never)).toThrow(new TypeError('unexpected value: "new"'));
  expect(() => unreachable(null as never)).toThrow(new TypeError("unexpected value: null"));
});
