import { type LimitRow, limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";

const rows = Object.entries(limitProfiles).flatMap(([name, profile]) =>
  (profile.rows as readonly LimitRow[]).map((row, index) => ({
    title: `${name}[${index}] ${row.rule}`,
    row,
    transports: profile.transports as readonly string[],
  })),
);
const unitsOf: Readonly<Record<string, readonly string[]>> = {
  imageBytes: ["decodedBytes", "base64Bytes"],
  documentBytes: ["decodedBytes", "base64Bytes"],
  fileBytes: ["decodedBytes", "base64Bytes"],
  imageSide: ["pixels"],
  imageSideSum: ["pixels"],
  imageRatio: ["ratio"],
  imageArea: ["pixels"],
  imageCount: ["count"],
  documentCount: ["count"],
  documentPages: ["pages"],
  bodyBytes: ["bodyBytes"],
  textCharacters: ["characters"],
  imageTypes: ["mediaType"],
  fileTypes: ["mediaType"],
  animation: ["presence"],
  encryption: ["presence"],
};
/** What cannot be added up, or is nothing without its sum. */
const scopesOf: Readonly<Record<string, readonly string[]>> = {
  imageSide: ["item"],
  imageSideSum: ["item"],
  imageRatio: ["item"],
  imageTypes: ["item"],
  fileTypes: ["item"],
  animation: ["item"],
  encryption: ["item"],
  imageCount: ["message", "request"],
  documentCount: ["message", "request"],
  bodyBytes: ["message", "request"],
};

describe("limitProfiles", () => {
  test("are named as they are found", () => {
    for (const [name, profile] of Object.entries(limitProfiles)) expect(profile.name).toBe(name);
  });

  // @covers R47
  test.each(rows)("$title is well-formed", ({ row, transports }) => {
    expect(unitsOf[row.rule]).toContain(row.unit);
    expect(scopesOf[row.rule] ?? ["item", "message", "request"]).toContain(row.scope);
    expect(["documented", "measured", "inferred"]).toContain(row.evidence);
    expect(row.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(Number.isNaN(Date.parse(row.asOf))).toBe(false);
    expect(row.source).toMatch(/^(https:\/\/[^ ]+|docs\/requirements\.md R\d+.*)$/);
    expect(row.note).not.toBe("");
    if (typeof row.value === "number") expect(row.value).toBeGreaterThan(0);
    if (Array.isArray(row.value)) {
      expect(row.value.length).toBeGreaterThan(0);
      for (const type of row.value) expect(type).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/);
    }
    if (row.when !== undefined) expect(Object.keys(row.when).length).toBeGreaterThan(0);
    expect(transports).toEqual(expect.arrayContaining([...(row.when?.transport ?? [])]));
    if (row.when?.withDocuments) expect(row.when.imagesOver).toBeDefined();
  });

  test("limit what every provider has one of", () => {
    const named = (rule: string) =>
      rows.filter(({ row }) => row.rule === rule).map(({ title }) => title.replace(/\[.*/, ""));
    expect(new Set(named("imageCount"))).toEqual(
      new Set(["anthropic", "bedrockConverse", "openai", "gemini", "mistral", "groq", "tether"]),
    );
    expect(new Set(named("bodyBytes"))).toEqual(
      new Set(["anthropic", "openai", "gemini", "mistral", "xai", "groq", "tether", "mcp", "acp"]),
    );
  });
});
