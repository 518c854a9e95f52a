import { isAscii } from "node:buffer";
import { crc32 } from "node:zlib";
import type { LogPlatform } from "../backend.js";

/** What Node does natively. */
export const nodePlatform: LogPlatform = {
  crc32: (data) => crc32(data),
  encode: (text) => Buffer.from(text, "utf8"),
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
