import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fourCC, u16be, u16le, u24le, u32be, u32le } from "../../src/media/byte-reader.js";

describe("integers in bytes", () => {
  it("are those of a DataView, at any place", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 12 }), fc.nat(), (bytes, place) => {
        const at = place % (bytes.length - 3);
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        expect(u16be(bytes, at)).toBe(view.getUint16(at));
        expect(u16le(bytes, at)).toBe(view.getUint16(at, true));
        expect(u24le(bytes, at)).toBe(view.getUint32(at, true) % (1 << 24));
        expect(u32be(bytes, at)).toBe(view.getUint32(at));
        expect(u32le(bytes, at)).toBe(view.getUint32(at, true));
      }),
    );
  });

  it("have zeros past the end", () => {
    expect(u32be(Uint8Array.of(0xff, 0xff), 0)).toBe(0xffff0000);
    expect(u32le(Uint8Array.of(0xff), 5)).toBe(0);
  });
});

describe("fourCC", () => {
  it("is what u32be reads where the name stands", () => {
    const name = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
      minLength: 4,
      maxLength: 4,
    });
    fc.assert(
      fc.property(name, (text) => {
        expect(fourCC(text)).toBe(u32be(new TextEncoder().encode(text), 0));
      }),
    );
  });
});
