import { expect, test } from "vitest";
import {
  essenceOf,
  knownMediaTypes,
  mediaTypeInfo,
  mediaTypeInfoOfExtension,
} from "../../src/internal/media-types.js";

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
  expect(essenceOf(mediaType)).toBe(essence);
});

test("names of what every object has are no types", () => {
  expect([mediaTypeInfo("constructor"), mediaTypeInfoOfExtension("__proto__")]).toEqual([
    undefined,
    undefined,
  ]);
});
