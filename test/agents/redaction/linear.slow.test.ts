import { commonSecrets, secretRedaction } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { exponentOf, growing, maxExponent } from "../../support/growth.js";

const redact = secretRedaction([...commonSecrets, "home-directory"]);
const token = `ghp_${"a1".repeat(18)}`;

describe("secretRedaction takes time in proportion to", () => {
  const texts: readonly (readonly [string, number, (size: number) => string])[] = [
    ["prose", 100_000, (size) => "The build failed, again. ".repeat(size / 25)],
    ["tokens", 20_000, (size) => `${token} `.repeat(size / 41)],
    ["escapes", 100_000, (size) => '\\n\\"'.repeat(size / 4)],
    ["percent-encoding", 100_000, (size) => "%25%".repeat(size / 4)],
    ["references of references", 20_000, (size) => `&${"amp;".repeat(size / 4)}`],
    ["sequences of a terminal", 100_000, (size) => "\u001b[0;1m \u001b".repeat(size / 8)],
    ["sequences within sequences", 20_000, (size) => "\u001b".repeat(size / 4) + "[m".repeat(size / 4)],
    ["hexadecimal digits", 50_000, (size) => "6768705f".repeat(size / 8)],
    ["one run of base64", 100_000, (size) => "QUJDREVG".repeat(size / 8)],
    ["base64 of text", 50_000, (size) => Buffer.from(`a ${token}`.repeat(size / 42)).toString("base64")],
    ["wrapped base64", 100_000, (size) => `${"QUJD".repeat(19)}\n`.repeat(size / 77)],
    ...[
      "-----BEGIN PRIVATE KEY-----",
      "eyJ",
      "eyJhbGciOiJIUzI1NiJ9.",
      "://a:",
      "secret",
      "password=a1",
      "sk-",
      "/home/",
    ].map((piece) => [`"${piece}"`, 50_000, (size: number) => piece.repeat(size / piece.length)] as const),
  ];

  it.each(texts)("%s", (_, size, make) => {
    expect(exponentOf(growing(size), make, redact)).toBeLessThan(maxExponent);
  });
});
