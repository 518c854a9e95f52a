import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttachmentContentBlock, AttachmentError } from "sessile/claude-agent";
import { temporaryDirectory } from "../../../session/node/temporary-directory.js";
import { bytesOf } from "../../../support/media-files.js";

export const MiB = 2 ** 20;

/** A directory of the running test's own, in which it makes the files that a user attaches. */
export class AttachmentFolder {
  readonly dir = realpathSync(temporaryDirectory());

  /** The path of a file with these contents. */
  write(name: string, contents: Uint8Array | string): string {
    const path = join(this.dir, name);
    writeFileSync(path, contents);
    return path;
  }

  /** The path of a file of text with so many bytes. */
  text(name: string, bytes: number): string {
    return this.write(name, Buffer.alloc(bytes, "a"));
  }

  /** The path of a file with so many bytes that begins as a PDF does. */
  pdf(name: string, bytes: number): string {
    return this.write(name, bytesOf("%PDF-1.7\n", Buffer.alloc(bytes - 9, "%")));
  }
}

/** The codes of what failed, in order. */
export const codes = (errors: readonly AttachmentError[]): readonly string[] =>
  errors.map(({ code }) => code);

/** The titles of documents and the types of images, in order. */
export function named(blocks: readonly AttachmentContentBlock[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.type === "text") return [];
    return block.type === "document" ? [block.title] : [block.source.media_type];
  });
}

/** The first block, which is the warning where any file failed. */
export function firstText([first]: readonly AttachmentContentBlock[]): string {
  return first?.type === "text" ? first.text : "";
}
