import fc from "fast-check";
import { expect, it } from "vitest";
import { uploadName } from "../../../../examples/apps/turn-endpoint/upload-name.js";

// Halves of pairs too.
const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const character = fc.oneof(anyCharacter, fc.constantFrom(..."./\\ \r\n\0:a"));

it("is a name on any file system, whatever was given", () => {
  fc.assert(
    fc.property(fc.array(character, { maxLength: 200 }), (characters) => {
      const given = characters.join("");
      const name = uploadName(given);
      const isPlain = !/[/\\\p{Cc}]/u.test(name) && !/^\.*$/.test(name) && name.isWellFormed();
      return isPlain && Buffer.byteLength(name) <= 200 && uploadName(name) === name;
    }),
    { numRuns: 1000 },
  );
});

it.each([
  ["screen.png", "screen.png"],
  ["../../etc/pass\r\nwd.png", "pass_wd.png"],
  ["C:\\Users\\me\\a.pdf", "a.pdf"],
  ["", "unnamed"],
  ["...", "unnamed"],
  ["a/", "unnamed"],
  ["e\u0301.png", "é.png"],
  [`${"ü".repeat(300)}.png`, `${"ü".repeat(60)}.png`],
  // No half of a pair is left, and no white space at the end.
  [`a.${"𐀀".repeat(6)}`, `a.${"𐀀".repeat(4)}`],
  [`a.${"b".repeat(18)} c`, `a.${"b".repeat(18)}`],
  [`${"a".repeat(119)} b`, "a".repeat(119)],
])("of %j is %j", (given, name) => {
  expect(uploadName(given)).toBe(name);
});
