import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileBlobStore } from "sessile/blobs/node";
import type { BlobRef } from "sessile/content";
import type { FileFacts } from "sessile/context-tokens";

/** The most that is imported at a time, in bytes. */
export const maxImportBytes = 10 * 1024 * 1024;

/** Where the attachments of a workspace's messages lie: `context/blobs/<blake3>.<ext>`, and `context/tmp` while they are written. */
export interface ContextDirectory {
  /** Absolute. */
  readonly path: string;
  /** Stores bytes once, whoever brings them; gives the absolute path of the file. */
  store(bytes: Uint8Array, mediaType: string): Promise<string>;
  /** What a user interface shows of a stored file; undefined where it is gone. */
  factsOf(path: string): FileFacts | undefined;
}

/** The context directory of a workspace, below the directory of all conversations. */
export function contextDirectory(
  conversations: string,
  project: string,
  workspace: string,
): ContextDirectory {
  const path = join(conversations, project, workspace, "context");
  const blobs = fileBlobStore({ dir: path, layout: "flat", digest: "blake3" });
  return {
    path,
    async store(bytes, mediaType) {
      const { ref } = await blobs.put(bytes, { mediaType, maxBytes: maxImportBytes });
      return pathOf(join(path, "blobs"), ref);
    },
    factsOf(path) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined || !found.isFile()) return undefined;
      // A digest is no name for people; its beginning will do. A terminal shows an image by its path.
      const name = basename(path).replace(/^([0-9a-f]{8})[0-9a-f]{56}/, "$1");
      return { name, size: found.size, thumbnail: path };
    },
  };
}

/** The extension is that of whoever stored the bytes first. */
function pathOf(folder: string, ref: BlobRef): string {
  const digits = ref.slice(ref.indexOf(":") + 1);
  const name = readdirSync(folder).find((name) => name.startsWith(`${digits}.`));
  if (name === undefined) throw new Error(`${ref} was stored, and is not there`);
  return join(folder, name);
}
