/** Opens a blob store in a directory. */

import { type BlobStore, type BlobStoreOptions, blobStore } from "../../../blobs/index.js";
import { digestArgument } from "../../../blobs/internal.js";
import { type Durability, oneOfOption, stringArgument } from "../../../core/arguments.js";
import type { FileSystem } from "../../../core/node/file-system.js";
import { createNodeFileSystem } from "../../../core/node/node-file-system.js";
import { FileBlobBackend } from "./file-backend.js";
import { flat, nodeSha256, sharded } from "./layout.js";

/** Options of {@link fileBlobStore}. */
export interface FileBlobStoreOptions extends BlobStoreOptions {
  /** The directory of the store; created by the first put. */
  readonly dir: string;
  /**
   * `sharded`, the default: `blobs/<algorithm>/<two digits>/<digits>`. `flat`: `blobs/<digits>.<extension>`,
   * the extension by the media type of the put, all blobs of the one algorithm `digest`.
   */
  readonly layout?: "sharded" | "flat";
  /**
   * `disk`, the default: a put that resolved survives a power loss. `os`: it survives a crash of the process.
   */
  readonly durability?: Durability;
}

/**
 * Blobs in read-only files, one a blob. Several processes may use the same directory. Bytes are written to a
 * temp file, fsynced and published by an atomic rename; then the folder is fsynced. A file that does not
 * match its name is moved to `quarantine/`, a collected one to `trash/`. A partition is a directory
 * `@<name>`.
 *
 * @throws TypeError, RangeError for invalid options
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
  return fileBlobStoreOn(createNodeFileSystem({ paceSyncs: true }), options);
}

/** {@link fileBlobStore} on any file system. */
export function fileBlobStoreOn(fileSystem: FileSystem, options: FileBlobStoreOptions): BlobStore {
  const { digest = "sha256", hashes = [] } = options;
  const layout = oneOfOption("layout", options.layout, ["sharded", "flat"]);
  const durability = oneOfOption("durability", options.durability, ["disk", "os"]);
  const backend = new FileBlobBackend({
    dir: stringArgument("dir", options.dir),
    fileSystem,
    layout: layout === "flat" ? flat(digestArgument("digest", digest)) : sharded,
    durability,
  });
  return blobStore(backend, { ...options, hashes: [nodeSha256, ...hashes] });
}
