import { expect, test } from "vitest";
import { DurableDirectories } from "../../../src/internal/node/durable-directories.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

/** A disk that notes which directories are synced. */
function noting(): { readonly disk: SimulatedDisk; taken(): readonly string[] } {
  const disk = new SimulatedDisk();
  const synced: string[] = [];
  const sync = disk.syncDirectory.bind(disk);
  disk.syncDirectory = (path) => {
    synced.push(path);
    return sync(path);
  };
  return { disk, taken: () => synced.splice(0) };
}

test("directories within a store are synced each time, those above it once, and again where one was made anew", async () => {
  const { disk, taken } = noting();
  const names = new DurableDirectories(disk, "/a/b/store", { everyTime: true });
  names.create("/a/b/store/--p--");
  await names.sync("/a/b/store/--p--");
  expect(taken()).toEqual(["/a/b/store/--p--", "/a/b/store", "/a/b", "/a", "/"]);
  await names.sync("/a/b/store/--p--");
  expect(taken()).toEqual(["/a/b/store/--p--", "/a/b/store"]);
  disk.rename("/a/b", "/a/c");
  names.create("/a/b/store/--q--");
  await names.sync("/a/b/store/--q--");
  expect(taken()).toEqual(["/a/b/store/--q--", "/a/b/store", "/a/b", "/a"]);
});

test("a directory above the store that may not be read is another's, and one that fails is not passed over", async () => {
  const { disk } = noting();
  const names = new DurableDirectories(disk, "/a/store", { everyTime: true });
  names.create("/a/store");
  disk.failNext("syncDirectory", "EACCES", (path) => path === "/a");
  await names.sync("/a/store");
  disk.failNext("syncDirectory", "EACCES", (path) => path === "/a/store");
  await expect(names.sync("/a/store")).rejects.toMatchObject({ code: "EACCES" });
  const others = new DurableDirectories(disk, "/a/store", { everyTime: true });
  disk.failNext("syncDirectory", "EIO", (path) => path === "/a");
  await expect(others.sync("/a/store")).rejects.toMatchObject({ code: "EIO" });
});
