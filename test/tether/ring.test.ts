import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { type FrameQuery, type FrameReading, FrameRing, type SequencedFrame } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { FrameColumns, payloadBytes, Waiters } from "../../src/tether/ring.js";
import { text } from "../arbitraries/values.js";
import { rounds } from "../support/rounds.js";
import { amount, anyFrame, budgets, filter, frameOf, frameTypes, numbered, sessions } from "./frames.js";
import { isWanted, NaiveRing, naiveBytes } from "./naive-ring.js";

const numbersOf = ({ frames }: FrameReading): readonly number[] => frames.map(({ seq }) => seq);

/** What a reader got so far. */
interface Reader {
  readonly query: FrameQuery;
  after: number;
  readonly got: number[];
  missed: number;
}

describe("FrameRing beside one that keeps everything", () => {
  const readers = 4;
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ act: fc.constant("append" as const), frame: anyFrame }) },
    {
      weight: 4,
      arbitrary: fc.record({
        act: fc.constant("read" as const),
        reader: fc.nat({ max: readers - 1 }),
        amount,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ act: fc.constant("look" as const), after: fc.nat({ max: 60 }), amount }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ act: fc.constant("restore" as const), leave: fc.nat({ max: 3 }), budgets }),
    },
  );

  // @covers R86
  test("holds the same, counts the same, and reads the same, for slow readers too, restored or not", () => {
    fc.assert(
      fc.property(
        budgets,
        fc.array(filter, { minLength: readers, maxLength: readers }),
        fc.array(step, { maxLength: 80 }),
        (options, filters, steps) => {
          let ring = new FrameRing(options);
          let naive = new NaiveRing(options);
          const all: SequencedFrame[] = [];
          const those = filters.map((query): Reader => ({ query, after: 0, got: [], missed: 0 }));
          const readOn = (reader: Reader, query: FrameQuery) => {
            const reading = ring.read({ ...reader.query, ...query, after: reader.after });
            expect(reading).toEqual(naive.read({ ...reader.query, ...query, after: reader.after }));
            reader.got.push(...numbersOf(reading));
            reader.after = reading.nextSeq;
            reader.missed += reading.missed;
            return reading;
          };
          for (const one of steps) {
            if (one.act === "append") {
              const before = structuredClone(one.frame);
              expect(ring.append(one.frame)).toBe(naive.append(one.frame));
              expect(one.frame).toEqual(before);
              all.push({ ...one.frame, seq: ring.lastSeq });
            } else if (one.act === "read") {
              readOn(those[one.reader] as Reader, one.amount);
            } else if (one.act === "look") {
              const query = { ...one.amount, after: one.after };
              expect(ring.read(query)).toEqual(naive.read(query));
            } else {
              // What a host kept, perhaps not all of it; the newest it has to keep, or numbers would be used again.
              const kept = naive
                .held()
                .filter(({ seq }, at, { length }) => at === length - 1 || seq % 4 !== one.leave);
              ring = new FrameRing({ ...one.budgets, frames: kept });
              naive = new NaiveRing({ ...one.budgets, frames: kept });
            }
            expect(ring.size).toBe(naive.held().length);
            expect(ring.bytes).toBe(naive.bytes);
            expect(ring.lastSeq).toBe(naive.lastSeq);
          }
          for (const reader of those) {
            while (reader.after < ring.lastSeq) readOn(reader, { limit: 2 });
            const wanted = all.filter((frame) => isWanted(frame, reader.query)).map(({ seq }) => seq);
            // Each at most once, in order, none that is not wanted; and what did not come was said to be missed.
            expect(reader.got).toEqual(wanted.filter((seq) => reader.got.includes(seq)));
            expect(wanted.length - reader.got.length).toBeLessThanOrEqual(reader.missed);
            if (reader.query.session === undefined && reader.query.types === undefined) {
              expect(reader.got.length + reader.missed).toBe(ring.lastSeq);
            }
          }
        },
      ),
      { numRuns: rounds(75, 300) },
    );
  });
});

describe("FrameRing", () => {
  // @covers R84
  test("Tether store byte budget: of many image frames the oldest go, small text frames survive longer", () => {
    const image = { media_type: "image/png", data: "A".repeat(1_000_000) };
    const withImages = () => frameOf({ text: "a chart", images: [image, image] }, "assistant.done");
    const ring = new FrameRing({ maxBytes: 10_000_000 });
    for (let i = 0; i < 50; i++) ring.append(withImages());
    expect(numbersOf(ring.read())).toEqual([47, 48, 49, 50]);
    expect(ring.bytes).toBe(4 * naiveBytes(withImages().payload));
    expect(ring.bytes).toBeLessThanOrEqual(10_000_000);

    // The same number of text frames takes next to nothing: all of them are still there, with the images before them.
    for (let i = 0; i < 50; i++) ring.append(frameOf({ text: "a word" }));
    expect(ring.size).toBe(54);
    expect(numbersOf(ring.read({ types: ["assistant.done"] }))).toEqual([47, 48, 49, 50]);
    // The next image lets one image go, and no text.
    ring.append(withImages());
    expect(numbersOf(ring.read())).toEqual([48, 49, 50, ...Array.from({ length: 51 }, (_, i) => 51 + i)]);
  });

  // @covers R84
  test("a budget that the frames fill to the byte holds them all; with a byte less the oldest goes", () => {
    const sizes = ["one", "two and", "three"].map((text) => naiveBytes(frameOf({ text }).payload));
    const all = sizes.reduce((sum, bytes) => sum + bytes);
    for (const [maxBytes, held] of [
      [all, [1, 2, 3]],
      [all - 1, [2, 3]],
      [all - (sizes[0] as number), [2, 3]],
      [all - (sizes[0] as number) - 1, [3]],
    ] as const) {
      const ring = new FrameRing({ maxBytes });
      for (const text of ["one", "two and", "three"]) ring.append(frameOf({ text }));
      expect(numbersOf(ring.read())).toEqual(held);
      const restored = new FrameRing({
        maxBytes,
        frames: ["one", "two and", "three"].map((text, at) => ({ ...frameOf({ text }), seq: at + 1 })),
      });
      expect(numbersOf(restored.read())).toEqual(held);
    }
  });

  // @covers R83
  test("holds 1000 frames and 128 MiB unless told otherwise", () => {
    const ring = new FrameRing();
    for (let i = 0; i < 1500; i++) ring.append(frameOf());
    expect(ring.size).toBe(1000);
    const mebibyte = frameOf("A".repeat(2 ** 20 - 32));
    for (let i = 0; i < 200; i++) ring.append(mebibyte);
    expect([ring.size, ring.bytes]).toEqual([128, 128 * 2 ** 20]);
    expect(ring.lastSeq).toBe(1700);
  });

  // @covers R84
  test("keeps the newest frame, however large, and counts right behind it", () => {
    const ring = new FrameRing({ maxBytes: 1000 });
    let shared: unknown = "";
    for (let level = 0; level < 70; level++) shared = [shared, shared];
    ring.append(frameOf({ text: "small" }));
    ring.append(frameOf(shared));
    expect([ring.size, ring.lastSeq]).toEqual([1, 2]);
    expect(ring.bytes).toBeGreaterThan(2 ** 70);
    expect(numbersOf(ring.read({ maxBytes: 1 }))).toEqual([2]);
    ring.append(frameOf("x"));
    expect([ring.size, ring.bytes]).toEqual([1, 33]);
  });

  test("reads as much as it is asked for, to the byte", () => {
    const ring = new FrameRing();
    for (const text of ["one", "two", "three"]) ring.append(frameOf({ text }));
    const all = ring.bytes;
    expect(numbersOf(ring.read({ maxBytes: all }))).toEqual([1, 2, 3]);
    expect(ring.read({ maxBytes: all - 1 })).toMatchObject({ frames: [{ seq: 1 }, { seq: 2 }], nextSeq: 2 });
  });

  // @covers R85
  test("counts a payload once: what is changed later changes no sum", () => {
    const payload = { text: "x".repeat(100) };
    const ring = new FrameRing({ maxFrames: 2 });
    ring.append(frameOf(payload));
    const { bytes } = ring;
    payload.text = "";
    expect(ring.bytes).toBe(bytes);
    for (let i = 0; i < 5; i++) ring.append(frameOf({ text: "" }));
    expect(ring.bytes).toBe(2 * naiveBytes({ text: "" }));
  });

  test("holds on to nothing of a frame that is gone", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const ring = new FrameRing({ maxFrames: 5 });
    const payloads = Array.from({ length: 8 }, () => {
      const payload = { text: "a" };
      ring.append(frameOf(payload));
      return new WeakRef(payload);
    });
    ring.read();
    await new Promise((resolve) => setTimeout(resolve));
    collect();
    expect(payloads.map((payload) => payload.deref() !== undefined)).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  test("the same frame may come again, and has a number each time", () => {
    const ring = new FrameRing();
    const frame = frameOf();
    ring.append(frame);
    ring.append(frame);
    expect(ring.read().frames).toEqual([1, 2].map((seq) => ({ ...frame, seq })));
    expect(ring.read().frames[0]).toBe(ring.read().frames[0]);
  });

  test("sequence numbers go on behind what was restored, gaps and all, and nothing before counts as held", () => {
    const ring = new FrameRing({ frames: [numbered(5), numbered(9), numbered(12)] });
    expect([ring.size, ring.lastSeq]).toEqual([3, 12]);
    expect(ring.append(frameOf())).toBe(13);
    expect(ring.read()).toMatchObject({ nextSeq: 13, missed: 9 });
    expect(ring.read({ after: 5 })).toMatchObject({ nextSeq: 13, missed: 5 });
    expect(ring.read({ after: 5, limit: 1 })).toMatchObject({ nextSeq: 9, missed: 3 });
    expect(ring.read({ after: 12 })).toMatchObject({ nextSeq: 13, missed: 0 });
    expect(new FrameRing({ maxFrames: 1, frames: ring.read().frames }).read()).toMatchObject({ missed: 12 });
  });

  test("a reader with a number of a ring that was lost reads from the oldest on, and is in step again", () => {
    const ring = new FrameRing();
    expect(ring.read({ after: 500 })).toEqual({ frames: [], nextSeq: 0, missed: 0 });
    ring.append(frameOf());
    ring.append(frameOf());
    const reading = ring.read({ after: 500 });
    expect(numbersOf(reading)).toEqual([1, 2]);
    expect(reading.nextSeq).toBe(2);
  });

  test("is not misled by names that meet where they are joined", () => {
    const ring = new FrameRing();
    for (const session of sessions) ring.append(frameOf({ text: "" }, "user.message", session));
    for (const [at, session] of sessions.entries()) {
      expect(numbersOf(ring.read({ session }))).toEqual([at + 1]);
      expect(numbersOf(ring.read({ session: { ...session } }))).toEqual([at + 1]);
    }
    expect(ring.read({ types: [] }).frames).toEqual([]);
    expect(ring.read({ types: [frameTypes[0]] }).frames).toHaveLength(3);
  });

  test("refuses what is out of range, by name", () => {
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      for (const name of ["maxFrames", "maxBytes"]) {
        expect(() => new FrameRing({ [name]: value })).toThrow(RangeError);
        expect(() => new FrameRing({ [name]: value })).toThrow(
          `${name}: expected an integer >= 1, got ${value}`,
        );
      }
    }
    for (const frames of [
      [numbered(0)],
      [numbered(1.5)],
      [numbered(2 ** 53 - 1)],
      [frameOf() as SequencedFrame],
      [numbered(3), numbered(3)],
      [numbered(3), numbered(2)],
    ]) {
      expect(() => new FrameRing({ frames })).toThrow(RangeError);
      expect(() => new FrameRing({ frames })).toThrow(
        /^frames\[[01]\]\.seq: expected an integer from [14] to /,
      );
    }
  });

  test("refuses what is no frame, and a payload that holds itself, and stays as it was", () => {
    const ring = new FrameRing();
    const payload: { self?: unknown } = {};
    payload.self = payload;
    const { session: _session, ...homeless } = frameOf();
    for (const value of [
      null,
      undefined,
      1,
      "frame",
      [],
      {},
      homeless,
      { ...frameOf(), type: 1 },
      frameOf(payload),
    ]) {
      expect(() => ring.append(value as SequencedFrame)).toThrow(TypeError);
    }
    expect(() => ring.append(homeless as SequencedFrame)).toThrow(
      "frame: expected a frame with a type, a channel and an id, got an object",
    );
    expect(() => new FrameRing({ frames: [{ ...numbered(1), session: {} } as SequencedFrame] })).toThrow(
      /^frames\[0\]: /,
    );
    expect([ring.size, ring.bytes, ring.lastSeq]).toEqual([0, 0, 0]);
  });
});

const wrong: readonly (readonly [
  name: string,
  query: object,
  error: typeof RangeError | typeof TypeError,
])[] = [
  ["after", { after: -1 }, RangeError],
  ["after", { after: 0.5 }, RangeError],
  ["limit", { limit: 0 }, RangeError],
  ["maxBytes", { maxBytes: 0 }, RangeError],
  ["maxBytes", { maxBytes: Number.NaN }, RangeError],
  ["types", { types: "assistant.done" }, TypeError],
  ["session", { session: "default" }, TypeError],
  ["session", { session: { channel: "mcp" } }, TypeError],
];

describe("a query out of range", () => {
  test.each(wrong)("is refused by the name of %s: %j", async (name, query, error) => {
    const ring = new FrameRing();
    expect(() => ring.read(query as FrameQuery)).toThrow(error);
    expect(() => ring.read(query as FrameQuery)).toThrow(new RegExp(`^${name}: expected .*, got `));
    await expect(ring.wait(query as FrameQuery)).rejects.toThrow(error);
  });
});

describe("FrameColumns", () => {
  test("is an array whose ends move, at any size, with gaps among what was restored", () => {
    const step = fc.record({ pushes: fc.nat({ max: 90 }), shifts: fc.nat({ max: 90 }) });
    const gaps = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), gaps, fc.array(step), (expected, gaps, steps) => {
        const columns = new FrameColumns(expected);
        const naive: number[] = [];
        let seq = 0;
        for (const gap of gaps) {
          seq += gap;
          columns.restore(numbered(seq, seq), seq * 7);
          naive.push(seq);
        }
        for (const { pushes, shifts } of steps) {
          for (let i = 0; i < pushes; i++) {
            seq++;
            columns.push(frameOf(seq), seq * 7);
            naive.push(seq);
          }
          for (let i = 0; i < shifts && naive.length > 0; i++) {
            expect(columns.shift()).toBe((naive.shift() as number) * 7);
          }
          expect(columns.lastSeq).toBe(seq);
          const places = Array.from({ length: columns.length }, (_, place) => place);
          expect(places.map((place) => columns.seqAt(place))).toEqual(naive);
          expect(places.map((place) => columns.bytesAt(place))).toEqual(naive.map((number) => number * 7));
          expect(places.map((place) => columns.frameAt(place).payload)).toEqual(naive);
          for (const after of [0, seq, seq + 1, naive[0] ?? 0, naive[5] ?? 0, seq - 4]) {
            const place = naive.findIndex((number) => number > after);
            expect(columns.indexAfter(after)).toBe(place < 0 ? naive.length : place);
          }
        }
      }),
    );
  });

  test("gives a frame its number when it is read, once, and leaves the frame that came as it was", () => {
    const columns = new FrameColumns(4);
    const restored = numbered(6);
    const frame = frameOf({ text: "a" });
    columns.restore(restored, 1);
    columns.push(frame, 1);
    columns.push(numbered(3), 1);
    expect(columns.sequencedAt(0)).toBe(restored);
    expect(columns.sequencedAt(1)).toEqual({ ...frame, seq: 7 });
    expect(columns.sequencedAt(1)).toBe(columns.sequencedAt(1));
    expect(frame).not.toHaveProperty("seq");
    expect(columns.sequencedAt(2)).toEqual(numbered(8));
  });
});

const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text,
    fc.constantFrom(null, true, false),
    fc.double(),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(text, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value;

/** A list in a list, and so on. */
function nested(depth: number): unknown {
  let value: unknown = "x";
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe("payloadBytes", () => {
  test("is 32 for each value, and the length of strings and names", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(payloadBytes(value)).toBe(naiveBytes(value));
      }),
    );
  });

  test("is the same for what is large or deep, where it is counted in another way", () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 1, max: 600 }), fc.boolean(), (value, count, wide) => {
        let payload: unknown = value;
        let inner = 0;
        if (wide) payload = Array.from({ length: count }, () => value);
        else for (; inner < count; inner++) payload = inner % 2 === 0 ? [payload] : { member: payload };
        expect(payloadBytes(payload)).toBe(naiveBytes(payload));
      }),
    );
  });

  // @covers R85
  test("is never less than the JSON, each escape in it counted as the one unit that it stands for", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const json = JSON.stringify(value).replace(/\\(?:u[0-9a-f]{4}|.)/g, "x");
        expect(payloadBytes(value)).toBeGreaterThanOrEqual(json.length);
      }),
    );
    for (const value of [-Number.MAX_VALUE, { a: -Number.MAX_VALUE }, [[], {}], false]) {
      expect(payloadBytes(value)).toBeGreaterThanOrEqual(JSON.stringify(value).length);
    }
  });

  test("counts a million values, and a depth of 200,000, without a stack", () => {
    expect(payloadBytes(new Array(1_000_000).fill(1))).toBe(32 + 32_000_000);
    expect(payloadBytes(nested(200_000))).toBe(33 + 32 * 200_000);
  });

  test("counts what is there twice twice, however often that is", () => {
    let shared: unknown = "";
    for (let level = 0; level < 40; level++) shared = [shared, shared];
    expect(payloadBytes(shared)).toBe(32 * (2 ** 41 - 1));
    // Wide, so that it is large before it is deep.
    for (const isList of [true, false]) {
      let wide: unknown = 0;
      let bytes = 32;
      for (let level = 0; level < 8; level++) {
        wide = isList
          ? Array(50).fill(wide)
          : Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, wide]));
        bytes = 32 + 50 * bytes + (isList ? 0 : 10 * 2 + 40 * 3);
      }
      expect(payloadBytes(wide)).toBe(bytes);
    }
  });

  test("counts binary data by its length, small and large", () => {
    for (const size of [0, 3, 5_000_000]) {
      expect(payloadBytes(new Uint8Array(size))).toBe(32 + size);
      expect(payloadBytes([nested(20), { data: new Uint8Array(size) }])).toBe(
        32 + naiveBytes(nested(20)) + 32 + 4 + 32 + size,
      );
    }
  });

  test("counts what JSON does not have as a value, and what is not there too", () => {
    for (const value of [undefined, () => 1, Symbol("s"), 10n, Number.NaN]) {
      expect(payloadBytes(value)).toBe(32);
      expect(payloadBytes({ value })).toBe(32 + 5 + 32);
      expect(payloadBytes([value])).toBe(64);
    }
  });

  test("refuses what holds itself, near and far", () => {
    const ring: { next?: unknown } = {};
    ring.next = [{ ring }];
    const far: unknown[] = [];
    far.push(Array.from({ length: 1000 }, (_, at) => (at === 999 ? [far] : at)));
    for (const value of [ring, far, { far }]) {
      expect(() => payloadBytes(value)).toThrow(TypeError);
      expect(() => payloadBytes(value)).toThrow(
        /^frame\.payload: expected JSON, got .* that contains itself$/,
      );
    }
  });
});

/** Lets everything go on that waits for nothing but its turn. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Whether a promise still waits when everything had its turn. */
async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  await turn();
  return !settled;
}

describe("FrameRing.wait", () => {
  test("in any order of things every reader gets what it wants, once, in order, or is told what it missed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(anyFrame, { minLength: 1, maxLength: 25 }),
        fc.array(fc.tuple(filter, amount), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(2, 1000),
        async (scheduler, frames, readers, maxFrames) => {
          const ring = new FrameRing({ maxFrames });
          const controller = new AbortController();
          const end = new Error("the end");
          const reads = readers.map(async ([which, howMuch]) => {
            const wanted = frames.flatMap((frame, at) => (isWanted(frame, which) ? [at + 1] : []));
            const got: number[] = [];
            let after = 0;
            let lost = 0;
            const query = { ...which, ...howMuch, signal: controller.signal };
            for (;;) {
              const reading = await ring.wait({ ...query, after }).catch((error: unknown) => error);
              if (reading === end) break;
              const { nextSeq, missed, ...rest } = reading as FrameReading;
              const here = numbersOf({ nextSeq, missed, ...rest });
              expect(here.length + missed).toBeGreaterThan(0);
              const lostHere = wanted.filter(
                (seq) => seq > after && seq <= nextSeq && !here.includes(seq),
              ).length;
              expect(lostHere).toBeLessThanOrEqual(missed);
              got.push(...here);
              lost += lostHere;
              after = nextSeq;
              await scheduler.schedule(Promise.resolve(), "reader");
            }
            expect(got).toEqual(wanted.filter((seq) => got.includes(seq)));
            expect(got.length + lost).toBe(wanted.length);
            if (maxFrames === 1000) expect(got).toEqual(wanted);
          });
          scheduler.scheduleSequence(frames.map((frame) => async () => void ring.append(frame)));
          await scheduler.waitIdle();
          expect(ring.lastSeq).toBe(frames.length);
          controller.abort(end);
          await Promise.all(reads);
          expect(getEventListeners(controller.signal, "abort")).toEqual([]);
        },
      ),
      { numRuns: rounds(38, 150) },
    );
  });

  test("gives at once what is there, and else the next that is wanted, with all that came in the same go", async () => {
    const ring = new FrameRing();
    ring.append(frameOf());
    expect(numbersOf(await ring.wait())).toEqual([1]);
    const waiting = ring.wait({ after: 1, types: ["assistant.done"] });
    ring.append(frameOf());
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done"));
    ring.append(frameOf());
    ring.append(frameOf({}, "assistant.done"));
    expect(await waiting).toMatchObject({ frames: [{ seq: 3 }, { seq: 5 }], nextSeq: 5, missed: 0 });
  });

  test("frames that nobody waits for pass by, and are not missed when they are gone", async () => {
    const ring = new FrameRing({ maxFrames: 2 });
    const waiting = ring.wait({ types: ["assistant.done"] });
    for (let i = 0; i < 10; i++) ring.append(frameOf());
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done"));
    expect(await waiting).toMatchObject({ frames: [{ seq: 11 }], nextSeq: 11, missed: 0 });
  });

  test("tells who waited that its frame was gone before it could be read", async () => {
    const ring = new FrameRing({ maxFrames: 2 });
    const waiting = ring.wait({ types: ["assistant.done"] });
    ring.append(frameOf({}, "assistant.done"));
    for (let i = 0; i < 5; i++) ring.append(frameOf());
    expect(await waiting).toEqual({ frames: [], nextSeq: 6, missed: 4 });
  });

  test("does not let a reader wait that has missed some already", async () => {
    const ring = new FrameRing({ maxFrames: 1 });
    for (let i = 0; i < 3; i++) ring.append(frameOf());
    expect(await ring.wait({ types: [] })).toEqual({ frames: [], nextSeq: 3, missed: 2 });
    expect(await isWaiting(ring.wait({ after: 3, types: [] }))).toBe(true);
  });

  test("a reader with a number of a ring that was lost is not deaf", async () => {
    const ring = new FrameRing();
    const waiting = ring.wait({ after: 500 });
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf());
    expect(await waiting).toMatchObject({ frames: [{ seq: 1 }], nextSeq: 1, missed: 0 });
    expect(numbersOf(await ring.wait({ after: 500 }))).toEqual([1]);
  });

  test("wakes all who want a frame, in the order in which they came", async () => {
    const ring = new FrameRing();
    const order: number[] = [];
    const waiting = Array.from({ length: 1000 }, async (_, at) => {
      const reading = await ring.wait(at % 3 === 0 ? {} : { types: ["assistant.delta"] });
      order.push(at);
      return numbersOf(reading);
    });
    ring.append(frameOf());
    expect(new Set((await Promise.all(waiting)).flat())).toEqual(new Set([1]));
    expect(order).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  });

  test("a query is what it was when the wait began", async () => {
    const ring = new FrameRing();
    const session = { channel: "a", id: "b" };
    const types = ["assistant.done"];
    const waiting = ring.wait({ session, types });
    session.id = "c";
    types.push("assistant.delta");
    ring.append(frameOf({}, "assistant.delta", { channel: "a", id: "b" }));
    expect(await isWaiting(waiting)).toBe(true);
    ring.append(frameOf({}, "assistant.done", { channel: "a", id: "b" }));
    expect(numbersOf(await waiting)).toEqual([2]);
  });

  test("throws the reason of its signal: aborted before, while it waits, and between the wake-up and the reading", async () => {
    const ring = new FrameRing();
    const before = AbortSignal.abort(new Error("before"));
    await expect(ring.wait({ signal: before })).rejects.toThrow(new Error("before"));
    const meanwhile = new AbortController();
    const waiting = ring.wait({ signal: meanwhile.signal });
    const other = ring.wait({ signal: new AbortController().signal });
    meanwhile.abort("no error, only a word");
    await expect(waiting).rejects.toBe("no error, only a word");
    const late = new AbortController();
    const woken = ring.wait({ signal: late.signal });
    ring.append(frameOf());
    late.abort(new Error("late"));
    await expect(woken).rejects.toThrow(new Error("late"));
    // What one reader gave up on is there for the others.
    expect(numbersOf(await other)).toEqual([1]);
    await expect(ring.wait({ signal: before })).rejects.toThrow(new Error("before"));
  });

  test("leaves no listener on a signal that outlives many waits", async () => {
    const ring = new FrameRing();
    const { signal } = new AbortController();
    for (let i = 0; i < 20; i++) {
      const waits = [ring.wait({ after: i, signal }), ring.wait({ after: i, signal })];
      expect(getEventListeners(signal, "abort")).toHaveLength(2);
      ring.append(frameOf());
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
      await Promise.all(waits);
    }
  });
});

describe("Waiters", () => {
  test("asks those that were woken or called off no more", async () => {
    const waiters = new Waiters();
    const controller = new AbortController();
    let asked = 0;
    const wants = ({ type }: { readonly type: string }) => {
      asked++;
      return type === "assistant.done";
    };
    const calledOff = waiters.next(wants, controller.signal);
    const woken = waiters.next(wants, undefined);
    waiters.notify(frameOf(), 1);
    expect(asked).toBe(2);
    controller.abort();
    await expect(calledOff).rejects.toBe(controller.signal.reason);
    waiters.notify(frameOf({}, "assistant.done", sessions[1]), 2);
    expect(asked).toBe(3);
    expect(await woken).toBe(2);
    waiters.notify(frameOf({}, "assistant.done"), 3);
    expect(asked).toBe(3);
  });
});
