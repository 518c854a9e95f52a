import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { declaredFrom, nameFrom } from "../../src/attachments/declared.js";
import { text } from "../arbitraries/values.js";

describe("declaredFrom", () => {
  test.each([
    [{ mediaType: " IMAGE/PNG " }, { mediaType: "image/png" }],
    [
      { mediaType: "text/plain; charset=utf-8", size: 3 },
      { mediaType: "text/plain", size: 3 },
    ],
    [{ mediaType: "", size: 0 }, { size: 0 }],
    [{ mediaType: null, size: null }, undefined],
    [{ mediaType: 5, size: "5" }, undefined],
    [{ size: -1 }, undefined],
    [{ size: Number.POSITIVE_INFINITY }, undefined],
    [{ size: 1.5 }, undefined],
    [{}, undefined],
  ])("of %j records %j", (claims, expected) => {
    expect(declaredFrom(claims)).toEqual(expected);
  });

  test("is bounded, and says the same of what it has said", () => {
    fc.assert(
      fc.property(text, (mediaType) => {
        const once = declaredFrom({ mediaType });
        expect(once?.mediaType?.length ?? 0).toBeLessThanOrEqual(255);
        expect(declaredFrom(once ?? {})?.mediaType?.trim()).toEqual(once?.mediaType?.trim());
      }),
    );
  });
});

describe("nameFrom", () => {
  test.each([
    ["screen.png", "screen.png"],
    ["/home/me/screen.png", "screen.png"],
    ["C:\\Users\\me\\screen.png", "screen.png"],
    ["../../etc/passwd", "passwd"],
    ["https://u:secret@example.com/a%20b.png?token=secret", "a b.png"],
    [" HTTPS://u:secret@example.com", undefined],
    ["https://example.com/https%3A%2F%2Fu:secret@example.com", undefined],
    ["https://example.com/a%ff", undefined],
    ["redis://u:secret@example.com/0", undefined],
    ["data:text/plain;base64,c2VjcmV0", undefined],
    ["file:///home/me/screen.png", "screen.png"],
    ["see https://example.com/a", undefined],
    ["größe 😀.txt", "größe 😀.txt"],
    ["", undefined],
    ["  ", undefined],
    ["/", undefined],
    [5, undefined],
    [undefined, undefined],
  ])("of %j is %j", (name, expected) => {
    expect(nameFrom(name)).toBe(expected);
  });

  test("is bounded, whole in its characters, and keeps the extension", () => {
    expect(nameFrom(`${"a".repeat(10_000)}.png`)).toMatch(/^a+….png$/);
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 400 }), (part, times) => {
        const given = `x${part.repeat(times).slice(0, 8000)}.jpg`;
        fc.pre(!given.includes("://"));
        const name = nameFrom(given);
        expect(Array.from(name ?? "").length).toBeLessThanOrEqual(255);
        expect(name?.isWellFormed()).toBe(true);
        expect(name?.endsWith(".jpg")).toBe(true);
      }),
    );
  });
});
