import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { notedIds } from "../../src/attachments/boundary.js";
import { coveredTag, filterNotes, withoutInvitation } from "../../src/attachments/internal.js";
import { resourceNotes } from "../../src/compaction/boundary.js";
import {
  knownMediaTypes,
  mediaTypeEssence,
  mediaTypeInfo,
  mediaTypeInfoOfExtension,
} from "../../src/core/media-types.js";

describe("media types", () => {
  test("each type and each extension stands once, and leads to its row", () => {
    for (const type of knownMediaTypes) {
      expect(mediaTypeInfo(type.mediaType)).toBe(type);
      for (const extension of type.extensions) {
        expect(extension).toMatch(/^[a-z0-9]{1,8}$/);
        expect(mediaTypeInfoOfExtension(extension.toUpperCase())).toBe(type);
      }
    }
  });

  test.each([
    [" IMAGE/PNG ", "image/png"],
    ["text/plain; charset=UTF-8", "text/plain"],
    ["image/jpg", "image/jpeg"],
    ["", ""],
  ])("the essence of %j is %j", (mediaType, essence) => {
    expect(mediaTypeEssence(mediaType)).toBe(essence);
  });

  test("names of what every object has are no types", () => {
    expect([mediaTypeInfo("constructor"), mediaTypeInfoOfExtension("__proto__")]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("covered resources", () => {
  const idOf = (number: number) => `res_${String(number).padStart(16, "0")}`;
  const note = (number: number) =>
    ({ resourceId: idOf(number), kind: "image", name: `${number}.png`, mediaType: "image/png" }) as const;
  const prose = fc
    .array(fc.constantFrom("a", "\n", "- ", "\n\n", `${idOf(1)}`, "<", "</x>", " "), { maxLength: 6 })
    .map((pieces) => pieces.join(""));
  const numbers = fc.uniqueArray(fc.nat({ max: 6 }), { maxLength: 5 });

  describe("notes in a summary", () => {
    test("are those that are kept, as if no other had been noted, in each of several blocks", () => {
      fc.assert(
        fc.property(prose, numbers, prose, numbers, numbers, (before, first, between, second, kept) => {
          const isKept = (id: string) => kept.some((number) => idOf(number) === id);
          const left = (list: readonly number[]) => list.filter((number) => kept.includes(number));
          const text = (one: readonly number[], other: readonly number[]) => {
            const blocks = [one, other].map((list) => resourceNotes(list.map(note)));
            return `${before}\n\n${blocks[0]}\n\n${between}x\n\n${blocks[1]}`;
          };
          const whole = text(first, second);
          const shown = filterNotes(whole, isKept);
          expect(notedIds(whole)).toEqual([...new Set([...first, ...second])].map(idOf));
          expect(notedIds(shown)).toEqual([...new Set([...left(first), ...left(second)])].map(idOf));
          const bare = (of: string) => of.replace(/\s+/g, " ").trim();
          expect(bare(shown)).toBe(bare(text(left(first), left(second))));
          expect(filterNotes(whole, () => true)).toBe(whole);
        }),
      );
    });

    test("invite to nothing in an older summary either, and no word outside of their block changes", () => {
      const older = "Ask to view one again, by its id, before relying on details:";
      const newer = "These are their ids:";
      fc.assert(
        fc.property(prose, numbers, prose, numbers, (before, first, between, second) => {
          const texts = [first, second].map((list) => resourceNotes(list.map(note)));
          const said = `${before} ${older}\n\n`;
          const whole = `${said}${texts[0]}\n\n${between} ${older}\n\n${texts[1]}\n${older}`;
          const old = texts.map((text) => text.replace(newer, older));
          const stored = `${said}${old[0]}\n\n${between} ${older}\n\n${old[1]}\n${older}`;
          expect(withoutInvitation(stored)).toBe(whole);
          expect(withoutInvitation(whole)).toBe(whole);
        }),
      );
    });

    test("of many, say still that there are older ones", () => {
      const block = resourceNotes([1, 2, 3].map(note), { maxResources: 2 });
      expect(filterNotes(block, () => false)).toContain(
        "- 1 older ones, not listed here\n</covered-resources>",
      );
    });

    test("are found where nothing closes the block, with the lines that belong to them", () => {
      const open = `Done.\n\n<${coveredTag}>\nwords\n- ${idOf(1)}, image a\n  seen: a cat\n- ${idOf(2)}, image b\n  seen: a dog`;
      expect(filterNotes(open, (id) => id === idOf(2))).toBe(
        `Done.\n\n<${coveredTag}>\nwords\n- ${idOf(2)}, image b\n  seen: a dog`,
      );
      expect(filterNotes(open, () => false)).toBe("Done.");
      expect(filterNotes(`<${coveredTag}>\n- an image without an id\n</${coveredTag}>`, () => true)).toBe("");
    });
  });
});
