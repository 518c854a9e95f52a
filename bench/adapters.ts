import { join } from "node:path";
import { type Claim, printTarget, type Row, type Target, timesOf } from "./support/claim.js";
import type { Runner } from "./support/runner.js";

const sides = { ours: "adapters", peer: "frameworks" };
const [turns, count] = [120, 1000];

/** A row of times, with the bytes that both sides store or write. */
interface Measured {
  readonly row: Omit<Row, "targets">;
  readonly bytes: readonly [ours: number, theirs: number];
  readonly targets: readonly Target[];
}

export const adapters: Claim = {
  name: "adapters",
  title:
    'Frameworks on sessions, and on their own memory: bytes stored, of OpenAI Agents written in all; files with durability "os"',
  async measure(runner) {
    const measured = await runner.inDirectory("adapters", async (dir) => [
      ...(await langgraph(runner, dir)),
      ...(await openai(runner, dir)),
    ]);
    const head = ["", "ms", "its own ms", "times as fast (least to most)", "kB", "its own kB", "target"];
    const lines = measured.map(({ row: { what, ours, peer, ratio }, bytes: [own, theirs], targets }) => [
      what,
      whole(ours.ms),
      whole(peer?.ms ?? Number.NaN),
      ratio === undefined ? "" : `${timesOf(ratio.median)} (${timesOf(ratio.min)} to ${timesOf(ratio.max)})`,
      whole(own / 1000),
      whole(theirs / 1000),
      targets.length === 0 ? "none" : targets.map(printTarget).join("; "),
    ]);
    return { head, lines, targets: measured.flatMap(({ targets }) => targets) };
  },
};

/** A whole run, and the history read once. */
async function langgraph(runner: Runner, dir: string): Promise<readonly Measured[]> {
  const bytes = await bytesOf(runner, "langgraphBytes", { turns });
  const fewer = { text: "at least 50 times fewer bytes", met: bytes[1] >= 50 * bytes[0] };
  const measured: Measured[] = [];
  for (const [name, inFiles] of [
    ["in memory", false],
    ["in files", true],
  ] as const) {
    const what = `LangGraph, ${turns} turns with one image of 100 kB, ${name}; MemorySaver`;
    const input = (round: string) => ({ turns, ...(inFiles ? { dir: join(dir, `graph-${round}`) } : {}) });
    const row = await runner.compare(what, "langgraph", input, sides);
    const slow = { text: "at most 1.2 times the time", met: (row.ratio?.median ?? 0) >= 1 / 1.2 };
    measured.push({ row, bytes, targets: inFiles ? [fewer] : [fewer, slow] });
  }
  return measured;
}

/** Items added one by one, and read once. */
async function openai(runner: Runner, dir: string): Promise<readonly Measured[]> {
  const bytes = await bytesOf(runner, "openaiBytes", { count, dir: join(dir, "items") });
  const memory = await runner.compare(
    `OpenAI Agents, ${count} items one by one, in memory; MemorySession`,
    "openai",
    () => ({ count }),
    sides,
  );
  const files = await runner.compare(
    `OpenAI Agents, ${count} items one by one, in files; a file that is written whole each time`,
    "openai",
    (round) => ({ count, dir: join(dir, `items-${round}`) }),
    sides,
  );
  const fewer = { text: "at least 50 times fewer bytes", met: bytes[1] >= 50 * bytes[0] };
  return [
    { row: memory, bytes: [bytes[0], bytes[0]], targets: [] },
    { row: files, bytes, targets: [fewer] },
  ];
}

async function bytesOf(runner: Runner, task: string, input: object): Promise<readonly [number, number]> {
  const [ours, theirs] = [
    await runner.once(sides.ours, task, input),
    await runner.once(sides.peer, task, input),
  ];
  return [ours.found as number, theirs.found as number];
}

function whole(value: number): string {
  return Number.isFinite(value) ? String(Math.round(value)) : "none";
}
