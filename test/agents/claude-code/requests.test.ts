/** Requests that Claude Code sent of its own sessions, recorded by `npm run interop`. */

import { readdirSync, readFileSync } from "node:fs";
import { memoryBlobStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { exportSession, importSession } from "sessile/interop";
import { expect, it } from "vitest";
import { encodeUtf8 } from "../../support/plain-values.js";
import type { ReducedMessage } from "../support/reduced.js";
import { comparable, projected } from "./requests.js";

interface Sample {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly request: readonly ReducedMessage[];
}

const folder = new URL("files/", import.meta.url);
const names = readdirSync(folder);

it("has samples of each version, with and without a compaction", () => {
  expect(names.filter((name) => name.endsWith("-compacted.json"))).toHaveLength(3);
  expect(names).toHaveLength(6);
});

it.each(names)("shows what Claude Code sent: %s", async (name) => {
  const { files, request } = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Sample;
  const blobs = memoryBlobStore();
  const foreign = files.map(({ path, text }) => ({ path, bytes: encodeUtf8(text) }));
  const imported = await importSession(foreign, { from: claudeCode, blobs });
  const ours = comparable(await projected(imported, blobs));
  const theirs = comparable(request);
  expect((await exportSession(imported, { to: claudeCode, blobs })).files).toEqual(foreign);
  if (name !== "2.0.77.json") {
    expect(theirs).toEqual(ours);
    return;
  }
  // 2.0.77 follows parentUuid alone: of three parallel calls it sent one.
  const isLost = (part: unknown) => /"toolu_[ab]"/.test(JSON.stringify(part));
  expect(ours.filter(isLost)).toHaveLength(4);
  expect(ours.filter((part) => !isLost(part))).toEqual(theirs);
});
