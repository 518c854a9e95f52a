import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forkTitle } from "../../src/session/names.js";

describe("forkTitle", () => {
  it("numbers a title's forks from 1", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 20 }), (title, count) => {
        fc.pre(!/ \(fork #\d{1,9}\)$/.test(title));
        let forked = title;
        for (let i = 0; i < count; i++) forked = forkTitle(forked);
        expect(forked).toBe(`${title} (fork #${count})`);
      }),
    );
  });

  it.each([
    ["A title", "A title (fork #1)"],
    ["A title (fork #1)", "A title (fork #2)"],
    ["A title (fork #9)", "A title (fork #10)"],
    ["two\nlines (fork #3)", "two\nlines (fork #4)"],
    ["A (fork #2) title", "A (fork #2) title (fork #1)"],
    ["A title(fork #2)", "A title(fork #2) (fork #1)"],
    ["A title (fork #x)", "A title (fork #x) (fork #1)"],
    ["A title (fork #99999999999999999999)", "A title (fork #99999999999999999999) (fork #1)"],
    ["", " (fork #1)"],
    [" (fork #1)", " (fork #2)"],
  ])("makes of %j %j", (title, forked) => {
    expect(forkTitle(title)).toBe(forked);
  });
});
