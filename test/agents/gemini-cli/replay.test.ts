/**
 * Requests that versions of Gemini CLI sent after a resume, reduced to their messages: recorded by `npm run interop`
 * with SESSILE_INTEROP_SAMPLES, and replayed here without the agent.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { memoryBlobStore } from "sessile";
import { gemini } from "sessile/gemini-cli";
import { exportSession, type ImportedSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { contextFrom } from "./chat-log.js";
import { asWritten, byKind, comparable, inWords, onceOf, projectionOf } from "./requests.js";
import { compacted, interleaved, noBlobs, rich } from "./written-session.js";

const folder = join(root, "test/agents/gemini-cli/files");
const versions = readdirSync(folder).filter((name) => /^\d/.test(name));
const recorded = (name: string): readonly unknown[] =>
  JSON.parse(readFileSync(join(folder, "requests", `${name}.json`), "utf8"));

describe.each(versions)("the request that Gemini CLI %s sent", (version) => {
  const isOld = version.startsWith("0.26.");

  it("after its own run is the projection of our import", async () => {
    const home = join(folder, version);
    const files = readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((full) => ({ path: full.slice(home.length + 1), bytes: new Uint8Array(readFileSync(full)) }));
    const blobs = memoryBlobStore();
    const imported = await importSession(files, { from: gemini, blobs });
    const ours = comparable(await projectionOf(contextFrom(imported), { blobs, last: "go on" }));
    expect(onceOf(ours)).toEqual(onceOf(recorded(`own-run-${version}`)));
    const exported = await exportSession(imported, { to: gemini, blobs });
    expect(exported.files).toEqual(files);
  });

  for (const [name, session] of Object.entries({
    "a-written-session": rich,
    "a-written-compaction": compacted,
    "a-written-reply-with-a-text-between-calls": interleaved,
  })) {
    it(`after it resumed ${name.replaceAll("-", " ")} is the projection of the session`, async () => {
      const context = contextFrom(session as ImportedSession);
      const expected = comparable(await projectionOf(context, { blobs: noBlobs, last: "go on" }));
      const order = session === interleaved ? byKind : (rows: readonly unknown[]) => rows;
      expect(order(recorded(`${name}-${version}`))).toEqual(order(isOld ? inWords(expected) : expected));
      // The file that the version resumed is the one that is written now.
      const written = await exportSession(session, { to: gemini });
      const bytes = new Uint8Array(readFileSync(join(folder, "written", `${name}.jsonl`)));
      expect(new TextDecoder().decode(asWritten(written.files[0]?.bytes))).toBe(
        new TextDecoder().decode(bytes),
      );
    });
  }
});

it("three versions were recorded", () => {
  expect(versions).toHaveLength(3);
  expect(existsSync(folder)).toBe(true);
});
