import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EventStreamFrames,
  type EventStreamMessage,
  ServerSentEvents,
} from "../../src/core/event-streams.js";

describe("binary event streams", () => {
  /** The official codec writes the messages: `@smithy/core`, as the official client of Bedrock has it. */

  type Header = { readonly type: string; readonly value: unknown };
  interface Codec {
    encode(message: { readonly headers: Record<string, Header>; readonly body: Uint8Array }): Uint8Array;
  }

  const ofClient = createRequire(createRequire(import.meta.url).resolve("@aws-sdk/client-bedrock-runtime"));
  const { EventStreamCodec, Int64 } = ofClient("@smithy/core/event-streams");
  const codec: Codec = new EventStreamCodec(
    (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8"),
    (text: string) => Buffer.from(text, "utf8"),
  );

  const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
  const header: fc.Arbitrary<Header> = fc.oneof(
    fc.boolean().map((value) => ({ type: "boolean", value })),
    fc.integer({ min: -128, max: 127 }).map((value) => ({ type: "byte", value })),
    fc.integer({ min: -32_768, max: 32_767 }).map((value) => ({ type: "short", value })),
    fc.integer().map((value) => ({ type: "integer", value })),
    fc.integer().map((value) => ({ type: "long", value: Int64.fromNumber(value) })),
    fc.uint8Array({ maxLength: 9 }).map((value) => ({ type: "binary", value })),
    fc.string({ unit: "grapheme", maxLength: 12 }).map((value) => ({ type: "string", value })),
    fc.date({ noInvalidDate: true }).map((value) => ({ type: "timestamp", value })),
    fc.uuid().map((value) => ({ type: "uuid", value })),
  );
  const message = fc.record({
    headers: fc.dictionary(name, header, { maxKeys: 4, noNullPrototype: true }),
    body: fc.uint8Array({ maxLength: 40 }),
  });
  type Message = typeof message extends fc.Arbitrary<infer M> ? M : never;

  /** As the decoder gives it: of the headers the texts alone. */
  const decoded = ({ headers, body }: Message) => ({
    headers: Object.fromEntries(
      Object.entries(headers).flatMap(([key, { type, value }]) => (type === "string" ? [[key, value]] : [])),
    ),
    body: [...body],
  });
  const shown = ({ headers, payload }: EventStreamMessage) => ({
    headers: Object.fromEntries(headers),
    body: [...payload],
  });

  function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
    for (let at = 0, n = 0; at < bytes.length; n++) {
      const size = sizes[n % sizes.length] ?? bytes.length;
      yield bytes.slice(at, at + size);
      at += size;
    }
  }

  const sizes = fc.array(fc.nat({ max: 50 }), { maxLength: 9 }).map((list) => [...list, 3]);

  describe("EventStreamFrames", () => {
    it("gives the messages that the official codec wrote, however the bytes are cut", () => {
      fc.assert(
        fc.property(fc.array(message, { maxLength: 5 }), sizes, (messages, list) => {
          const frames = new EventStreamFrames();
          const bytes = Buffer.concat(messages.map((one) => codec.encode(one)));
          const found = [...cut(bytes, list)].flatMap((chunk) => {
            const given = frames.push(chunk).map(shown);
            // The caller may reuse its buffer.
            chunk.fill(0xff);
            return given;
          });
          expect(found).toEqual(messages.map(decoded));
        }),
      );
    });

    it("refuses any changed byte of a message before the message is given", () => {
      fc.assert(
        fc.property(message, fc.nat(), fc.integer({ min: 1, max: 255 }), sizes, (one, place, by, list) => {
          const bytes = new Uint8Array(codec.encode(one));
          const at = place % bytes.length;
          bytes[at] = (bytes[at] as number) ^ by;
          const frames = new EventStreamFrames();
          const read = () => [...cut(bytes, list)].flatMap((chunk) => frames.push(chunk));
          // A larger length is refused by its own checksum, so that nothing is waited for.
          expect(read).toThrow(expect.objectContaining({ code: "REPLY_FAILED" }));
        }),
      );
    });

    it("refuses lengths and headers that cannot be, with a correct checksum", () => {
      const sealed = (length: number, headersLength: number, rest: readonly number[]) => {
        const bytes = new Uint8Array(16 + rest.length);
        const view = new DataView(bytes.buffer);
        view.setUint32(0, length);
        view.setUint32(4, headersLength);
        view.setUint32(8, crc(bytes.subarray(0, 8)));
        bytes.set(rest, 12);
        view.setUint32(bytes.length - 4, crc(bytes.subarray(0, -4)));
        return bytes;
      };
      const { Crc32 } = ofClient("@smithy/core/checksum");
      function crc(bytes: Uint8Array): number {
        const sum = new Crc32();
        sum.update(bytes);
        return sum.digestSync();
      }
      const refused = expect.objectContaining({ code: "REPLY_FAILED" });
      for (const bytes of [
        sealed(15, 0, []),
        sealed(16, 1, []),
        sealed(0xffff_ffff, 0, []),
        sealed(20, 4, [1, 97, 10, 0]),
        sealed(20, 4, [9, 97, 97, 97]),
        sealed(21, 5, [1, 97, 7, 0, 9]),
      ]) {
        expect(() => new EventStreamFrames().push(bytes)).toThrow(refused);
      }
      expect(() => new EventStreamFrames(1024).push(sealed(1025, 0, []))).toThrow(refused);
      expect(new EventStreamFrames().push(sealed(16, 0, []))).toHaveLength(1);
    });
  });
});

describe("server-sent events", () => {
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

    it("returns the data of an event without its end when the stream ends", () => {
      for (const text of ["data: a\n", "data: a", "data: a\r"]) {
        const events = new ServerSentEvents();
        expect(events.push(text)).toEqual([]);
        expect(events.end()).toBe("a");
      }
      expect(new ServerSentEvents().end()).toBeUndefined();
    });

    it("joins a character that text chunks split", () => {
      const text = "data: 😀😀\n\n";
      expect(dataOf(...text.split(""))).toEqual(["😀😀"]);
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
});
