/** Makes damaged files of whole ones: bytes, lines, and values of JSON, so that damage is met behind every check. */

/** Numbers below 1 that a seed gives, the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Random = () => number;
type Mutator = (bytes: Buffer, random: Random, others: readonly Uint8Array[]) => Buffer;

const below = (random: Random, most: number) => Math.floor(random() * most);
const oneOf = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)] as T;

/** Bytes that mean something to JSON, to lines, to UTF-8 or to this format. */
const dictionary: readonly (string | readonly number[])[] = [
  ...'{}[]",:\\\n\r',
  "\r\n",
  "\n\n",
  "}{",
  "}\n{",
  "null",
  "-0",
  "1e999",
  "12345678901234567890",
  "\\ud83d",
  "\\u0000",
  '"__proto__":{"x":1},',
  '"id":"__proto__",',
  '"parentId":null,',
  ',"crc":"00000000"',
  '{"type":"session","version":3,"id":"other","timestamp":"t","cwd":"/"}\n',
  '{"type":"session","version":99,"id":"newer","timestamp":"t","cwd":"/"}\n',
  '{"type":"leaf","id":"1eaf1eaf","parentId":null,"timestamp":"t","targetId":null}\n',
  "\u2028",
  "\ufeff",
  [0],
  [0xff],
  [0xc3],
  [0xed, 0xa0, 0xbd],
  [0, 0, 0, 0, 0, 0, 0, 0],
];

const values: readonly string[] = [
  ..."null true false 0 -1 -0 1e999 1e308 99 9007199254740993 [] {} [[]] [null] [{}]".split(" "),
  '""',
  '"x"',
  '"__proto__"',
  '"\\ud83d"',
  '{"__proto__":1}',
  '{"type":"text"}',
  '[{"type":"text","text":null}]',
  '[{"type":"toolCall"}]',
  '[{"type":"image","data":1}]',
  `${"[".repeat(300)}${"]".repeat(300)}`,
];

/** The bytes between two places of a file in another's place. */
function spliced(bytes: Buffer, from: number, to: number, put: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(to)]);
}

function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end + 1));
    start = end + 1;
  }
  if (start < bytes.length) lines.push(bytes.subarray(start));
  return lines;
}

/** The file with one of its lines made another. */
function withLine(bytes: Buffer, random: Random, change: (line: Buffer) => Buffer): Buffer {
  const lines = linesOf(bytes);
  if (lines.length === 0) return bytes;
  const at = below(random, lines.length);
  lines[at] = change(lines[at] as Buffer);
  return Buffer.concat(lines);
}

/** Text that may be no UTF-8, a character a byte. */
const text = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
const raw = (string: string) => Buffer.from(string, "latin1");

function replacedOnce(
  bytes: Buffer,
  pattern: RegExp,
  random: Random,
  put: (found: string) => string,
): Buffer {
  const source = text(bytes);
  const found = [...source.matchAll(pattern)];
  if (found.length === 0) return bytes;
  const { 0: whole, index } = oneOf(random, found);
  return spliced(bytes, index, index + whole.length, raw(put(whole)));
}

const anId = /"(?:id|parentId|targetId|firstKeptEntryId|fromId|toolCallId)":(?:null|"[^"\n]*")/g;

const mutators: readonly Mutator[] = [
  // A byte, a bit of it, a range of NULs, the end.
  (bytes, random) => {
    const at = below(random, bytes.length);
    return spliced(bytes, at, at + 1, Uint8Array.of(below(random, 256)));
  },
  (bytes, random) => {
    const at = below(random, bytes.length);
    return spliced(bytes, at, at + 1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << below(random, 8))));
  },
  (bytes, random) => {
    const at = below(random, bytes.length);
    const length = Math.min(bytes.length - at, 1 + below(random, random() < 0.2 ? 5000 : 40));
    return spliced(bytes, at, at + length, new Uint8Array(length));
  },
  (bytes, random) => bytes.subarray(0, below(random, bytes.length + 1)),
  // A range left out, said twice, or put elsewhere.
  (bytes, random) => {
    const at = below(random, bytes.length);
    return spliced(bytes, at, at + 1 + below(random, random() < 0.2 ? 2000 : 30), new Uint8Array());
  },
  (bytes, random) => {
    const at = below(random, bytes.length);
    const to = below(random, bytes.length);
    return spliced(bytes, to, to, bytes.subarray(at, at + 1 + below(random, 200)));
  },
  (bytes, random) => {
    const at = below(random, bytes.length + 1);
    const word = oneOf(random, dictionary);
    return spliced(bytes, at, at, typeof word === "string" ? Buffer.from(word) : Uint8Array.from(word));
  },
  // Lines that go, come twice, change places, run together, or come from another file.
  (bytes, random) => withLine(bytes, random, () => Buffer.alloc(0)),
  (bytes, random) => withLine(bytes, random, (line) => Buffer.concat([line, line])),
  (bytes, random) => withLine(bytes, random, (line) => line.subarray(0, -1)),
  (bytes, random) => {
    const lines = linesOf(bytes);
    const [line] = lines.splice(below(random, lines.length), 1);
    if (line !== undefined) lines.splice(below(random, lines.length + 1), 0, line);
    return Buffer.concat(lines);
  },
  (bytes, random, others) => {
    const other = linesOf(Buffer.from(oneOf(random, others)));
    return withLine(bytes, random, (line) => Buffer.concat([line, oneOf(random, [...other, line])]));
  },
  // Ids: one that is another's, so that trees have cycles, orphans, second roots and duplicates.
  (bytes, random) => {
    const known = [...text(bytes).matchAll(/"id":"([^"\n]*)"/g)].map((found) => `"${found[1]}"`);
    return replacedOnce(
      bytes,
      anId,
      random,
      (found) => `${found.slice(0, found.indexOf(":"))}:${oneOf(random, [...known, "null"])}`,
    );
  },
  // Values: of another type, with the rest of the line as it was.
  (bytes, random) =>
    replacedOnce(
      bytes,
      /:(?:null|true|false|-?\d[\d.eE+-]*|"(?:[^"\\\n]|\\.)*"|\[\]|\{\})/g,
      random,
      () => `:${oneOf(random, values)}`,
    ),
  (bytes, random) => replacedOnce(bytes, /"(?:[^"\\\n]|\\.)*":/g, random, () => `"${below(random, 10)}":`),
  (bytes, random) => {
    const types = [...text(bytes).matchAll(/"(?:type|role)":"[^"\n]*"/g)].map(([whole]) => whole);
    return replacedOnce(bytes, /"(?:type|role)":"[^"\n]*"/g, random, (found) =>
      oneOf(random, [...types, found]),
    );
  },
  (bytes, random) => withLine(bytes, random, (line) => withValue(line, random)),
  (bytes, random) => withLine(bytes, random, () => raw(`${oneOf(random, values)}\n`)),
  (bytes, random) =>
    replacedOnce(bytes, /"(?:version|sessile)":\d+/g, random, (found) =>
      found.replace(/\d+/, String(oneOf(random, [0, 1, 2, 3, 4, 99]))),
    ),
  // Without checksums nothing but the fields themselves tells of the damage that comes after.
  (bytes) => raw(text(bytes).replace(/,"crc":"[0-9a-f]{8}"\}/g, "}")),
];

/** A line of JSON with one of its values, at any depth, made another. */
function withValue(line: Buffer, random: Random): Buffer {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch {
    return line;
  }
  const places: { readonly in: Record<string, unknown>; readonly key: string }[] = [];
  const walk = (inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return;
    for (const [key, member] of Object.entries(inner)) {
      places.push({ in: inner as Record<string, unknown>, key });
      walk(member);
    }
  };
  walk(value);
  if (places.length === 0) return line;
  const place = oneOf(random, places);
  const other = oneOf(random, places);
  const way = random();
  if (way < 0.3) delete place.in[place.key];
  // A copy of another value of the line, so that nothing holds itself.
  else if (way < 0.5) place.in[place.key] = JSON.parse(JSON.stringify(other.in[other.key] ?? null));
  else place.in[place.key] = JSON.parse(oneOf(random, values));
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** A damaged file, of one of these. It depends on nothing but its arguments. */
export function mutant(files: readonly Uint8Array[], random: Random): Uint8Array {
  let bytes: Buffer = Buffer.from(oneOf(random, files));
  const changes = 1 + below(random, random() < 0.3 ? 12 : 4);
  for (let made = 0; made < changes; made++) bytes = oneOf(random, mutators)(bytes, random, files);
  return Uint8Array.from(bytes);
}
