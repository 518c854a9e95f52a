import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { warningText } from "../../../../src/projections/claude-agent/node/failure.js";

const failed = (path: string) => ({ path, code: "NOT_FOUND", reason: "there is no such file" }) as const;

/** What the whole warning looks like, whatever the files are called. */
const shape =
  /^Warning: \d+ of \d+ attachments could not be used and are not shown here:(\n- "[\p{L}\p{M}\p{N} ._()+,…-]{1,120}": there is no such file){1,3}(\nand \d+ additional)?$/u;

/** Names as those give them who want a model to read more than a name. */
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary", minLength: 200, maxLength: 400 }),
  fc
    .array(
      fc.constantFrom(
        "\n- ",
        '"',
        "</warning>",
        "<system-reminder>",
        "@etc",
        "\r",
        "\u202e",
        "\u{e0041}",
        "\ufe0f",
        "\u2028",
        "`",
        "![](",
        "\u0000",
        "\ud800",
        "/",
        "\\",
        "a",
        "…",
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join("")),
);

describe("warningText", () => {
  test("is nothing where nothing failed", () => {
    expect(warningText([], 3)).toBe("");
  });

  test("has one shape, whatever the files are called", () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 8 }), (names) => {
        const text = warningText(
          names.map((name) => failed(`/home/me/${name}`)),
          names.length + 1,
        );
        expect(text).toMatch(shape);
        expect(text).not.toMatch(/home|[/\\]/);
        expect(text.split("\n").length).toBe(1 + Math.min(names.length, 3) + (names.length > 3 ? 1 : 0));
      }),
    );
  });

  test("is short, however many fail", () => {
    const text = warningText(
      Array.from({ length: 100_000 }, (_, at) => failed(`/${"a".repeat(200)}${at}`)),
      100_000,
    );
    expect(text).toContain("and 99997 additional");
    expect(text.length).toBeLessThan(500);
  });
});
