import { describe, expect, test } from "vitest";
import { parseXml } from "../../src/storage/objects/s3/xml.js";
import { exponentOf, maxExponent } from "../support/growth.js";

const sizes = [2 ** 14, 2 ** 16, 2 ** 18];

describe("parseXml takes time in proportion to a reply", () => {
  test.each<[string, (size: number) => string]>([
    ["with many elements", (size) => `<a>${"<b>x</b>".repeat(size / 8)}</a>`],
    ["with a long text", (size) => `<a>${"x &amp; ".repeat(size / 8)}</a>`],
    ["of blanks in a tag", (size) => `<a${" ".repeat(size)}b`],
    ["of attributes without an end", (size) => `<a${' b="c"'.repeat(size / 6)}`],
    ["of a name without an end", (size) => `<a ${"b".repeat(size)}`],
    ["of blanks", (size) => `${" ".repeat(size)}x`],
    ["of ampersands", (size) => `<a>${"&amp".repeat(size / 4)}</a>`],
  ])("%s", (_, make) => {
    expect(exponentOf(sizes, make, parseXml)).toBeLessThan(maxExponent);
  });
});
