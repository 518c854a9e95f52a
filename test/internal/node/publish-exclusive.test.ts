import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { publishExclusive } from "../../../src/internal/node/publish-exclusive.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { hookedFileSystem, systemError } from "../../support/hooked-file-system.js";

const linkFails = (errno: string) =>
  hookedFileSystem(({ name }) => {
    if (name === "link") throw systemError(errno);
  });

const supports: readonly [string, FileSystem][] = [
  ["with hard links", nodeFileSystem],
  ["without hard links", linkFails("EPERM")],
  ["that calls them an operation of no name", linkFails("ENOSYS")],
];

test.each(supports)(
  "publishes a file under a free name and replaces none, on a file system %s",
  (_, files) => {
    const dir = temporaryDirectory();
    const [from, to] = [join(dir, "from"), join(dir, "to")];
    writeFileSync(from, "new");
    expect(publishExclusive(files, from, to)).toBe(true);
    expect(readFileSync(to, "utf8")).toBe("new");
    nodeFileSystem.unlink(from);
    writeFileSync(from, "newer");
    expect(publishExclusive(files, from, to)).toBe(false);
    expect([readFileSync(from, "utf8"), readFileSync(to, "utf8")]).toEqual(["newer", "new"]);
  },
);

test("fails as the system does otherwise, and leaves the file", () => {
  const dir = temporaryDirectory();
  const [from, to] = [join(dir, "from"), join(dir, "to")];
  writeFileSync(from, "new");
  expect(() => publishExclusive(linkFails("EIO"), from, to)).toThrow("EIO");
  expect([existsSync(from), existsSync(to)]).toEqual([true, false]);
  expect(() => publishExclusive(nodeFileSystem, join(dir, "none"), to)).toThrow("ENOENT");
  expect(existsSync(to)).toBe(false);
});
