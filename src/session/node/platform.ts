import { isAscii } from "node:buffer";
import { crc32 } from "node:zlib";
import type { LogPlatform } from "../backend.js";
import { sealedLine, sealLength, writeSeal } from "../codec/json.js";

/** Where the next lines go: those that are made one after the other lie so, and go to the disk as one piece. */
let slab = Buffer.alloc(0);
let used = 0;
const slabBytes = 1024 * 1024;
/** No unit of a string takes more bytes in UTF-8. */
const maxUnitBytes = 3;

/** What Node does natively. */
export const nodePlatform: LogPlatform = {
  crc32: (bytes) => crc32(bytes),
  sealedLine(head, rest) {
    const most = head.length + maxUnitBytes * rest.length + sealLength + 1;
    if (most > slabBytes / 16) return sealedLine(head, rest, crc32);
    if (slab.length - used < most) {
      slab = Buffer.allocUnsafeSlow(slabBytes);
      used = 0;
    }
    const start = used;
    let end = start + slab.write(head, start, "latin1");
    end += slab.write(rest, end, "utf8");
    writeSeal(slab, end, crc32(slab.subarray(start, end)));
    used = end + sealLength + 1;
    return slab.subarray(start, used);
  },
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
