/** The layouts of blob files in a directory: sharded by digest, or flat with extensions. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import type { DigestAlgorithm, HashFunction } from "../../../blobs/index.js";
import { partsByRef, toRef } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { knownMediaTypes, mediaTypeInfo } from "../../../core/media-types.js";

/** SHA-256 of Node, about ten times as fast as a portable one. */
export const nodeSha256: HashFunction = { name: "sha256", create: () => createHash("sha256") };

/** Where blobs lie below the directory of a store. */
export interface Layout {
  /** The content of `store.json`. */
  readonly description: Readonly<Record<string, unknown>>;
  /** The folder of a blob, relative to the store. */
  folderByRef(ref: BlobRef): string;
  /** The file name of a new blob. */
  nameFor(ref: BlobRef, mediaType: string | undefined): string;
  /** The file names that a blob may have, likeliest first; empty if this layout cannot have it. */
  namesByRef(ref: BlobRef): readonly string[];
  /** The folders that hold blobs. */
  folders(list: (folder: string) => Promise<readonly string[]>): AsyncIterable<string>;
  /** The ref of a file in such a folder; undefined if the file is no blob. */
  refAt(folder: string, name: string): BlobRef | undefined;
}

/** The format that this version reads and writes. */
export const formatVersion = 1;

/** `blobs/<algorithm>/<first two digits>/<digits>`: any number of blobs, of both algorithms. */
export const sharded: Layout = {
  description: { format: formatVersion },
  folderByRef(ref) {
    const { algorithm, hex } = partsByRef(ref);
    return join("blobs", algorithm, hex.slice(0, 2));
  },
  nameFor: (ref) => partsByRef(ref).hex,
  namesByRef: (ref) => [partsByRef(ref).hex],
  async *folders(list) {
    for (const algorithm of ["sha256", "blake3"]) {
      for (const shard of await list(join("blobs", algorithm))) {
        if (/^[0-9a-f]{2}$/.test(shard)) yield join("blobs", algorithm, shard);
      }
    }
  },
  refAt(folder, name) {
    const [, algorithm = "", shard = ""] = folder.split(/[/\\]/);
    return name.startsWith(shard) ? toRef(algorithm, name) : undefined;
  },
};

/**
 * `blobs/<digits>.<extension>`, one algorithm a store: a folder for people and other programs. The extension
 * comes from the media type of the put.
 */
export function flat(algorithm: DigestAlgorithm): Layout {
  return {
    description: { format: formatVersion, layout: "flat", digest: algorithm },
    folderByRef: () => "blobs",
    nameFor: (ref, mediaType) => `${partsByRef(ref).hex}.${mediaTypeExtension(mediaType)}`,
    namesByRef(ref) {
      const { hex, algorithm: other } = partsByRef(ref);
      return other === algorithm ? knownExtensions.map((extension) => `${hex}.${extension}`) : [];
    },
    async *folders() {
      yield "blobs";
    },
    refAt: (_, name) => toRef(algorithm, /^([0-9a-f]{64})\.[A-Za-z0-9]{1,8}$/.exec(name)?.[1] ?? ""),
  };
}

const unknownExtension = "bin";

/** Every extension that {@link mediaTypeExtension} gives, the likeliest first. */
export const knownExtensions: readonly string[] = /* @__PURE__ */ [
  ...knownMediaTypes.map(({ extensions }) => extensions[0]),
  unknownExtension,
];

/**
 * The extension of a media type's files, for layouts that show it, without the dot; `bin` for one that is
 * unknown or not given. Parameters and case do not matter.
 */
export function mediaTypeExtension(mediaType: string | undefined): string {
  return mediaTypeInfo(mediaType ?? "")?.extensions[0] ?? unknownExtension;
}
