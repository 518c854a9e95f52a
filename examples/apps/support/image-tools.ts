import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import type { BlobStore, Resource } from "sessile";
import { ingest } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import { readLocalFile } from "sessile/node";
import { type Colour, makePng } from "./make-media.js";
import { confinedPath, declared, stringOf, type ToolOutput, type Tools } from "./tools.js";

/** The declarations of {@link imageTools}. */
export const imageToolDeclarations: readonly Anthropic.Tool[] = [
  declared("view_image", "Shows an image of the workspace, to you and to whoever you talk to.", "path"),
  declared(
    "plot",
    "Draws numbers, with commas between them, as bars, into a PNG file of the workspace.",
    "path",
    "numbers",
  ),
];

/** Tools that return images. They read and write only in the workspace, and store images as blobs. */
export function imageTools(workspace: string, blobs: Pick<BlobStore, "put">): Tools {
  const view = async (path: string, signal: AbortSignal): Promise<ToolOutput> =>
    shown(path, async () => {
      const file = await readLocalFile(resolve(workspace, path), { roots: [workspace], signal });
      return ingest(file, { blobs, signal, limits: limitProfiles.tether, source: "tool" });
    });
  return new Map([
    ["view_image", (args, { signal }) => view(stringOf(args, "path"), signal)],
    [
      "plot",
      async (args, { signal }) => {
        const path = stringOf(args, "path");
        const file = await confinedPath(workspace, path);
        const bytes = barChart(numbersIn(stringOf(args, "numbers")));
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, bytes);
        // Not read back: another conversation may have written a file of the same name since.
        const drawn = { bytes, name: basename(file) };
        return shown(path, () =>
          ingest(drawn, { blobs, signal, limits: limitProfiles.tether, source: "tool" }),
        );
      },
    ],
  ] satisfies [string, Tools extends ReadonlyMap<string, infer T> ? T : never][]);
}

async function shown(path: string, take: () => Promise<Resource>): Promise<ToolOutput> {
  const image = await take().catch((error: unknown) => {
    // The message of the error may have the path of the workspace.
    if (error instanceof SessileError) throw new Error(`${path}: ${error.code}`);
    throw error;
  });
  if (image.kind !== "image") throw new Error(`${path} is no image`);
  const text = `${path}, ${image.width} x ${image.height} pixels`;
  return { text, resources: [image], details: { contentSha256: image.contentSha256 } };
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
