import { describe, stringArgument } from "../../internal/arguments.js";
import { digestArgument } from "../hash.js";
import { type BlobStoreOptions, blobStore } from "../store.js";
import type { BlobStore } from "../types.js";
import type { Durability } from "./directory.js";
import { type BlobDisk, nodeBlobDisk } from "./disk.js";
import { FileBlobBackend } from "./file-backend.js";
import { nodeSha256 } from "./hashes.js";
import { flat, sharded } from "./layout.js";

/** Options of {@link fileBlobStore}. */
export interface FileBlobStoreOptions extends BlobStoreOptions {
  /** The directory of the store; made when the first blob is put. */
  readonly dir: string;
  /**
   * `sharded`, the default: `blobs/<algorithm>/<two digits>/<digits>`. `flat`: `blobs/<digits>.<extension>`, the extension
   * by the media type of the put, all blobs of the one algorithm `digest`.
   */
  readonly layout?: "sharded" | "flat";
  /** What a put that resolved survives. `disk`, the default: the loss of power. `os`: the death of the process. */
  readonly durability?: Durability;
}

/**
 * Blobs in files, one a blob, readable by their owner and by whoever the directory lets in. Several processes may use the
 * same directory. Bytes are written aside, synced, and named by renaming; then the folder is synced. What does not match
 * its name is moved to `quarantine/`, what a collection takes to `trash/`, and a partition is a directory `@<name>`.
 *
 * @throws TypeError, RangeError for options that are none
 * @example
 * ```ts
 * const blobs = fileBlobStore({ dir: ".agent/blobs" });
 * const { ref } = await blobs.put(bytes);
 * ```
 * @example
 * ```ts
 * // As other programs lay them out: sessions/blobs/<sha256>.<ext>, and context/blobs/<blake3>.<ext>.
 * const images = fileBlobStore({ dir: "sessions", layout: "flat" });
 * const pasted = fileBlobStore({ dir: "context", layout: "flat", digest: "blake3" });
 * await images.put(bytes, { mediaType: "image/png" });
 * ```
 */
export function fileBlobStore(options: FileBlobStoreOptions): BlobStore {
  return fileBlobStoreOn(nodeBlobDisk(), options);
}

/** {@link fileBlobStore} on any disk. */
export function fileBlobStoreOn(disk: BlobDisk, options: FileBlobStoreOptions): BlobStore {
  const { layout = "sharded", durability = "disk", digest = "sha256", hashes = [] } = options;
  if (layout !== "sharded" && layout !== "flat") {
    throw new TypeError(`layout: expected "sharded" or "flat", got ${describe(layout)}`);
  }
  if (durability !== "disk" && durability !== "os") {
    throw new TypeError(`durability: expected "disk" or "os", got ${describe(durability)}`);
  }
  const backend = new FileBlobBackend({
    dir: stringArgument("dir", options.dir),
    disk,
    layout: layout === "flat" ? flat(digestArgument("digest", digest)) : sharded,
    durability,
  });
  return blobStore(backend, { ...options, hashes: [nodeSha256, ...hashes] });
}
