/** The source of a viewer's page: a session as it is now. */

import { type BlobStore, memoryBlobStore } from "../blobs/index.js";
import type { viewerHtml } from "../viewer/internal.js";
import type { CommandContext, Parsed } from "./command.js";
import { readOwn } from "./damage.js";
import { blobStoreOf, type NamedSession } from "./sources.js";

export interface Viewed {
  readonly source: Parameters<typeof viewerHtml>[0];
  readonly blobs: BlobStore | undefined;
}

/** Reads a session in whole. */
export async function readViewed(
  { path, read }: NamedSession,
  parsed: Parsed,
  context: CommandContext,
): Promise<Viewed> {
  if (read === undefined) {
    const source = await readOwn(path, context);
    return { source, blobs: blobStoreOf(path, parsed, context) };
  }
  const blobs = memoryBlobStore();
  return { source: await read({ blobs, keep: "none" }), blobs };
}
