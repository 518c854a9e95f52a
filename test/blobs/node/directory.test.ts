import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { placeNew, StoreDirectory } from "../../../src/blobs/node/directory.js";
import { nodeBlobDisk } from "../../../src/blobs/node/disk.js";
import { sharded } from "../../../src/blobs/node/layout.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { hookedDisk, systemError } from "./hooked-disk.js";

/** A directory whose synced folders are told. */
function told(path: string): { readonly directory: StoreDirectory; readonly synced: string[] } {
  const synced: string[] = [];
  const disk = hookedDisk(({ name, args }) => {
    if (name === "syncDirectory") synced.push(args[0] as string);
  });
  return { directory: new StoreDirectory(path, disk, sharded, "disk"), synced };
}

describe("the folders of a store", () => {
  test("last with all that is above them and new", async () => {
    const root = temporaryDirectory();
    const { directory, synced } = told(join(root, "a", "b"));
    directory.makeFolder("blobs/sha256/ab");
    await directory.sync("blobs/sha256/ab");
    const at = (...parts: string[]) => join(root, "a", "b", ...parts);
    expect(synced).toEqual([
      at("blobs/sha256/ab"),
      at("blobs/sha256"),
      at("blobs"),
      at(),
      join(root, "a"),
      root,
    ]);
    synced.length = 0;
    await directory.sync("blobs/sha256/ab");
    expect(synced).toEqual([at("blobs/sha256/ab")]);
    synced.length = 0;
    directory.makeFolder("blobs/sha256/cd");
    await directory.sync("blobs/sha256/cd");
    expect(synced).toEqual([at("blobs/sha256/cd"), at("blobs/sha256")]);
  });

  test("last also where another process has made them, and may not have come to its sync", async () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, "blobs/sha256/ab"), { recursive: true });
    const { directory, synced } = told(root);
    directory.makeFolder("blobs/sha256/ab");
    await directory.sync("blobs/sha256/ab");
    expect(synced).toEqual(
      ["blobs/sha256/ab", "blobs/sha256", "blobs", "."].map((path) => join(root, path)).concat(dirname(root)),
    );
  });

  test("need no right to read what the store lies in", async () => {
    const root = temporaryDirectory();
    const disk = hookedDisk(({ name, args }) => {
      if (name === "syncDirectory" && args[0] === dirname(root)) throw systemError("EACCES");
    });
    const directory = new StoreDirectory(root, disk, sharded, "disk");
    directory.makeFolder("blobs");
    await directory.sync("blobs");
    const strict = hookedDisk(({ name, args }) => {
      if (name === "syncDirectory" && args[0] === root) throw systemError("EACCES");
    });
    await expect(new StoreDirectory(root, strict, sharded, "disk").sync("blobs")).rejects.toThrow("EACCES");
  });
});

describe("store.json", () => {
  test("is written once, by whoever is first", async () => {
    const dir = temporaryDirectory();
    await Promise.all(
      Array.from({ length: 8 }, () => new StoreDirectory(dir, nodeBlobDisk(), sharded, "os").prepare()),
    );
    expect(readFileSync(join(dir, "store.json"), "utf8")).toBe('{"format":1}\n');
    expect(readdirSync(join(dir, "tmp"))).toEqual([]);
  });

  test("of another format that comes in between counts", async () => {
    const dir = temporaryDirectory();
    const disk = hookedDisk(({ name }) => {
      if (name === "link") writeFileSync(join(dir, "store.json"), '{"format":2}');
    });
    await expect(new StoreDirectory(dir, disk, sharded, "os").prepare()).rejects.toMatchObject({
      code: "BLOB_STORE_FORMAT",
    });
    expect(readFileSync(join(dir, "store.json"), "utf8")).toBe('{"format":2}');
  });
});

describe("placeNew", () => {
  test("leaves what has the name, and lets go of the other", () => {
    const dir = temporaryDirectory();
    const [from, to] = [join(dir, "from"), join(dir, "to")];
    writeFileSync(from, "new");
    placeNew(nodeBlobDisk(), from, to);
    expect([existsSync(from), readFileSync(to, "utf8")]).toEqual([false, "new"]);
    writeFileSync(from, "newer");
    placeNew(nodeBlobDisk(), from, to);
    expect([existsSync(from), readFileSync(to, "utf8")]).toEqual([false, "new"]);
  });

  test("replaces it on a file system without second names, and fails as the system does otherwise", () => {
    const dir = temporaryDirectory();
    const [from, to] = [join(dir, "from"), join(dir, "to")];
    const linkFails = (errno: string) =>
      hookedDisk(({ name }) => {
        if (name === "link") throw systemError(errno);
      });
    writeFileSync(from, "new");
    placeNew(linkFails("EPERM"), from, to);
    expect([existsSync(from), readFileSync(to, "utf8")]).toEqual([false, "new"]);
    writeFileSync(from, "newer");
    expect(() => placeNew(linkFails("EIO"), from, to)).toThrow("EIO");
    expect([existsSync(from), readFileSync(to, "utf8")]).toEqual([true, "new"]);
  });
});
