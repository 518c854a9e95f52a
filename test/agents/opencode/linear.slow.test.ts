import { memoryBlobStore, memorySessionStore } from "sessile";
import { importSession } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { expect, it } from "vitest";
import { encodeUtf8 } from "../../support/plain-values.js";
import { writeSource } from "./sessions.js";

/** A session of so many turns, with a pruned output in each, a compaction in each hundredth, and odd ids. */
function sessionOf(turns: number): Uint8Array {
  const messages = Array.from({ length: turns }, (_, turn) => {
    const asked = `msg_${turn}a`;
    const isCompaction = turn % 100 === 99;
    const time = { created: 1000 + turn * 10, completed: 1005 + turn * 10 };
    const user = isCompaction
      ? { type: "compaction", auto: true, tail_start_id: `msg_${turn - 3}a` }
      : { type: "text", text: `question ${turn}` };
    const state = { status: "completed", input: {}, output: "x", time: { compacted: 2000 + turn * 10 } };
    const tool = { id: `prt_${turn}t`, type: "tool", tool: "bash", callID: "call_1", state };
    const reply = isCompaction ? { type: "text", text: "a summary" } : tool;
    return [
      { info: { id: asked, role: "user", time }, parts: [{ id: `prt_${turn}u`, ...user }] },
      {
        info: {
          id: `msg_${turn}b`,
          role: "assistant",
          parentID: asked,
          time,
          finish: "stop",
          summary: isCompaction,
        },
        parts: [{ id: `prt_${turn}r`, ...reply }],
      },
    ];
  }).flat();
  return encodeUtf8(JSON.stringify({ info: { id: "ses_1", directory: "/w", time: {} }, messages }));
}

async function secondsFor(turns: number): Promise<{ readonly read: number; readonly write: number }> {
  const bytes = sessionOf(turns);
  const least = { read: Number.POSITIVE_INFINITY, write: Number.POSITIVE_INFINITY };
  for (let run = 0; run < 5; run++) {
    let started = process.cpuUsage();
    const imported = await importSession([{ path: "x.json", bytes }], { from: opencode, keep: "none" });
    let used = process.cpuUsage(started);
    least.read = Math.min(least.read, (used.user + used.system) / 1e6);
    const blobs = memoryBlobStore();
    const empty = await memorySessionStore({ blobs }).create({ cwd: "/w" });
    const source = await writeSource(empty, blobs, { path: imported.entries });
    started = process.cpuUsage();
    await opencode.write(source);
    used = process.cpuUsage(started);
    least.write = Math.min(least.write, (used.user + used.system) / 1e6);
  }
  return least;
}

it("reads and writes in linear time", { timeout: 180_000 }, async () => {
  const small = await secondsFor(2_000);
  const large = await secondsFor(16_000);
  const exponent = (a: number, b: number) => Math.log(b / a) / Math.log(8);
  console.log(`2,000 turns: ${JSON.stringify(small)} s, 16,000 turns: ${JSON.stringify(large)} s`);
  expect(exponent(small.read, large.read)).toBeLessThan(1.5);
  expect(exponent(small.write, large.write)).toBeLessThan(1.5);
});
