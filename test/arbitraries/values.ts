import fc from "fast-check";

/** Names that mean something to JavaScript's objects, to JSON, or to a terminal. */
const nastyTexts = [
  "__proto__",
  "toString",
  "constructor",
  "hasOwnProperty",
  'say "hi"',
  "back\\slash",
  "\\u005f",
  "line\nfeed",
  "carriage\rreturn",
  "\u2028\u2029",
  "\u0000",
  "\u001b[31m",
  "\u007f",
  "Größe",
  "日本語",
  "👩‍👩‍👧",
  "\ud83d",
  "\ude00",
  '{"type":"session"}',
  ',"crc":"00000000"}',
  "\ufeff",
];

const words = fc.string({ maxLength: 12 });
const symbols = fc.string({ unit: "binary", maxLength: 6 });
const codeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
  .map((codes) => String.fromCharCode(...codes));

/** Strings: words, any symbols, lone surrogates, and now and then a long one. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: words },
  { weight: 2, arbitrary: symbols },
  { weight: 2, arbitrary: fc.constantFrom(...nastyTexts) },
  { weight: 1, arbitrary: codeUnits },
  { weight: 1, arbitrary: fc.nat({ max: 6000 }).map((length) => "0123456789abcdef".repeat(length / 16)) },
);

/** Numbers that JSON gives back as they were: no -0, nothing that is not finite. */
export const number: fc.Arbitrary<number> = fc
  .oneof(fc.nat(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((value) => (value === 0 ? 0 : value));

const member = text.filter((key) => key !== "__proto__");

/** JSON values, nested, that JSON.parse gives back as they were. */
export const jsonValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: "json" },
    fc.constant(null),
    fc.boolean(),
    number,
    text,
    fc.array(tie("value"), { maxLength: 4, depthIdentifier: "json" }),
    fc.dictionary(member, tie("value"), { maxKeys: 4, noNullPrototype: true, depthIdentifier: "json" }),
  ),
})).value;

/** Eight hexadecimal digits, as entry ids mostly are. */
export const hexId: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0xffffffff })
  .map((value) => value.toString(16).padStart(8, "0"));

/** Ids of entries: what this library makes, and anything else that is not empty. */
export const entryId: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: hexId },
  { weight: 1, arbitrary: fc.uuid() },
  { weight: 2, arbitrary: text.filter((id) => id !== "") },
);

const canonicalTime = fc
  .date({
    min: new Date("0000-01-01T00:00:00.000Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString());

/** Times as toISOString writes them, and as others do. */
export const timestamp: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: canonicalTime },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "",
      "2025-11-20T23:33:50Z",
      "2025-11-20T23:33:50.805+01:00",
      "2025-02-29T00:00:00.000Z",
      "2025-13-01T00:00:00.000Z",
      "2025-01-01T24:00:00.000Z",
      "+012025-01-01T00:00:00.000Z",
      "2025-11-20 23:33:50.805Z",
    ),
  },
  { weight: 1, arbitrary: text },
);
