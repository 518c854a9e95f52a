import { describe, expect, test } from "vitest";
import { SessileError } from "../../src/errors/index.js";
import { errnoOf, storageError } from "../../src/internal/node/file-system.js";

describe("storageError", () => {
  test("keeps the system's code, and leaves what is no system error alone", () => {
    const cause = Object.assign(new Error("no space"), { code: "ENOSPC" });
    expect(errnoOf(cause)).toBe("ENOSPC");
    const error = storageError("append to", "/a", cause);
    expect(error).toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: "append to", path: "/a", errno: "ENOSPC" },
      cause,
    });
    const known = new SessileError("SESSION_NOT_FOUND", "gone", { details: { id: "a" } });
    for (const other of [
      known,
      new TypeError("x"),
      Object.assign(new Error(""), { code: "ERR_X" }),
      "text",
      null,
    ]) {
      expect(storageError("read", "/a", other)).toBe(other);
    }
    expect(errnoOf(null)).toBeUndefined();
    expect(errnoOf({ code: 5 })).toBeUndefined();
  });

  test.each([
    [-122, "EDQUOT"],
    [-116, "ESTALE"],
    [-117, "EUCLEAN"],
    [-4095, "ERRNO_4095"],
  ])("gives a code to the number %d, for which Node has no name", (errno, name) => {
    for (const code of [`Unknown system error ${errno}`, "UNKNOWN", undefined]) {
      const cause = Object.assign(new Error("unknown"), { errno, ...(code === undefined ? {} : { code }) });
      expect(storageError("append to", "/a", cause)).toMatchObject({
        code: "STORAGE_FAILED",
        message: `append to /a: ${name}`,
        details: { errno: name },
      });
    }
  });
});
