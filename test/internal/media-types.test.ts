import { expect, test } from "vitest";
import { essenceOf, namedTypes, typeOf, typeOfExtension } from "../../src/internal/media-types.js";

test("each type and each extension stands once, and leads to its row", () => {
  for (const type of namedTypes) {
    expect(typeOf(type.mediaType)).toBe(type);
    for (const extension of type.extensions) {
      expect(extension).toMatch(/^[a-z0-9]{1,8}$/);
      expect(typeOfExtension(extension.toUpperCase())).toBe(type);
    }
  }
});

test.each([
  [" IMAGE/PNG ", "image/png"],
  ["text/plain; charset=UTF-8", "text/plain"],
  ["image/jpg", "image/jpeg"],
  ["", ""],
])("the essence of %j is %j", (mediaType, essence) => {
  expect(essenceOf(mediaType)).toBe(essence);
});

test("names of what every object has are no types", () => {
  expect([typeOf("constructor"), typeOfExtension("__proto__")]).toEqual([undefined, undefined]);
});
