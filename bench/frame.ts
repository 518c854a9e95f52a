import { join } from "node:path";
import { type Claim, timesTable } from "./support/claim.js";

const sides = { ours: "frame", peer: "by-hand" };
const images = { count: 4, size: 5 * 2 ** 20, warm: 10 };
const times = 3;

/**
 * By hand nothing is checked, no bytes are read back, and no request is made: the base64 of each image is decoded, hashed, written
 * as lastingly as the store does (a file beside its name, synced, renamed, the folder synced; all four at once), and encoded
 * again from what is in memory.
 */
export const frame: Claim = {
  name: "frame",
  title:
    "A frame of 20 MiB, 4 images of 5 MiB, from parsed JSON through check and file store to the pieces of a request for Anthropic, beside decoding, hashing, writing, syncing and encoding by hand, unchecked and without reading back",
  async measure(runner) {
    return runner.inDirectory("frame", async (dir) => {
      const input = (round: string) => ({ ...images, dir: join(dir, round) });
      const row = await runner.compare("check, receiveMessage, project, toBody", "carry", input, sides);
      const met = row.ratio !== undefined && row.ratio.median >= 1 / times;
      return timesTable("by hand", [
        { ...row, targets: [{ text: `within ${times} times of the work by hand`, met }] },
      ]);
    });
  },
};
