import { createHash } from "node:crypto";

/** The work of a process of postgres-worker.ts. */
export interface Work {
  readonly role: "write" | "follow";
  readonly url: string;
  /** The prefix of this process's entry ids. */
  readonly name: string;
  readonly sessions: readonly string[];
  /** Writers of each session, each with a handle of its own. @default 1 */
  readonly writers?: number;
  /** Appends of each writer. @default until a line comes on the standard input */
  readonly count?: number;
  readonly seed?: number;
  /** The most milliseconds between two appends. @default 0 */
  readonly pauseMs?: number;
  /** How long a lost connection is the library's to repair. @default the library's */
  readonly retryMs?: number;
  /** Connections. @default 10 */
  readonly connections?: number;
}

/** The text that the draft with this id has. */
export function textOf(id: string): string {
  const digest = createHash("sha256").update(id).digest();
  // One in eight is stored out of line.
  return `${id} ${digest.toString("hex").repeat((digest[0] ?? 0) % 8 === 0 ? 200 : 1)}`;
}

/** Integers from 0 to below `below`, the same for the same seed. */
export function numbers(seed: number): (below: number) => number {
  let state = Math.imul(seed, 2654435761) | 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}
