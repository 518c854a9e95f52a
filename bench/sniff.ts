import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixture } from "../test/support/fixtures.js";
import {
  gif,
  gifFrame,
  jpeg,
  jpegSegment,
  png,
  pngChunk,
  sof,
  vp8x,
  webp,
  webpAnimated,
  webpChunk,
} from "../test/support/media-files.js";
import { type Claim, type Row, timesTable } from "./support/claim.js";

const peer = "image-dimensions";
const times = 10_000;

/** A file as it is, or one made like it where there is none: of the same kind and length, without pixels. */
interface Sample {
  readonly what: string;
  readonly real?: string;
  readonly made: () => Uint8Array;
}

const many = (count: number, part: Uint8Array) => Array.from({ length: count }, () => part);
const screen = { width: 1024, height: 768 };

const samples: readonly Sample[] = [
  {
    what: "PNG, a screenshot of 106 kB",
    real: "screenshot.png",
    made: () =>
      png(screen, [pngChunk("iCCP", new Uint8Array(328))], [pngChunk("IDAT", new Uint8Array(105_000))]),
  },
  {
    what: "PNG, 3 kB",
    real: "red-circle.png",
    made: () => png(screen, [], [pngChunk("IDAT", new Uint8Array(2_500))]),
  },
  {
    what: "JPEG, a photo of 85 kB",
    real: "parrot.jpg",
    made: () =>
      jpeg(
        ...many(2, jpegSegment(0xdb, new Uint8Array(65))),
        sof(screen),
        jpegSegment(0xda, [1, 1, 0, 0, 63, 0]),
        new Uint8Array(84_000),
      ),
  },
  {
    what: "JPEG with 350 kB before its size",
    made: () => jpeg(...many(6, jpegSegment(0xe2, new Uint8Array(60_000))), sof(screen)),
  },
  {
    what: "GIF, 240 frames in 1.1 MB, each counted",
    real: "animated.gif",
    made: () => gif(screen, many(240, gifFrame(4_660)), 8),
  },
  {
    what: "WebP, 50 frames in 1 MB, each counted",
    made: () => webp(vp8x(screen, webpAnimated), ...many(50, webpChunk("ANMF", new Uint8Array(20_000)))),
  },
];

export const sniffing: Claim = {
  name: "sniff",
  title: `Tell what an image is, and its size: ${times.toLocaleString("en")} times, from bytes in memory`,
  async measure(runner) {
    const rows: Row[] = [];
    await runner.inDirectory("sniff", async (dir) => {
      for (const { what, real, made } of samples) {
        const file = real === undefined ? undefined : fixture(`media/${real}`);
        const isReal = file !== undefined && file.absent === undefined;
        const path = join(dir, "image");
        writeFileSync(path, isReal ? file.read() : made());
        const input = () => ({ path, times });
        const label = `${what} (${isReal ? "real" : "made"})`;
        const row = await runner.compare(label, "size", input, { ours: "media", peer });
        // No target: the peer reads headers alone.
        rows.push({ ...row, targets: [] });
      }
    });
    return timesTable(peer, rows);
  },
};
