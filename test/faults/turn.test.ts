import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toolStarted } from "sessile";
import { fileSessionStore } from "sessile/node";
import { expect, onTestFinished, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { useProgram } from "./start-child.js";

const program = useProgram(new URL("./turn-child.ts", import.meta.url));

/** Runs the turn; kills its process once so many calls have begun. Returns what it said. */
async function run(dir: string, killAfter?: number): Promise<string> {
  const child = spawn(process.execPath, [program(), dir], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (piece) => {
    said += String(piece);
  });
  const ended = once(child, "close");
  if (killAfter !== undefined) {
    while (child.exitCode === null && begun(dir) < killAfter) await new Promise(setImmediate);
    child.kill("SIGKILL");
  }
  await ended;
  return said.trim();
}

function begun(dir: string): number {
  try {
    return statSync(join(dir, "ran.txt")).size === 0 ? 0 : linesOf(dir).length;
  } catch {
    return 0;
  }
}

const linesOf = (dir: string) => readFileSync(join(dir, "ran.txt"), "utf8").split("\n").filter(Boolean);

// @covers R25
test("a turn whose process is killed in any of 20 calls has one result for each, and no call runs twice", async () => {
  const kills = Array.from({ length: rounds(4, 20) }, () => 1 + Math.floor(Math.random() * 19));
  for (const kill of kills) {
    const dir = mkdtempSync(join(tmpdir(), "sessile-turn-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    await run(dir, kill);
    // The next process sees at once that the holder of the claim is gone.
    expect([kill, await run(dir)]).toEqual([kill, "done"]);
    const store = fileSessionStore({ dir });
    const latest = await store.latest();
    await using session = await store.open(latest?.id ?? "");
    const path = await session.path();
    const results = path.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "toolResult" ? [entry.message.toolCallId] : [],
    );
    const ids = Array.from({ length: 20 }, (_, at) => `c${at}`);
    expect([kill, results.toSorted()]).toEqual([kill, ids.toSorted()]);
    const ran = linesOf(dir);
    expect([kill, new Set(ran).size]).toEqual([kill, ran.length]);
    const started = new Set(path.flatMap((entry) => toolStarted.read(entry)?.toolCallId ?? []));
    expect(ran.filter((id) => !started.has(id))).toEqual([]);
    expect(await session.diagnose()).toEqual([]);
  }
});
