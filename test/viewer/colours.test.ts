import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

// The style as text: its colours, and its rules for type and space.

const dir = join(root, "src", "viewer", "app", "style");
const style = readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")] as const);
const all = style.map(([, text]) => text).join("\n");

/** A colour in both schemes. */
type Pair = readonly [light: string, dark: string];

function pairs(pattern: RegExp): ReadonlyMap<string, Pair> {
  return new Map(
    Array.from(all.matchAll(pattern), ({ 1: name = "", 2: light = "", 3: dark = "" }) => [
      name,
      [light, dark],
    ]),
  );
}

const variables = pairs(/--([a-z-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)/g);
/** Colours of code and terminals, by their first class. */
const code = pairs(
  /\.((?:hl|fg)-[a-z-]+)(?:,\n[^{]*)? \{\n {2}color: light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)/g,
);

/** @see https://www.w3.org/TR/WCAG22/#dfn-relative-luminance, read 2026-11-29 */
function luminance(colour: string): number {
  const digits =
    colour.length === 4 ? [...colour.slice(1)].map((one) => one + one).join("") : colour.slice(1);
  const [red = 0, green = 0, blue = 0] = [0, 2, 4]
    .map((at) => Number.parseInt(digits.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function weak(texts: ReadonlyMap<string, Pair>, backs: readonly string[]): readonly string[] {
  return backs.flatMap((back) =>
    Array.from(texts).flatMap(([name, text]) =>
      ([0, 1] as const).flatMap((scheme) => {
        const ratio = contrast(text[scheme], variables.get(back)?.[scheme] ?? "");
        return ratio >= 4.5 ? [] : [`${name} on ${back}, ${["light", "dark"][scheme]}: ${ratio.toFixed(2)}`];
      }),
    ),
  );
}

const chosen = (...names: readonly string[]) =>
  new Map(names.map((name) => [name, variables.get(name) as Pair] as const));

describe("the style", () => {
  it("has text of contrast AA on every background that it has", () => {
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
    expect(contrast("#767676", "#fff")).toBeCloseTo(4.54, 2);
    const backs = ["back", "raised", "sunk", "accent-back", "user-back", "summary-back"];
    expect(weak(chosen("text", "soft", "accent"), backs)).toEqual([]);
    expect(
      weak(chosen("good", "bad", "warn"), ["back", "raised", "sunk", "user-back", "summary-back"]),
    ).toEqual([]);
    expect(weak(chosen("text"), ["added-back", "removed-back"])).toEqual([]);
    expect(code.size).toBeGreaterThan(10);
    expect(weak(code, ["back", "sunk", "added-back", "removed-back"])).toEqual([]);
  });

  it("has type by its four sizes alone, and spaces in steps of 4 px", () => {
    const screen = style.map(([name, text]) => [name, text.replace(/@media print \{[\s\S]*/, "")] as const);
    const odd = screen.flatMap(([name, text]) =>
      Array.from(
        text.matchAll(/^ *(font(?:-size)?|padding[a-z-]*|margin[a-z-]*|(?:row-|column-)?gap): ([^;]+);/gm),
      )
        .filter(([, property = "", value = ""]) => {
          if (property === "font-size") return true;
          if (property === "font")
            return !/^(?:inherit|var\(--(?:small|code|body|title)\)|600 (?:13px \/ 20px|15px \/ 24px) var\(--sans\)|13px \/ 20px var\(--sans\))$/.test(
              value,
            );
          return Array.from(value.matchAll(/(\d+(?:\.\d+)?)(px|r?em)/g)).some(
            ([, number, unit]) => unit !== "px" || Number(number) % 4 !== 0,
          );
        })
        .map(([line]) => `${name}: ${line.trim()}`),
    );
    expect(odd).toEqual([]);
  });
});
