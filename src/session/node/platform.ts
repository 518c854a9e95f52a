import { isAscii } from "node:buffer";
import { crc32 } from "node:zlib";
import type { LogPlatform } from "../backend.js";

/** What Node does natively. */
export const nodePlatform: LogPlatform = {
  crc32: (bytes) => crc32(bytes),
  /** Lines that were read in one go lie in one buffer: that is decoded once, and the lines are cut out of it. */
  asciiTexts(lines) {
    let buffer: ArrayBufferLike | undefined;
    let text = "";
    return lines.map((line) => {
      if (line === undefined || !isAscii(line)) return undefined;
      if (line.buffer !== buffer) {
        buffer = line.buffer;
        text = Buffer.from(buffer).toString("latin1");
      }
      return text.slice(line.byteOffset, line.byteOffset + line.length);
    });
  },
};
