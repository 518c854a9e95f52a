import fc from "fast-check";
import { expect, it } from "vitest";
import { uploadName } from "../../../../examples/support/turn/upload-name.js";

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
])("of %j is %j", (given, name) => {
  expect(uploadName(given)).toBe(name);
});
