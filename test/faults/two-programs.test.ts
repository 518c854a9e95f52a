import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { countOf } from "./acknowledged.js";
import { startProcess, useChildren, useProgram } from "./start-child.js";

const startChild = useChildren();
const foreignWriter = useProgram(new URL("./foreign-writer.ts", import.meta.url));
const maxLineBytes = 8 << 20;
/** So many seconds of both programs, and so many entries of each. */
const seconds = rounds(3, 3600);
const least = seconds * 3;

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-two-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

interface SeenLine {
  readonly id: string;
  readonly parentId: string | null;
}

/** The entries of a file as a program sees them that leaves out what it cannot parse. */
function seenIn(path: string): readonly SeenLine[] {
  const entries: SeenLine[] = [];
  const file = openSync(path, "r");
  const take = (line: string) => {
    try {
      const { id, parentId = null } = JSON.parse(line);
      entries.push({ id, parentId });
    } catch {
      // Torn, or blank.
    }
  };
  // The whole file may be longer than a string can be.
  const chunk = Buffer.alloc(1 << 20);
  let rest: string[] = [];
  for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk)) {
    const [first = "", ...more] = chunk.toString("latin1", 0, count).split("\n");
    rest.push(first);
    for (const next of more) {
      take(rest.join(""));
      rest = [next];
    }
  }
  take(rest.join(""));
  closeSync(file);
  return entries;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("row 12: a program without locks that writes lines of up to 8 MiB, both killed at random", () => {
  // @covers R156 durability:foreign-half-line
  test("every acknowledged entry of both is there once and whole, and follows one that is", {
    timeout: 300_000 + seconds * 10_000,
  }, async () => {
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "two" });
    await session.appendMessage(userMessage("first"));
    await session.close();
    const path = session.location ?? "";
    const theirs: string[] = [];
    const ours: string[] = [];
    const end = Date.now() + seconds * 1000;
    const run = async (said: string[], start: () => ReturnType<typeof startProcess>, ms: number) => {
      const isEnough = () =>
        (Date.now() >= end || statSync(path).size > seconds * 40e6) && said.length > least;
      while (!isEnough()) {
        const child = start();
        const started = await Promise.race([child.sayingSoMany(1), child.ended]);
        if (started === undefined) await pause(Math.random() * ms);
        child.kill("SIGKILL");
        await child.ended;
        said.push(...child.said);
      }
    };
    await Promise.all([
      run(theirs, () => startProcess(process.execPath, [foreignWriter(), path, `${maxLineBytes}`]), 1000),
      run(ours, () => startChild("append", dir, "two", "ours", "1000000"), 1500),
    ]);
    const entries = seenIn(path);
    const counts = countOf(entries.map(({ id }) => id));
    const lost = (ids: readonly string[]) => ids.filter((id) => counts.get(id) !== 1);
    expect({ theirs: lost(theirs), ours: lost(ours) }).toEqual({ theirs: [], ours: [] });
    expect(entries.filter(({ parentId }) => parentId !== null && !counts.has(parentId))).toEqual([]);

    // For writing: a kill in the last write leaves a torn tail, which is repaired first.
    const read = await openSessionFile(path, { mode: "write" });
    for (const id of [...theirs, ...ours]) expect((await read.tree()).has(id)).toBe(true);
    const codes = read.diagnostics.map(({ code }) => code);
    expect(codes.filter((code) => code !== "TORN_LINE" && code !== "INVALID_JSON")).toEqual([]);
    await read.close();
  });
});
