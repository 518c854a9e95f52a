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
        const name = nameFrom(`x${part.repeat(times).slice(0, 8000)}.jpg`);
        expect(Array.from(name ?? "").length).toBeLessThanOrEqual(255);
        expect(name?.isWellFormed()).toBe(true);
        expect(name?.endsWith(".jpg")).toBe(true);
      }),
    );
  });
});
