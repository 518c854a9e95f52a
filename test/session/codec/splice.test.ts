import fc from "fast-check";
import { expect, test } from "vitest";
import { spliceJson } from "../../../src/session/format/encode.js";
import { jsonValue } from "../../arbitraries/values.js";

const spaced = (value: unknown): string => JSON.stringify(value, null, " \t\r\n "[0]);

test("is the text itself where nothing changed, and JSON of what it has where all did", () => {
  fc.assert(
    fc.property(jsonValue, jsonValue, fc.boolean(), (value, other, spacing) => {
      const text = spacing ? ` ${spaced(value)}\r` : JSON.stringify(value);
      const before: unknown = JSON.parse(text);
      expect(spliceJson(text, before, before)).toBe(text.trim());
      expect(JSON.parse(spliceJson(text, before, other))).toEqual(JSON.parse(JSON.stringify(other)));
    }),
  );
});

const path = fc.array(fc.nat({ max: 5 }), { maxLength: 4 });

/** A copy with another value in one place; all else is the same by identity. */
function changed(value: unknown, [step, ...rest]: readonly number[], to: unknown): unknown {
  if (step === undefined || typeof value !== "object" || value === null) return to;
  if (Array.isArray(value))
    return value.map((item, i) => (i === step % value.length ? changed(item, rest, to) : item));
  const keys = Object.keys(value);
  const key = keys[step % (keys.length + 1)] ?? "added";
  return { ...value, [key]: changed((value as Record<string, unknown>)[key], rest, to) };
}

test("says what the changed value says, whatever was changed", () => {
  fc.assert(
    fc.property(jsonValue, path, jsonValue, (value, where, to) => {
      const text = spaced(value);
      const before: unknown = JSON.parse(text);
      const after = changed(before, where, to);
      expect(JSON.parse(spliceJson(text, before, after))).toEqual(JSON.parse(JSON.stringify(after)));
    }),
  );
});

test("keeps digits, duplicates of identity and what the reader put something in the place of", () => {
  const text =
    '{"n":12345678901234567890,"one":1.0,"content":[{"type":"image","data":"QQ=="},{"type":"audio","n":1e2},"\\u0041\\\\"],"crc":"x"}';
  const image = { type: "image", data: "QQ==" };
  const standIn = { type: "text", text: "[audio]" };
  const before = { n: 12345678901234567000, one: 1, content: [image, standIn, "A\\"] };
  const slim = { type: "text", text: "image" };
  expect(spliceJson(text, before, { ...before, content: [slim, standIn, "A\\"] })).toBe(
    '{"n":12345678901234567890,"one":1.0,"content":[{"type":"text","text":"image"},{"type":"audio","n":1e2},"\\u0041\\\\"]}',
  );
  expect(spliceJson(text, before, { ...before, content: [standIn] })).toContain('[{"type":"audio","n":1e2}]');
  expect(spliceJson(text, before, { ...before, n: undefined })).not.toContain('"n":123');
});
