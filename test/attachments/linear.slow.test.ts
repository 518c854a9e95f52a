import { assistantMessage, type Context, userMessage } from "sessile";
import { listResources } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { occurrencesIn } from "../../src/attachments/decide.js";
import { declaredFrom, linkUri, nameFrom, parseDataUrl } from "../../src/attachments/sources.js";
import { decodeBase64 } from "../../src/core/base64.js";
import { pathOfFileUrl, pathRefusal } from "../../src/storage/files/attachments/read-local-file.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";
import { contextWith, image } from "./samples.js";

/** Whatever comes of a text, an error too. */
const attempt = (read: (text: string) => unknown) => (text: string) => {
  try {
    return read(text);
  } catch (error) {
    return error;
  }
};

describe("takes time in proportion to the text:", () => {
  const texts: readonly (readonly [string, number, (size: number) => string, (text: string) => unknown])[] = [
    ["base64", 400_000, (size) => "Zm9v".repeat(size), decodeBase64],
    ["base64 that is none at its end", 400_000, (size) => `${"Zm9v".repeat(size)}!!!!`, decodeBase64],
    [
      "a data URL",
      400_000,
      (size) => `data:;base64,${"Zm9v".repeat(size)}`,
      (url) => parseDataUrl(url)?.decode(),
    ],
    ["a data URL of white space", 400_000, (size) => `data:${" ".repeat(size)}`, parseDataUrl],
    // No longer than it may be before the comma, and so a hundred times over.
    [
      "a media type of white space in a data URL",
      120,
      (size) => `data:${" ".repeat(size)},x`,
      (url) => Array.from({ length: 100 }, () => parseDataUrl(url)),
    ],
    [
      "a media type of white space",
      400_000,
      (size) => " ".repeat(size),
      (mediaType) => declaredFrom({ mediaType }),
    ],
    ["a name of dots", 400_000, (size) => ".".repeat(size), nameFrom],
    ["a name of slashes", 400_000, (size) => "/".repeat(size), nameFrom],
    ["a link of white space", 100_000, (size) => " ".repeat(size), linkUri],
    ["a link of parts that go up", 20_000, (size) => `https://a.example${"/../a".repeat(size)}`, linkUri],
    [
      "a file URL of slashes",
      200_000,
      (size) => `file:${"/".repeat(size)}?`,
      (url) => pathOfFileUrl(url, "posix"),
    ],
    [
      "a file URL of escapes",
      50_000,
      (size) => `file:///${"%41".repeat(size)}`,
      (url) => pathOfFileUrl(url, "posix"),
    ],
    [
      "a path of parts",
      4_000,
      (size) => `C:${"\\aux.".repeat(size).slice(0, -1)}a`,
      (path) => pathRefusal(path, "windows"),
    ],
  ];

  test.each(texts)("%s", (_, first, make, read) => {
    expect(exponentOf(growing(first), make, attempt(read))).toBeLessThan(maxExponent);
  });
});

describe("takes time in proportion to the context:", () => {
  const reply = assistantMessage({ provider: "p", model: "m" }, "ok");
  const history = (size: number, number: (at: number) => number): Context => {
    const messages = Array.from({ length: size }, (_, at) => [
      userMessage("see", image(number(at))),
      reply,
    ]).flat();
    const views = Array.from({ length: size }, (_, at) => ({
      item: at,
      resourceId: image(number(at)).resourceId,
    }));
    return contextWith(messages, views);
  };
  test.each<[string, (at: number) => number]>([
    ["each its own resource", (at) => at],
    ["all the same", () => 1],
  ])("places of resources, %s", (_, number) => {
    const make = (size: number) => history(size, number);
    expect(exponentOf(growing(4000), make, occurrencesIn)).toBeLessThan(maxExponent);
  });

  test("a list of resources", () => {
    const make = (size: number) => Array.from({ length: size }, (_, at) => image(at));
    const list = (resources: ReturnType<typeof make>) => listResources(resources, { maxCharacters: 1000 });
    expect(exponentOf(growing(1000), make, list)).toBeLessThan(maxExponent);
  });
});
