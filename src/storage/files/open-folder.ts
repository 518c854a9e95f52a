/** The door for files: sessions, blobs and attachments in one folder. */

import { join, resolve } from "node:path";
import { type IngestSource, ingest } from "../../attachments/index.js";
import type { Resource } from "../../content/index.js";
import { stringArgument } from "../../core/arguments.js";
import type { AgentStorage, AttachOptions } from "../../session/index.js";
import { type ReadLocalFileOptions, readLocalFile } from "./attachments/index.js";
import { fileBlobStore } from "./blobs/index.js";
import { type FileSessionStoreOptions, fileSessionStore } from "./session-store.js";

/** Options of {@link openFolder}: those of {@link fileSessionStore}, without its places. */
export type OpenFolderOptions = Omit<FileSessionStoreOptions, "dir" | "blobs">;

/** Options of a folder's `attach`: `roots` and `links` bound a path that a model chose. */
export type AttachFileOptions = AttachOptions & Pick<ReadLocalFileOptions, "roots" | "links">;

/** A folder with sessions and blobs, whose `attach` reads files too. */
export interface FolderStorage extends AgentStorage<string | URL | IngestSource> {
  /**
   * Stores an attachment. A string or URL names a file, which {@link readLocalFile} reads. A `file:` link of a
   * block is read only with `roots`.
   */
  attach(source: string | URL | IngestSource, options?: AttachFileOptions): Promise<Resource>;
}

/**
 * Opens a folder: sessions in `sessions`, blobs in `blobs`. Nothing is created before the first write. Several
 * processes may open the same folder.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const { sessions, blobs, attach } = openFolder(".agent");
 * const session = await sessions.create({ cwd: process.cwd() });
 * await session.appendMessage(userMessage("Why?", await attach("package.json")));
 * const request = await project(await session.context(), anthropicMessages({ model }), { blobs });
 * ```
 */
export function openFolder(path: string, options: OpenFolderOptions = {}): FolderStorage {
  const dir = resolve(stringArgument("path", path));
  const { durability } = options;
  const blobs = fileBlobStore({
    dir: join(dir, "blobs"),
    ...(durability === undefined ? {} : { durability }),
  });
  const sessions = fileSessionStore({ ...options, dir: join(dir, "sessions"), blobs });
  const attach: FolderStorage["attach"] = async (source, given = {}) => {
    const { roots, links, ...ingestOptions } = given;
    const { maxBytes, signal } = ingestOptions;
    const bounds = { roots, links, maxBytes, signal };
    const read = (file: string | URL) => readLocalFile(file, bounds);
    if (typeof source === "string")
      return ingest(await read(resolve(stringArgument("source", source))), { ...ingestOptions, blobs });
    if (source instanceof URL) return ingest(await read(source), { ...ingestOptions, blobs });
    // A link in a block comes from a tool or a model, so that it opens no file without roots.
    const files = roots === undefined ? {} : { readFile: read };
    const [resource] = await ingest([source], { ...files, ...ingestOptions, blobs });
    return resource as Resource;
  };
  return { sessions, blobs, attach };
}
