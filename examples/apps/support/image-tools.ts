import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { BlobStore, Resource } from "sessile";
import { ingest } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import { readLocalFile } from "sessile/node";
import { type Tool, tool } from "sessile/turn";
import { type Colour, makePng } from "./make-media.js";
import { confinedPath, texts } from "./tools.js";

/** Tools that return images. They read and write only in the workspace, and store images as blobs. */
export function imageTools(workspace: string, blobs: Pick<BlobStore, "put">): readonly Tool[] {
  const stored = { blobs, limits: limitProfiles.tether, source: "tool" } as const;
  return [
    tool({
      name: "view_image",
      description: "Shows an image of the workspace, to you and to whoever you talk to.",
      parameters: texts("path"),
      run: ({ path }, { signal }) =>
        shown(path, async () => {
          const file = await readLocalFile(resolve(workspace, path), { roots: [workspace], signal });
          return ingest(file, { ...stored, signal });
        }),
    }),
    tool({
      name: "plot",
      description: "Draws numbers, with commas between them, as bars, into a PNG file of the workspace.",
      parameters: texts("path", "numbers"),
      run: async ({ path, numbers }, { signal }) => {
        const file = await confinedPath(workspace, path);
        const bytes = barChart(numbersIn(numbers));
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, bytes);
        // Not read back: another conversation may have written a file of the same name since.
        return shown(path, () => ingest({ bytes, name: basename(file) }, { ...stored, signal }));
      },
    }),
  ];
}

async function shown(path: string, take: () => Promise<Resource>) {
  const image = await take().catch((error: unknown) => {
    // The message of the error may have the path of the workspace.
    if (error instanceof SessileError) throw new Error(`${path}: ${error.code}`);
    throw error;
  });
  if (image.kind !== "image") throw new Error(`${path} is no image`);
  const content = [`${path}, ${image.width} x ${image.height} pixels`, image];
  return { content, details: { contentSha256: image.contentSha256 } };
}

const maxBars = 100;

function numbersIn(text: string): readonly number[] {
  const numbers = text.split(",").map(Number);
  if (numbers.length <= maxBars && numbers.every(Number.isFinite)) return numbers;
  throw new Error(`numbers: expected at most ${maxBars} numbers with commas between them`);
}

const paper: Colour = [250, 250, 247];
const ink: Colour = [38, 91, 140];

function barChart(numbers: readonly number[]): Uint8Array {
  const [bar, gap, height] = [16, 8, 120];
  const most = Math.max(1, ...numbers.map(Math.abs));
  return makePng(gap + numbers.length * (bar + gap), height, (x, y) => {
    const at = Math.floor((x - gap) / (bar + gap));
    const isBar = x >= gap && (x - gap) % (bar + gap) < bar;
    return isBar && height - y <= (Math.abs(numbers[at] ?? 0) / most) * (height - gap) ? ink : paper;
  });
}
