import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Message } from "sessile";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";
import type { Runner } from "./support/runner.js";
import { messageAt, type SessionShape, writeSession } from "./support/sessions.js";

const cwd = "/work/project";
const word = "zebrafish";
/** A gigabyte, with the word in an entry of one session in fifty. */
const large = { sessions: 500, entries: 3_600, withWord: 50 };
const listed = { sessions: 10_000, entries: 20, maxMs: 2_000 };

function messageWithWord(number: number): Message {
  const message = messageAt(number);
  if (number !== 2_000 || message.role !== "user") return message;
  return { ...message, content: [{ type: "text", text: `Where does the ${word} live?` }] };
}

function writeStore(dir: string, sessions: number, shape: (number: number) => SessionShape): void {
  for (let number = 0; number < sessions; number++) {
    const id = `0198c0de-0000-7000-8000-${String(number).padStart(12, "0")}`;
    const name = `2026-01-01T00-00-00-000Z_${id}.jsonl`;
    writeSession(join(dir, "--work-project--", name), { ...shape(number), id, cwd });
  }
}

/** The files leave the cache of the system, but for those that another process has open. */
function forget(dir: string): void {
  execFileSync("sync");
  const files = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".jsonl"),
  );
  const script = 'for file; do dd if="$file" iflag=nocache count=0 status=none; done';
  for (let at = 0; at < files.length; at += 1_000)
    execFileSync("sh", ["-c", script, "sh", ...files.slice(at, at + 1_000)], { cwd: dir });
}

/** The built program as a package, which has a version. */
export async function withProgram<T>(runner: Runner, use: (program: string) => Promise<T>): Promise<T> {
  const root = mkdtempSync(join(runner.built, "..", "sessile-program-"));
  try {
    cpSync(runner.built, join(root, "dist"), { recursive: true });
    writeFileSync(join(root, "package.json"), JSON.stringify({ type: "module", version: "0.0.0" }));
    return await use(join(root, "dist", "cli", "main.js"));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export const commandLineSearch: Claim = {
  name: "command-line-search",
  title: "sessile search over a gigabyte in 500 sessions, ten with the word, beside grep -rc",
  async measure(runner) {
    return withProgram(runner, (program) =>
      runner.inDirectory("search", async (dir) => {
        const hasWord = (number: number) => number % large.withWord === 0;
        writeStore(dir, large.sessions, (number) => ({
          entries: large.entries,
          ...(hasWord(number) && { messages: messageWithWord }),
        }));
        const sides = { ours: "command-line", peer: "grep" };
        const rows: Row[] = [];
        for (const isCold of [true, false]) {
          const input = () => {
            if (isCold) forget(dir);
            return { program, dir, word };
          };
          const what = isCold ? "files not in the cache" : "files in the cache";
          const row = await runner.compare(what, "search", input, sides);
          rows.push({ ...row, targets: [fasterThan("grep", row, 0.5)] });
        }
        return timesTable("grep", rows);
      }),
    );
  },
};

export const commandLineList: Claim = {
  name: "command-line-ls",
  title: "sessile ls of 10,000 sessions",
  async measure(runner) {
    return withProgram(runner, (program) =>
      runner.inDirectory("ls", async (dir) => {
        writeStore(dir, listed.sessions, () => ({ entries: listed.entries }));
        const rows: Row[] = [];
        for (const isCold of [true, false]) {
          const what = isCold ? "files not in the cache" : "files in the cache";
          const input = () => {
            if (isCold) forget(dir);
            return { program, dir };
          };
          const row = await runner.alone(what, "ls", input, "command-line");
          const isMet = row.ours.ms < listed.maxMs;
          rows.push({ ...row, targets: [{ text: `under ${listed.maxMs} ms`, met: isMet }] });
        }
        return timesTable(undefined, rows);
      }),
    );
  },
};
