import { readdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { type BlobStore, project, type StoredResource, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { openFolder } from "sessile/node";
import { expect, test } from "vitest";
import { png } from "../../support/media-files.js";
import { temporaryDirectory } from "./temporary-directory.js";

async function countOf(blobs: BlobStore): Promise<number> {
  let count = 0;
  for await (const _ of blobs.list()) count++;
  return count;
}

test("a folder holds sessions and blobs, and a second opening has what the first appended", async () => {
  const dir = temporaryDirectory();
  const folder = join(dir, ".agent");
  writeFileSync(join(dir, "notes.txt"), "a note");
  const { sessions, attach } = openFolder(folder, { durability: "os" });
  expect(readdirSync(dir)).toEqual(["notes.txt"]);

  const session = await sessions.create({ cwd: "/project" });
  await session.appendMessage(userMessage("Why?", await attach(join(dir, "notes.txt"))));
  await session.close();
  expect(readdirSync(folder).sort()).toEqual(["blobs", "sessions"]);

  const again = openFolder(relative(process.cwd(), folder));
  const reopened = await again.sessions.open(session.header.id);
  const target = anthropicMessages({ model: "claude-opus-5" });
  const { value, losses } = await project(await reopened.context(), target, { blobs: again.blobs });
  expect(losses).toEqual([]);
  expect(JSON.stringify(value)).toContain("a note");
});

test("attach takes a path, a file URL, a link and bytes, within the roots", async () => {
  const dir = temporaryDirectory();
  const path = join(dir, "notes.txt");
  writeFileSync(path, "a note");
  const { attach, blobs } = openFolder(join(dir, ".agent"));
  const ofPath = (await attach(path, { roots: [dir] })) as StoredResource;
  for (const source of [pathToFileURL(path), { bytes: Buffer.from("a note"), name: "notes.txt" }]) {
    expect({ ...(await attach(source)), resourceId: "" }).toEqual({ ...ofPath, resourceId: "" });
  }
  // Such a link comes from a tool or a model: only roots open files to it.
  const link = { type: "resource_link", uri: pathToFileURL(path).href, name: "notes.txt" } as const;
  await expect(attach(link)).rejects.toMatchObject({ code: "LINK_REFUSED" });
  expect(await attach(link, { roots: [dir] })).toMatchObject({ contentSha256: ofPath.contentSha256 });
  const outside = { ...link, uri: pathToFileURL(join(dir, "..", "other.txt")).href };
  await expect(attach(outside, { roots: [dir] })).rejects.toMatchObject({ code: "FILE_REFUSED" });
  await expect(attach("")).rejects.toThrow(TypeError);
  expect(await attach({ link: "https://example.com/a.pdf" })).toMatchObject({ kind: "link" });
  await expect(attach(path, { roots: [join(dir, ".agent")] })).rejects.toMatchObject({
    code: "FILE_REFUSED",
  });
  await expect(attach(path, { maxBytes: 3 })).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  expect(await countOf(blobs)).toBe(1);
});

test("an image that is appended inline is stored in the folder's blobs", async () => {
  const dir = temporaryDirectory();
  const { sessions, blobs } = openFolder(dir);
  const session = await sessions.create({ cwd: "/project" });
  const data = Buffer.from(png({ width: 40, height: 40 })).toString("base64");
  const message = {
    ...userMessage("What is it?"),
    content: [{ type: "image", data, mimeType: "image/png" }],
  } as const;
  await session.appendMessage(message);
  expect(await countOf(blobs)).toBe(1);
});
