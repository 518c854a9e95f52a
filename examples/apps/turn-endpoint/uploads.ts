import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Media, sniff } from "sessile/media";
import { resolveAttachmentsToContentBlocks } from "sessile/projections/claude-agent/node";
import { blockBytes } from "./block-bytes.js";
import { HttpFailure } from "./http-failure.js";
import { oneByOne } from "./one-by-one.js";
import { uploadName } from "./upload-name.js";

/** A file that was uploaded. */
export interface UploadedFile {
  /** Absolute; what a turn names it by. */
  readonly path: string;
  readonly name: string;
  /** By its bytes. */
  readonly mediaType: string;
  readonly kind: "image" | "file";
  readonly size: number;
  readonly width?: number;
  readonly height?: number;
}

/** Keeps files until a turn takes them in. */
export interface Uploads {
  /**
   * Keeps a file that a turn would take.
   *
   * @throws HttpFailure 415 with the reason why no turn would take it; what the source throws. Nothing is left of it then.
   */
  receive(given: string, source: AsyncIterable<Uint8Array>): Promise<UploadedFile>;
}

/** Uploads in a directory, each in one of its own, so that it keeps its name. What a process that died left half there goes. */
export async function openUploads(dir: string, max: number): Promise<Uploads> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const name of await readdir(dir)) {
    if (name.endsWith(partial)) await rm(join(dir, name), { recursive: true, force: true });
  }
  // A file is held whole while it is looked at: one after the other.
  const inTurn = oneByOne();
  return {
    async receive(given, source) {
      const id = newId();
      const aside = join(dir, `${id}${partial}`);
      const name = uploadName(given);
      try {
        await mkdir(aside, { mode: 0o700 });
        await pipeline(source, createWriteStream(join(aside, name), { flags: "wx", mode: 0o600 }));
        const facts = await inTurn(() => look(join(aside, name), aside));
        await rename(aside, join(dir, id));
        await inTurn(() => removeOldest(dir, max));
        return { path: join(dir, id, name), name, ...facts };
      } catch (error) {
        await rm(aside, { recursive: true, force: true });
        throw error;
      }
    },
  };
}

const partial = ".part";

/** Sorts by time. */
function newId(): string {
  return `${Date.now().toString(16).padStart(12, "0")}-${randomBytes(4).toString("hex")}`;
}

/** As a turn will look at it: the same code says now what it would say then. */
async function look(path: string, root: string): Promise<Omit<UploadedFile, "path" | "name">> {
  const { blocks, errors } = await resolveAttachmentsToContentBlocks("", [path], { roots: [root] });
  const [error] = errors;
  const file = blocks.find((block) => block.type !== "text");
  if (error !== undefined || file === undefined) {
    const { code = "EMPTY", reason = "it is empty" } = error ?? {};
    throw new HttpFailure(415, { code, message: reason });
  }
  return factsOf(blockBytes(file));
}

function factsOf(bytes: Uint8Array): Omit<UploadedFile, "path" | "name"> {
  const media = sniff(bytes) as Media;
  const { mediaType } = media;
  if (media.kind !== "image") return { mediaType, kind: "file", size: bytes.length };
  const { width, height } = media;
  return { mediaType, kind: "image", size: bytes.length, width, height };
}

async function removeOldest(dir: string, max: number): Promise<void> {
  const ids = (await readdir(dir)).filter((name) => !name.endsWith(partial)).sort();
  for (const id of ids.slice(0, Math.max(0, ids.length - max))) {
    await rm(join(dir, id), { recursive: true, force: true });
  }
}
