import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nodeBlobDisk } from "../../../src/blobs/node/disk.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";

const disk = nodeBlobDisk();
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (of: string) => new TextEncoder().encode(of);

describe("opening", () => {
  test("follows no link, and says what else is there", () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "file"), "x");
    symlinkSync(join(dir, "file"), join(dir, "link"));
    symlinkSync(join(dir, "nowhere"), join(dir, "dangling"));
    mkdirSync(join(dir, "folder"));
    expect(() => disk.open(join(dir, "link"))).toThrow(expect.objectContaining({ code: "ELOOP" }));
    expect(() => disk.open(join(dir, "nothing"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
    const kinds = ["file", "link", "dangling", "folder", "nothing"].map(
      (name) => disk.statAt(join(dir, name))?.kind,
    );
    expect(kinds).toEqual(["file", "link", "link", "directory", undefined]);
    expect(disk.statAt(join(dir, "file", "below"))).toBeUndefined();
  });

  test("does not wait for the writer of a FIFO", ({ skip }) => {
    const path = join(temporaryDirectory(), "fifo");
    try {
      execFileSync("mkfifo", [path]);
    } catch {
      skip("mkfifo is not there");
    }
    const fd = disk.open(path);
    expect(disk.stat(fd).kind).toBe("FIFO");
    disk.close(fd);
  });
});

describe("a file that is made", () => {
  test("must not be there, and can be read only", async () => {
    const path = join(temporaryDirectory(), "file");
    const fd = disk.create(path);
    expect(disk.writeNow(fd, bytes("one "))).toBe(4);
    expect(await disk.write(fd, bytes("two"))).toBe(3);
    await disk.sync(fd);
    disk.setTime(fd, 1_234_567.25);
    expect(disk.stat(fd)).toMatchObject({ kind: "file", size: 7, mtimeMs: 1_234_567.25 });
    disk.close(fd);
    expect(readFileSync(path, "utf8")).toBe("one two");
    expect(statSync(path).mode & 0o333).toBe(0);
    expect(() => disk.create(path)).toThrow(expect.objectContaining({ code: "EEXIST" }));
    const again = disk.open(path);
    const into = new Uint8Array(5);
    expect(disk.readNow(again, into)).toBe(5);
    expect(await disk.read(again, into)).toBe(2);
    expect(text(into)).toBe("woe t");
    expect(await disk.read(again, into)).toBe(0);
    disk.close(again);
  });
});

describe("names", () => {
  test("are moved, linked, removed and listed", async () => {
    const dir = temporaryDirectory();
    const at = (name: string) => join(dir, name);
    writeFileSync(at("a"), "x");
    disk.link(at("a"), at("b"));
    expect(() => disk.link(at("a"), at("b"))).toThrow(expect.objectContaining({ code: "EEXIST" }));
    disk.rename(at("b"), at("c"));
    expect((await disk.list(dir)).toSorted()).toEqual(["a", "c"]);
    expect(disk.unlink(at("c"))).toBe(true);
    expect(disk.unlink(at("c"))).toBe(false);
    expect(await disk.list(at("nothing"))).toEqual([]);
    await expect(disk.list(at("a"))).rejects.toMatchObject({ code: "ENOTDIR" });
    expect(disk.makeDirectory(at("d/e/f"))).toBe(at("d"));
    expect(disk.makeDirectory(at("d/e/f"))).toBeUndefined();
    expect(statSync(at("d/e")).mode & 0o777).toBe(0o700);
    await disk.syncDirectory(at("d"));
    await expect(disk.syncDirectory(at("nothing"))).rejects.toMatchObject({ code: "ENOENT" });
    chmodSync(at("a"), 0o444);
    linkSync(at("a"), at("g"));
    disk.rename(at("a"), at("g"));
  });
});
