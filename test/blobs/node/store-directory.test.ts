import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { sharded } from "../../../src/storage/files/blobs/layout.js";
import { StoreDirectory } from "../../../src/storage/files/blobs/store-directory.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { hookedFileSystem, systemError } from "../../support/hooked-file-system.js";

/** The directories above one, innermost first. */
function above(path: string): string[] {
  return path === dirname(path) ? [] : [dirname(path), ...above(dirname(path))];
}

/** A directory whose synced folders are told. */
function told(path: string): { readonly directory: StoreDirectory; readonly synced: string[] } {
  const synced: string[] = [];
  const disk = hookedFileSystem(({ name, args }) => {
    if (name === "syncDirectory") synced.push(args[0] as string);
  });
  return { directory: new StoreDirectory(path, disk, sharded, "disk"), synced };
}

describe("the folders of a store", () => {
  test("last with all that is above them and new", async () => {
    const root = temporaryDirectory();
    const { directory, synced } = told(join(root, "a", "b"));
    directory.createFolder("blobs/sha256/ab");
    await directory.sync("blobs/sha256/ab");
    const at = (...parts: string[]) => join(root, "a", "b", ...parts);
    expect(synced).toEqual([
      at("blobs/sha256/ab"),
      at("blobs/sha256"),
      at("blobs"),
      at(),
      join(root, "a"),
      root,
      ...above(root),
    ]);
    synced.length = 0;
    await directory.sync("blobs/sha256/ab");
    expect(synced).toEqual([at("blobs/sha256/ab")]);
    synced.length = 0;
    directory.createFolder("blobs/sha256/cd");
    await directory.sync("blobs/sha256/cd");
    expect(synced).toEqual([at("blobs/sha256/cd"), at("blobs/sha256")]);
  });

  test("last also where another process has made them, and may not have come to its sync", async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, "blobs/sha256/ab"), { recursive: true });
    const { directory, synced } = told(root);
    directory.createFolder("blobs/sha256/ab");
    await directory.sync("blobs/sha256/ab");
    expect(synced).toEqual(
      ["blobs/sha256/ab", "blobs/sha256", "blobs", "."].map((path) => join(root, path)).concat(above(root)),
    );
  });

  test("need no right to read what the store lies in", async () => {
    const root = temporaryDirectory();
    const disk = hookedFileSystem(({ name, args }) => {
      if (name === "syncDirectory" && args[0] === dirname(root)) throw systemError("EACCES");
    });
    const directory = new StoreDirectory(root, disk, sharded, "disk");
    directory.createFolder("blobs");
    await directory.sync("blobs");
    const strict = hookedFileSystem(({ name, args }) => {
      if (name === "syncDirectory" && args[0] === root) throw systemError("EACCES");
    });
    await expect(new StoreDirectory(root, strict, sharded, "disk").sync("blobs")).rejects.toThrow("EACCES");
  });
});

describe("store.json", () => {
  test("is written once, by whoever is first", async () => {
    const dir = temporaryDirectory();
    await Promise.all(
      Array.from({ length: 8 }, () => new StoreDirectory(dir, nodeFileSystem, sharded, "os").prepare()),
    );
    expect(readFileSync(join(dir, "store.json"), "utf8")).toBe('{"format":1}\n');
    expect(readdirSync(join(dir, "tmp"))).toEqual([]);
  });

  test("of another format that comes in between counts", async () => {
    const dir = temporaryDirectory();
    const disk = hookedFileSystem(({ name }) => {
      if (name === "link") writeFileSync(join(dir, "store.json"), '{"format":2}');
    });
    await expect(new StoreDirectory(dir, disk, sharded, "os").prepare()).rejects.toMatchObject({
      code: "BLOB_STORE_FORMAT",
    });
    expect(readFileSync(join(dir, "store.json"), "utf8")).toBe('{"format":2}');
  });
});
