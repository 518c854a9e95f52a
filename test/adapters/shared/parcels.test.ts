import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { type BlobStat, memoryBlobStore, memorySessionStore, sessionBlobRoots } from "sessile";
import { describe, expect, it } from "vitest";
import { isParcel, type Parcel, Parcels } from "../../../src/frameworks/shared/parcels.js";
import { number, text } from "../../arbitraries/values.js";
import { encodeBase64 } from "../../support/plain-values.js";

const base64 = fc.uint8Array({ maxLength: 60 }).map(encodeBase64);
const string = fc.oneof(
  text,
  base64,
  base64.map((data) => `data:image/png;base64,${data}`),
  base64.map((data) => `data:text/plain;charset=utf-8;base64,${data}`),
  fc.string({ minLength: 65_536, maxLength: 65_600 }),
);
const key = fc.oneof(text, fc.constantFrom("__proto__", "toJSON", "constructor", "v", "out"));

/** What a parcel keeps: JSON values, undefined and bytes, with any keys. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "parcel" },
    fc.constantFrom(null, undefined, true, false),
    number,
    string,
    fc.uint8Array({ maxLength: 60 }),
    fc.array(tie("value"), { maxLength: 4, depthIdentifier: "parcel" }),
    fc
      .array(fc.tuple(key, tie("value")), { maxLength: 4, depthIdentifier: "parcel" })
      .map((members): unknown => Object.fromEntries(members)),
  ),
}));

/** Stores the parcel in a session, reads it there, and opens it. */
async function roundTrip(parcels: Parcels, original: unknown): Promise<unknown> {
  const session = await memorySessionStore().create({ cwd: "/" });
  const parcel = await parcels.make(original, "value");
  const [entry] = await session.append([{ type: "custom", customType: "test", data: parcel }]);
  expect(session.diagnostics).toEqual([]);
  const line = await session.raw(entry?.id as string);
  const { data }: { data: Parcel } = JSON.parse(new TextDecoder().decode(line));
  expect(isParcel(data)).toBe(true);
  return parcels.open(data);
}

describe.each([
  ["with blobs", true],
  ["without blobs", false],
])("a parcel %s", (_, hasBlobs) => {
  const blobs = () => (hasBlobs ? memoryBlobStore() : undefined);

  it("gives back any value of JSON, undefined and bytes", async () => {
    const parcels = new Parcels({ blobs: blobs(), outOfLine: 20 });
    await fc.assert(
      fc.asyncProperty(value, async (any) => {
        // toStrictEqual compares a key `constructor` as if it were the class.
        expect(isDeepStrictEqual(await roundTrip(parcels, any), any)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("keeps the order of keys", async () => {
    const parcels = new Parcels({ blobs: blobs(), outOfLine: 4 });
    const ordered = { b: undefined, a: "AAAA", z: Uint8Array.of(1), c: 1 };
    expect(Object.keys((await roundTrip(parcels, ordered)) as object)).toEqual(["b", "a", "z", "c"]);
  });

  it("keeps nesting that an entry refuses", async () => {
    let deep: unknown = "AAAAAAAA";
    for (let depth = 0; depth < 400; depth++) deep = depth % 2 === 0 ? [deep, undefined] : { deep };
    const parcels = new Parcels({ blobs: blobs(), outOfLine: 8 });
    expect(await roundTrip(parcels, deep)).toStrictEqual(deep);
  });

  it("is a copy of the value at the call", async () => {
    const parcels = new Parcels({ blobs: blobs(), outOfLine: 4 });
    const original = { list: [1], bytes: Uint8Array.of(1, 2, 3, 4, 5) };
    const packed = parcels.pack(original, "value");
    original.list.push(2);
    original.bytes.fill(0);
    const opened = await parcels.open(await parcels.store(packed));
    expect(opened).toEqual({ list: [1], bytes: Uint8Array.of(1, 2, 3, 4, 5) });
  });

  it("opens to new objects each time", async () => {
    const parcels = new Parcels({ blobs: blobs(), outOfLine: 4 });
    const parcel = await parcels.make({ list: [1], bytes: Uint8Array.of(1) }, "value");
    const first = (await parcels.open(parcel)) as { list: number[]; bytes: Uint8Array };
    first.list.push(2);
    first.bytes.fill(0);
    expect(await parcels.open(parcel)).toEqual({ list: [1], bytes: Uint8Array.of(1) });
  });
});

describe("what goes out of line", () => {
  const long = encodeBase64(new Uint8Array(3072).fill(7));
  const kindOf = async (any: unknown, blobs = memoryBlobStore()) => {
    const { out = [] } = await new Parcels({ blobs, outOfLine: 4096 }).make(any, "value");
    return out.map(([, kind]) => kind);
  };

  it.each([
    ["base64 of 4,096 characters", long, ["base64"]],
    ["shorter base64", long.slice(4), []],
    ["a data URL", `data:image/png;base64,${long}`, ["data"]],
    ["a small data URL", `data:image/png;base64,${long.slice(-236)}`, ["data"]],
    ["a smaller one", `data:image/png;base64,${long.slice(-232)}`, []],
    ["a data URL in percent-encoding", `data:image/png,${long}`, []],
    ["base64 with a line feed", `${long}\n`, []],
    ["base64 of another spelling", `${long.slice(0, -4)}B=+=`, []],
    ["text of 64 Ki characters", "a b".repeat(30_000), ["text"]],
    ["shorter text", "a b".repeat(20_000), []],
    ["ill-formed text", `\ud800${"a b".repeat(30_000)}`, []],
    ["large bytes", new Uint8Array(4096), ["bytes"]],
    ["small bytes", new Uint8Array(4095), ["bytes"]],
    ["undefined", undefined, ["undefined"]],
  ])("%s", async (_, any, kinds) => {
    expect(await kindOf(any)).toEqual(kinds);
    expect(await kindOf({ in: [any] })).toEqual(kinds);
  });

  it("is found by a garbage collection, and stored once", async () => {
    const blobs = memoryBlobStore();
    const parcels = new Parcels({ blobs, outOfLine: 4096 });
    const parcel = await parcels.make({ image: long, again: `data:image/png;base64,${long}` }, "value");
    const line = new TextEncoder().encode(
      `{"type":"session","version":3,"id":"a","timestamp":"","cwd":"/"}\n${JSON.stringify({ type: "custom", id: "1", parentId: null, timestamp: "", customType: "test", data: parcel })}\n`,
    );
    const { refs } = await sessionBlobRoots("a", line);
    const stored: BlobStat[] = [];
    for await (const stat of blobs.list()) stored.push(stat);
    expect(stored.map(({ ref }) => ref)).toEqual([...refs]);
    expect(stored.map(({ size }) => size)).toEqual([3072]);
    expect(JSON.stringify(parcel).length).toBeLessThan(300);
  });

  it("is an error if the blob is missing", async () => {
    const blobs = memoryBlobStore();
    const parcels = new Parcels({ blobs, outOfLine: 4096 });
    const parcel = await parcels.make(long, "value");
    for await (const { ref } of blobs.list()) await blobs.delete(ref);
    await expect(parcels.open(parcel)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
    const without = new Parcels({ blobs: undefined, outOfLine: 4096 });
    await expect(without.open(parcel)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
  });
});

describe("what cannot be kept", () => {
  const secret = "secret content";
  const cycle: Record<string, unknown> = { secret };
  cycle.self = cycle;
  const holes = [secret];
  holes[2] = secret;
  const deep = Array.from({ length: 3000 }).reduce<unknown>((inner) => [inner], secret);

  it.each([
    ["items[0].member", "a function", { member: () => secret }],
    ["items[0].member", "a symbol", { member: Symbol(secret) }],
    ["items[0].member", "a bigint", { member: 1n }],
    ["items[0].list[1]", "not a number", { list: [1, Number.NaN] }],
    ["items[0].list[1]", "infinite", { list: [1, Infinity] }],
    ["items[0].at", "a date", { at: new Date() }],
    ["items[0].map", "a map", { map: new Map([[secret, secret]]) }],
    ["items[0].numbers", "another typed array", { numbers: Float32Array.of(1) }],
    ["items[0].own", "a class instance", { own: new (class Own {})() }],
    ["items[0].self", "a cycle", cycle],
    ["items[0]", "a sparse array", holes],
    ["items[0]", "symbol keys", { [Symbol(secret)]: 1 }],
    [`items[0]${"[0]".repeat(20)}…`, "too much nesting", deep],
  ])("is refused at %s: %s", (path, _, any) => {
    const blobs = memoryBlobStore();
    const parcels = new Parcels({ blobs, outOfLine: 4 });
    let error: unknown;
    try {
      parcels.pack(any, "items[0]");
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: "INVALID_ENTRY", details: { path } });
    expect(JSON.stringify(error) + String(error)).not.toContain(secret);
  });
});

it.each([
  [{ v: 1, out: [[["a"], "undefined"]] }],
  [{ v: {}, out: [[["a"], "undefined"]] }],
  [{ v: { a: 1 }, out: [[["__proto__", "x"], "undefined"]] }],
])("refuses paths of no member: %j", async (parcel) => {
  const parcels = new Parcels({ blobs: undefined, outOfLine: 4 });
  await expect(parcels.open(parcel as unknown as Parcel)).rejects.toMatchObject({ code: "INVALID_ENTRY" });
  expect(Object.prototype).not.toHaveProperty("x");
});
