import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServerSentEvents } from "../../src/internal/server-sent-events.js";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const dataOf = (...chunks: readonly (Uint8Array | string)[]): readonly string[] => {
  const events = new ServerSentEvents();
  return chunks.flatMap((chunk) => events.push(chunk));
};

/** Data without line ends of its own; the printer below writes one `data` field for each line. */
const line = fc.string({ unit: fc.constantFrom("a", " ", ":", "é", "😀", "{", "\u2028", "\u0085") });
const event = fc.record({
  data: fc.array(line, { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom("\n", "\r", "\r\n"),
  before: fc.constantFrom("", ": a comment", "event: message", "id: 7", "retry: 100", "unknown"),
  space: fc.boolean(),
});

const print = ({
  data,
  end,
  before,
  space,
}: typeof event extends fc.Arbitrary<infer E> ? E : never): string => {
  const fields = data.map((text) => `data:${space || text.startsWith(" ") ? " " : ""}${text}`);
  return [...(before === "" ? [] : [before]), ...fields, "", ""].slice(0, -1).join(end) + end;
};

describe("ServerSentEvents", () => {
  it("gives the data of each event, however the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), fc.array(fc.nat({ max: 9 })), (events, cuts) => {
        const bytes = encode(events.map(print).join(""));
        const chunks: Uint8Array[] = [];
        let at = 0;
        for (let cut = 0; at < bytes.length; cut++) {
          const size = (cuts[cut % Math.max(1, cuts.length)] ?? 3) + (cuts.length === 0 ? 1 : 0);
          const taken = Math.max(size, cut > 200 ? 1 : 0);
          chunks.push(bytes.slice(at, at + taken));
          at += taken;
        }
        expect(dataOf(...chunks)).toEqual(events.map(({ data }) => data.join("\n")));
      }),
    );
  });

  it("drops an event that has no end, comments, and a byte order mark", () => {
    expect(dataOf("\ufeffdata: a\n\ndata: b\n")).toEqual(["a"]);
    expect(dataOf(": ping\n\n", "\n\n", "event: x\n\n")).toEqual([]);
    expect(dataOf("data\n\n")).toEqual([""]);
  });

  it("keeps its own copy of a chunk", () => {
    const events = new ServerSentEvents();
    const buffer = encode("data: abc");
    expect(events.push(buffer)).toEqual([]);
    buffer.fill(0);
    expect(events.push("\n\n")).toEqual(["abc"]);
  });

  it("refuses an event over the bound, on one line or on many", () => {
    expect(() => new ServerSentEvents(10).push("data: 0123456789\n")).toThrow(RangeError);
    expect(() => new ServerSentEvents(30).push("data: 012345\n".repeat(20))).toThrow(RangeError);
    expect(new ServerSentEvents(20).push("data: 012345\n\n".repeat(20))).toHaveLength(20);
  });
});
