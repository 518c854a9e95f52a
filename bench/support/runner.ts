import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
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
}

const sessions: Sides = { ours: "sessile", peer: "pi" };

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
  async once(side: string, task: string, input: object): Promise<TaskResult> {
    const program = fileURLToPath(new URL(`../tasks/${side}.mjs`, import.meta.url));
    const { stdout } = await run(
      process.execPath,
      ["--expose-gc", program, task, JSON.stringify({ ...input, built: this.built })],
      { maxBuffer: 1 << 24 },
    );
    return JSON.parse(stdout) as TaskResult;
  }

  /** What a task that fails writes to its standard error; throws where it does not fail. */
  async failure(side: string, task: string, input: object): Promise<string> {
    try {
      await this.once(side, task, input);
    } catch (error) {
      return String((error as { readonly stderr?: unknown }).stderr);
    }
    throw new Error(`${task}: expected ${side} to fail`);
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
        results.push(await this.once(side, task, await input(`${round}-${side}`)));
      }
      const [found, foundThere] = [ours.at(-1), theirs.at(-1)].map((each) => JSON.stringify(each?.found));
      if (found !== foundThere) throw new Error(`${what}: found ${found}, ${sides.peer} found ${foundThere}`);
    }
    const ratios = ours.map(({ ms }, round) => (theirs[round] as TaskResult).ms / ms);
    const ratio = { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
    return { what, ours: figureOf(ours), peer: figureOf(theirs), ratio };
  }

  /** Runs a task of this library alone. */
  async alone(
    what: string,
    task: string,
    input: object,
    side = sessions.ours,
  ): Promise<Omit<Row, "targets">> {
    const results: TaskResult[] = [];
    for (let round = 0; round < this.#rounds; round++) results.push(await this.once(side, task, input));
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
