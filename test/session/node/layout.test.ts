import fc from "fast-check";
import { expect, test } from "vitest";
import {
  fileName,
  idOfFileName,
  isOwnFileName,
  partitionDirectory,
  projectName,
  projectNames,
  storeDirectory,
} from "../../../src/session/node/layout.js";

test("a project's directory is named as pi names it", () => {
  expect(projectName("/home/me/my project")).toBe("--home-me-my project--");
  expect(projectName("C:\\work\\a")).toBe("--C--work-a--");
  expect(projectName("/")).toBe("----");
  // Two projects with one name: a reader goes by the header.
  expect(projectName("/a/b")).toBe(projectName("/a-b"));
});

test("a project's directory name fits a file name, is one, and differs where it had to be cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 }), (path) => {
      const name = projectName(`/${path}`);
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(204);
      expect(name).not.toMatch(/[/\\:]/);
      expect(name.isWellFormed()).toBe(true);
      if (Buffer.byteLength(path) > 200) expect(projectName(`/${path}x`)).not.toBe(name);
    }),
  );
  const long = `/${"é".repeat(150)}`;
  expect([...projectNames(long)]).toEqual([projectName(long), `--${"é".repeat(150)}--`]);
  expect([...projectNames("/a")]).toEqual(["--a--"]);
  expect(projectName(long)).toMatch(/^--é{95}-[0-9a-f]{8}--$/);
});

test("the id of a session is in its file's name", () => {
  const stamp = "2026-01-02T03:04:05.678Z";
  expect(fileName("my_id.1", stamp)).toBe("2026-01-02T03-04-05-678Z_my_id.1.jsonl");
  for (const id of ["a", "my_id.1", "0196f3a0-0000-7000-8000-000000000000"]) {
    expect(idOfFileName(fileName(id, stamp))).toBe(id);
  }
  expect(idOfFileName("by-hand.jsonl")).toBe("by-hand");
});

test("a file name of the store's own is told from one that a person gave", () => {
  expect(isOwnFileName(fileName("my_id.1", "2026-01-02T03:04:05.678Z"))).toBe(true);
  for (const name of ["by-hand.jsonl", "2026_a.jsonl", "2026-01-02T03-04-05-678Z_a (copy).jsonl", "a.txt"])
    expect(isOwnFileName(name)).toBe(false);
});

test("what lies beside a session is no session", () => {
  const name = fileName("a", "2026-01-02T03:04:05.678Z");
  for (const ending of [".lock", ".lock.wait", ".lock.stale-1", ".torn-1", ".old-1", ".tmp-1"]) {
    expect(idOfFileName(name + ending)).toBeUndefined();
  }
  expect(idOfFileName("a.txt")).toBeUndefined();
});

test("partitions are directories that no project has", () => {
  expect(partitionDirectory("/s", "")).toBe("/s");
  expect(partitionDirectory("/s", "tenant")).toBe("/s/@tenant");
  expect(partitionDirectory("/s", "Tenant")).toBe("/s/@!tenant");
});

test("a file in a project's directory belongs to the store above it", () => {
  expect(storeDirectory("/s/--a-b--/x.jsonl")).toBe("/s");
  expect(storeDirectory("/s/@p/--a-b--/x.jsonl")).toBe("/s/@p");
  expect(storeDirectory("/elsewhere/x.jsonl")).toBe("/elsewhere");
});
