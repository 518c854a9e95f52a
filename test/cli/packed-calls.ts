/** A call of each command, for the installed package. */

import { join } from "node:path";
import { root } from "../../scripts/entries.mjs";
import type { Sample } from "./sample.js";

export interface PackedCall {
  readonly words: readonly string[];
  /** The exit code. @default 0 */
  readonly code?: number;
  /** Text of standard output. */
  readonly prints: RegExp;
  /** A file that it writes, with text of it. */
  readonly writes?: readonly [string, string];
}

/** Of Codex, which another agent's command reads. */
const rollout = join(root, "test/agents/codex/files/tools-0.169.jsonl");

/** In the order of the help: a later call may read what an earlier one wrote. */
export function packedCalls({ id, ids, path, ref }: Sample): Readonly<Record<string, PackedCall>> {
  const stores = [".sessile", "--sessions", ".sessile/sessions"];
  return {
    ls: { words: ["--json"], prints: new RegExp(`"id":"${id}"`) },
    show: { words: [id.slice(0, 8), "--context"], prints: /Nothing is readable\./ },
    search: { words: ["readable"], prints: new RegExp(`sessile ${id} ${ids.leaf}`) },
    stats: { words: ["latest"], prints: /1,130/ },
    diff: { words: ["latest", ids.side, "leaf"], code: 1, prints: /^\+ .*Nothing is readable/m },
    project: {
      words: ["latest", "--target", "anthropic", "-o", "body.json"],
      prints: /anthropic-messages, claude-sonnet-5/,
      writes: ["body.json", "Write notes on this project."],
    },
    diagnose: { words: ["latest", rollout], prints: /^sound.*\n.*sound, codex/m },
    salvage: { words: [path, "--to", "clean.jsonl"], prints: /0 lost/, writes: ["clean.jsonl", id] },
    "blobs ls": { words: stores, prints: new RegExp(`^${ref} .*1 sessions$`, "m") },
    "blobs verify": { words: stores, prints: /^1 blobs, .*\n0 without a reference/ },
    "blobs gc": { words: [...stores, "--dry-run", "--json"], prints: /"dryRun":true/ },
    import: { words: [rollout, "--to", "store", "--json"], prints: /"exact":true/ },
    export: {
      words: ["latest", "--dir", "store", "--to", "codex", "-o", "home", "--json"],
      prints: /"resume":\["codex","resume"/,
    },
    convert: { words: [rollout, "--to", "claude-code", "-o", "home", "--json"], prints: /"claude"/ },
    archive: {
      words: ["status", "--to", "archive", "--agent", "kimi-code", "--json"],
      prints: /"archived":0/,
    },
    redact: {
      words: ["latest", "--to", "shared.jsonl"],
      prints: /shared\.jsonl/,
      writes: ["shared.jsonl", id],
    },
    merge: {
      words: [path, "clean.jsonl", "-o", "merged.jsonl"],
      prints: /0 entries of A alone, 0 of B/,
      writes: ["merged.jsonl", id],
    },
    sync: { words: [".sessile/sessions", "copy/sessions", "--one-way"], prints: /^1 sessions, 1 changed/ },
    view: {
      words: ["latest", "-o", "session.html", "--json"],
      prints: /^\{"file":".*session\.html","bytes":\d+,"leftOut":\[\]\}$/m,
      writes: ["session.html", ref],
    },
    completion: { words: ["zsh"], prints: /^#compdef sessile/ },
  };
}
