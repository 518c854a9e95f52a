import fc from "fast-check";
import { blobRefsIn, sessionBlobRoots } from "sessile";
import { expect, test } from "vitest";
import { sessionOf } from "../arbitraries/entries.js";

const digit = fc.constantFrom(..."0123456789abcdef");
const ref = fc
  .tuple(fc.constantFrom("sha256", "blake3"), fc.string({ unit: digit, minLength: 64, maxLength: 64 }))
  .map(([algorithm, hex]) => `${algorithm}:${hex}`);
const text = fc
  .array(
    fc.oneof(
      ref,
      fc.string({ unit: "binary" }),
      fc.constantFrom("\\", "\n", '"', "\\u0061", "sha256:", "a", "0"),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join("").toWellFormed());

/** A JSON string in any of its spellings: each character as it is, where it may be, or as an escape. */
function spelled(value: string, choices: readonly number[]): string {
  let at = 0;
  const characters = Array.from({ length: value.length }, (_, index) => value.charAt(index));
  const out = characters.map((character) => {
    const choice = choices[at++ % Math.max(1, choices.length)] ?? 0;
    const plain = JSON.stringify(character).slice(1, -1);
    const hex = character.charCodeAt(0).toString(16).padStart(4, "0");
    if (character === "/" && choice === 1) return "\\/";
    // Half of a pair can only be written with the other half, or as an escape.
    if (choice === 2 || /[\ud800-\udfff]/.test(character))
      return `\\u${choice === 1 ? hex.toUpperCase() : hex}`;
    return plain;
  });
  return `"${out.join("")}"`;
}

async function refsOf(line: string): Promise<readonly string[]> {
  const log = `${sessionOf([]).lines[0]}\n${line}\n`;
  return [...(await sessionBlobRoots("log", new TextEncoder().encode(log))).refs].sort();
}

test("every name in any string of a line is found, however it is written, and no other", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(2), { minLength: 1, maxLength: 40 }),
      async (members, choices) => {
        // Members with one key too, of which JSON.parse would keep the last.
        const inner = members.map(
          ([key, value]) =>
            `${spelled(key, choices)}:${spelled(value, choices)},"k":${spelled(value, choices)}`,
        );
        const line = `{"type":"later","id":"a","parentId":null,"timestamp":"","data":{${inner.join(",")}}}`;
        const expected = new Set(members.flat().flatMap((each) => [...blobRefsIn(each)]));
        expect(await refsOf(line)).toEqual([...expected].sort());
      },
    ),
    { numRuns: 500 },
  );
});

test("a name is found with its colon escaped, and is none where a digit more is", async () => {
  const hex = "0123456789abcdef".repeat(4);
  const line = (value: string) => `{"type":"later","id":"a","parentId":null,"timestamp":"","v":${value}}`;
  expect(await refsOf(line(`"sha256\\u003a${hex}"`))).toEqual([`sha256:${hex}`]);
  expect(await refsOf(line(`"sha256:${hex}\\u0061"`))).toEqual([]);
  expect(await refsOf(line(`"\\\\u003a sha256:${hex}\\n"`))).toEqual([`sha256:${hex}`]);
});

test("a damaged line keeps the names that stand in it", async () => {
  const name = `sha256:${"ab".repeat(32)}`;
  const log = new TextEncoder().encode(`${sessionOf([]).lines[0]}\n{"a":"\\u0041","b":"${name}\n`);
  const { complete, refs, reason } = await sessionBlobRoots("log", log);
  expect([complete, [...refs], reason]).toEqual([false, [name], "INVALID_JSON in line 2"]);
});

test("of very many damaged lines the reason names the first, and counts the rest", async () => {
  const log = new TextEncoder().encode(`${sessionOf([]).lines[0]}\n${"x\n".repeat(5000)}`);
  const { reason } = await sessionBlobRoots("log", log);
  expect(reason).toBe("INVALID_JSON in line 2, INVALID_JSON in line 3, INVALID_JSON in line 4 and 4997 more");
});
