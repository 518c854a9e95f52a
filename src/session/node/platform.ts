import { isAscii } from "node:buffer";
import { crc32 } from "node:zlib";
import type { LogPlatform } from "../backend.js";

/** Where the next texts go: lines that are made one after the other lie so, and go to the disk as one piece. */
let slab = Buffer.alloc(0);
let used = 0;
const slabBytes = 1024 * 1024;
/** No unit of a string takes more bytes in UTF-8. */
const maxUnitBytes = 3;

function encode(text: string): Uint8Array {
  const most = maxUnitBytes * text.length;
  if (most > slabBytes / 16) return Buffer.from(text, "utf8");
  if (slab.length - used < most) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    used = 0;
  }
  const start = used;
  used += slab.write(text, start, "utf8");
  return slab.subarray(start, used);
}

/** What Node does natively. */
export const nodePlatform: LogPlatform = {
  crc32: (data) => crc32(data),
  encode,
  asciiTexts(lines) {
    // Lines that were read in one go lie in one buffer.
    let view: Buffer = Buffer.alloc(0);
    return lines.map((line) => {
      if (line === undefined || !isAscii(line)) return undefined;
      if (line.buffer !== view.buffer) view = Buffer.from(line.buffer);
      return view.toString("latin1", line.byteOffset, line.byteOffset + line.length);
    });
  },
};
