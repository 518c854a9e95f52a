import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type CompactableSession, compact, rollingSummary } from "sessile/compaction";
import type { Context } from "sessile/content";
import type { Session, SessionStore } from "sessile/session";
import { check } from "./check.js";
import { ScriptedSummarizer } from "./scripted-summarizer.js";

/** When a process is killed: while its model is asked, about when it writes, or right after that was acknowledged. */
const moments = ["asked", "appending", "appended"] as const;
export type Moment = (typeof moments)[number];

const longMs = 60_000;

/** What a process does that is going to be killed: compacts, and says how far it is. Whoever started it kills it then. */
export async function dieWhileCompacting(session: Session, window: number, moment: Moment): Promise<void> {
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

/**
 * Kills processes that compact, each at another moment: the first in this session, the others in copies of it. Gives the
 * session as it is read again.
 *
 * @param args of Node, to which the session's id and the moment are added
 */
export async function killCompactions(
  session: Session,
  store: SessionStore,
  args: readonly string[],
): Promise<Session> {
  console.log("\nProcesses are killed in the middle of a compaction");
  const before = await session.context();
  await session.close();
  const ends = moments.map(async (moment) => {
    const { id } = moment === "asked" ? session : await copyOf(session, store);
    const signal = await killed([...args, id, moment], moment);
    await using after = await store.open(id, { mode: "write" });
    const state = await stateAfter(after, before);
    // It goes on: nothing of the dead process is in the way.
    await after.updateInfo({ name: "A long session" });
    return `${signal}, ${state}`;
  });
  const [asked, appending = "", appended] = await Promise.all(ends);
  const [asBefore, compacted] = ["SIGKILL, as before", "SIGKILL, compacted"];
  console.log(`  about when it is written: ${appending}`);
  check("while the model is asked: the context is as before", asked, asBefore);
  check("while it is written: all of it is there, or nothing", [asBefore, compacted].includes(appending));
  check("once it is written: all of it is there", appended, compacted);
  return store.open(session.id, { mode: "write" });
}

async function copyOf({ id }: Session, store: SessionStore): Promise<Session> {
  await using copy = await store.fork(id);
  return copy;
}

/** Runs a process until it says a word. Gives the signal that ended it. */
async function killed(args: readonly string[], word: string): Promise<unknown> {
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.split("\n").includes(word)) child.kill("SIGKILL");
  });
  const [, signal] = await once(child, "close");
  return signal;
}

/** Whether a compaction is there in whole, or nothing of it, or anything else. */
async function stateAfter(session: Session, before: Context): Promise<string> {
  const { items } = await session.context();
  if (isDeepStrictEqual(items, before.items)) return "as before";
  const [summary, ...kept] = items;
  const isKept = kept.every(({ message }) =>
    before.items.some((item) => isDeepStrictEqual(item.message, message)),
  );
  const tip = await session.entry(session.leafId ?? "");
  return tip?.type === "compaction" && summary?.entryId === tip.id && isKept ? "compacted" : "neither";
}
