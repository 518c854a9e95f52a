import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Context, Session, SessionStore } from "sessile";
import { type CompactableSession, compact, rollingSummary } from "sessile/compaction";
import { fileSessionStore } from "sessile/node";
import { root } from "../../../scripts/entries.mjs";
import { runsSources } from "./programs.js";
import { ScriptedSummarizer } from "./scripted-summarizer.js";

/** When a process is killed: while its model is asked, about when it writes, or right after that was acknowledged. */
const moments = ["asked", "appending", "appended"] as const;
type Moment = (typeof moments)[number];

const longMs = 60_000;
const program = fileURLToPath(import.meta.url);

// As a program: it compacts, and prints how far it is until it is killed.
const [mode, dir = "", id = "", moment = "", window = ""] = process.argv.slice(2);
if (mode === "--compact") {
  const session = await longSessions(dir).open(id, { mode: "write" });
  await dieWhileCompacting(session, Number(window), moment as Moment);
}

/** The store of the long session. */
export function longSessions(dir: string): SessionStore {
  return fileSessionStore({ dir: join(dir, "sessions"), durability: "os" });
}

async function dieWhileCompacting(session: Session, window: number, moment: Moment): Promise<void> {
  const dying: CompactableSession = {
    header: session.header,
    leafId: session.leafId,
    context: (leafId) => session.context(leafId),
    async append(drafts, options) {
      console.log("appending");
      const entries = await session.append(drafts, options);
      console.log("appended");
      await setTimeout(longMs);
      return entries;
    },
  };
  const summarizer = new ScriptedSummarizer();
  await compact(dying, {
    strategy: rollingSummary(),
    window,
    trigger: "manual",
    generate: async (prompt, options) => {
      console.log("asked");
      if (moment === "asked") await setTimeout(longMs);
      return summarizer.generate(prompt, options);
    },
  });
}

/** The session after its process was killed at a moment: `SIGKILL, as before`, `SIGKILL, compacted`, or anything else. */
export type Outcomes = Readonly<Record<Moment, string>>;

/** Kills processes that compact, each at another moment: the first in this session, the others in copies of it. */
export async function killCompactions(session: Session, dir: string, window: number): Promise<Outcomes> {
  const store = longSessions(dir);
  const before = await session.context();
  await session.close();
  const ends = moments.map(async (moment) => {
    const { id } = moment === "asked" ? session : await copyOf(session, store);
    const signal = await killed([program, "--compact", dir, id, moment, String(window)], moment);
    await using after = await store.open(id, { mode: "write" });
    const state = await stateAfter(after, before);
    // Nothing of the dead process blocks a write.
    await after.updateInfo({ name: "A long session" });
    return [moment, `${signal}, ${state}`] as const;
  });
  return Object.fromEntries(await Promise.all(ends)) as Outcomes;
}

async function copyOf({ id }: Session, store: SessionStore): Promise<Session> {
  await using copy = await store.fork(id);
  return copy;
}

/** Runs a process until it prints a word. Returns the signal that ended it. */
async function killed(args: readonly string[], word: string): Promise<unknown> {
  const child = spawn(process.execPath, [...runsSources, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.split("\n").includes(word)) child.kill("SIGKILL");
  });
  const [, signal] = await once(child, "close");
  return signal;
}

async function stateAfter(session: Session, before: Context): Promise<string> {
  const { items } = await session.context();
  if (isDeepStrictEqual(items, before.items)) return "as before";
  const [summary, ...kept] = items;
  const isKept = kept.every(({ message }) =>
    before.items.some((item) => isDeepStrictEqual(item.message, message)),
  );
  const leaf = await session.entry(session.leafId ?? "");
  return leaf?.type === "compaction" && summary?.entryId === leaf.id && isKept ? "compacted" : "neither";
}
