import { type FileBlobStoreOptions, fileBlobStore } from "sessile/node";
import { describe, expect, test } from "vitest";

describe("fileBlobStore", () => {
  test.each([
    [{}, "dir: expected a non-empty string, got undefined"],
    [{ dir: "" }, "dir: expected a non-empty string, got an empty string"],
    [{ dir: "x", layout: "nested" }, 'layout: expected "sharded" or "flat", got "nested"'],
    [{ dir: "x", durability: "none" }, 'durability: expected "disk" or "os", got "none"'],
    [{ dir: "x", layout: "flat", digest: "md5" }, 'digest: expected "sha256" or "blake3", got "md5"'],
    [{ dir: "x", partition: "a/b" }, "partition: expected at most 128 letters"],
    [{ dir: "x", quota: -1 }, "quota: expected an integer >= 0, got -1"],
  ])("names the option that is wrong: %j", (options, message) => {
    expect(() => fileBlobStore(options as FileBlobStoreOptions)).toThrow(message);
  });
});
