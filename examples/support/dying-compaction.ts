import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type CompactableSession, compact, rollingSummary } from "sessile/compaction";
import type { Context } from "sessile/content";
import type { Session, SessionStore } from "sessile/session";
import { check } from "./check.js";
import { ScriptedSummarizer } from "./scripted-summarizer.js";

/** When a process dies: while its model is asked, right after the append began, or right after it was acknowledged. */
const moments = ["asked", "appending", "appended"] as const;
export type Moment = (typeof moments)[number];

/** What the process does that is going to die. While the model is asked, it is killed from outside; else it does it itself. */
export async function dieWhileCompacting(session: Session, window: number, moment: Moment): Promise<void> {
  const dying: CompactableSession = {
    header: session.header,
    leafId: session.leafId,
    context: (leafId) => session.context(leafId),
    async append(drafts, options) {
      const appended = session.append(drafts, options);
      await (moment === "appended" ? appended : setTimeout(1));
      process.kill(process.pid, "SIGKILL");
      return appended;
    },
  };
  const summarizer = new ScriptedSummarizer();
  await compact(dying, {
    strategy: rollingSummary(),
    window,
    trigger: "manual",
    generate: async (prompt, options) => {
      console.log("asked");
      if (moment === "asked") await setTimeout(60_000);
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
    const signal = await killed([...args, id, moment], moment === "asked");
    await using after = await store.open(id, { mode: "write" });
    return `${signal}, ${await stateAfter(after, before)}`;
  });
  const [asked, appending = "", appended] = await Promise.all(ends);
  const [asBefore, compacted] = ["SIGKILL, as before", "SIGKILL, compacted"];
  check("while the model is asked: the context is as before", asked, asBefore);
  check("while it is written: all of it is there, or nothing", [asBefore, compacted].includes(appending));
  check("once it is written: all of it is there", appended, compacted);
  return store.open(session.id, { mode: "write" });
}

async function copyOf({ id }: Session, store: SessionStore): Promise<Session> {
  await using copy = await store.fork(id);
  return copy;
}

/** The signal that ended a process. */
async function killed(args: readonly string[], killOnOutput: boolean): Promise<unknown> {
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.on("data", () => {
    if (killOnOutput) child.kill("SIGKILL");
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
