import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eraseEntries, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canary, filesWithCanary } from "../support/canary.js";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { useActors } from "./acting.js";
import { needs } from "./needs.js";
import { changingCalls, fileCalls, type Threads, trace } from "./strace.js";

const startActor = useActors();
let base = "";
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "sessile-calls-"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** So many processes at a time. */
const atATime = 3;
/** All that look at files too, where somebody wants to be sure: many more, and they leave nothing new. */
const isBrief = process.env.SESSILE_FAULT_ROUNDS === undefined;
const calls = isBrief ? changingCalls : fileCalls;

/** A write by which a thread wakes another. */
function isWakeUp(line: string): boolean {
  return line.includes(String.raw`"\1\0\0\0\0\0\0\0", 8)`);
}

/** What a kill left to be looked at. */
interface Killed {
  readonly dir: string;
  readonly entries: readonly string[];
  readonly blobs: readonly string[];
}

/** Steps of a process, what they are done upon, and what is to be true after it was killed at any call. */
interface Scenario {
  readonly steps: readonly string[];
  prepare(dir: string): Promise<void>;
  check(killed: Killed): Promise<void>;
}

/** Has a process do the steps; the calls that it made in these threads, and whether it was killed. */
async function run(
  { steps, prepare, check }: Scenario,
  threads: Threads,
  kill?: { readonly call: string; readonly when: number },
): Promise<{ readonly made: readonly string[]; readonly killed: boolean }> {
  const dir = mkdtempSync(join(base, "at-"));
  await prepare(dir);
  const actor = await startActor(dir);
  const inject = kill && { inject: `${kill.call}:signal=SIGKILL:when=${kill.when}` };
  const traced = await trace(actor.pid, { threads, calls, ...inject });
  const said = await actor.act(...steps);
  if (said.length === steps.length) expect(said.filter((line) => !line.startsWith("did "))).toEqual([]);
  const how = await actor.end();
  const made = await traced.calls;
  try {
    await check({ dir, entries: actor.entries, blobs: actor.blobs });
  } catch (error) {
    const at = kill === undefined ? "not killed" : `killed at ${kill.call} ${kill.when} of ${threads}`;
    throw new Error([at, ...said, ...made.slice(-8)].join("\n"), { cause: error });
  }
  rmSync(dir, { recursive: true });
  return { made, killed: how === "SIGKILL" };
}

/** A call by its name, and the how many-th of that name it is of its thread. */
interface Call {
  readonly call: string;
  readonly when: number;
  readonly line: string;
}

/** What the lines of a trace say, each thread counted by itself, as an injection counts them. */
function callsOf(made: readonly string[]): readonly Call[] {
  const counts = new Map<string, number>();
  return made.map((line) => {
    const [, thread = "", call = ""] = /^(?:\[pid +(\d+)\] )?(\w+)\(/.exec(line) ?? [];
    const when = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, when);
    return { call, when, line };
  });
}

/** The calls that the steps make in these threads, each by its name and number. */
async function callsMade(scenario: Scenario, threads: Threads): Promise<Map<string, Call>> {
  const { made } = await run(scenario, threads);
  const seen = callsOf(made).filter(({ line }) => !isBrief || !isWakeUp(line));
  return new Map(seen.map((call) => [`${call.call} ${call.when}`, call]));
}

/**
 * Runs the steps three times to see which calls they make, then once for each call, with a kill as it is made. The number
 * of calls in a thread differs from run to run. So a run without a kill is shown to have made fewer calls, and is repeated,
 * at most three times. Gives how many calls the three runs made, and at how many of them a process was killed; and the same of the calls
 * that each of the three made.
 */
async function killAtEach(scenario: Scenario, threads: Threads): Promise<Record<"any" | "common", Kills>> {
  const counted = await Promise.all(Array.from({ length: 3 }, () => callsMade(scenario, threads)));
  const kills = new Map(counted.flatMap((calls) => [...calls]));
  const common = [...kills.keys()].filter((key) => counted.every((calls) => calls.has(key)));
  const killed = new Set<string>();
  const queue = [...kills];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [key, { call, when }] = next;
      for (let attempt = 0; attempt < 4 && !killed.has(key); attempt++) {
        const after = await run(scenario, threads, { call, when });
        if (after.killed) killed.add(key);
        else {
          const reached = callsOf(after.made).filter((other) => other.call === call && other.when >= when);
          expect(reached).toEqual([]);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return {
    any: { calls: kills.size, killed: killed.size },
    common: { calls: common.length, killed: common.filter((key) => killed.has(key)).length },
  };
}

/** How many calls were made, and at how many of them a process was killed. */
interface Kills {
  readonly calls: number;
  readonly killed: number;
}

describe("row 2: a process that is killed as it makes any of its system calls", () => {
  needs("ptrace");

  const scenarios: Readonly<Record<string, Scenario>> = {
    "while it appends: what it said was there is there, and the session goes on": {
      steps: ["open s", "append one", "batch two", "close"],
      // The end of the log is torn, and is mended first.
      async prepare(dir) {
        const session = await fileSessionStore({ dir: join(dir, "sessions") }).create({ cwd: "/p", id: "s" });
        await session.appendMessage(userMessage("first"));
        await session.close();
        appendFileSync(session.location ?? "", '{"type":"message","id":"0123');
      },
      async check({ dir, entries }) {
        expect(await sessionIsKept(dir, "s", entries)).toEqual([]);
      },
    },
    "while it makes a session: it is there if it said so, and can be made otherwise": {
      steps: ["create s", "close"],
      prepare: async () => undefined,
      async check({ dir, entries }) {
        const sessions = fileSessionStore({ dir: join(dir, "sessions") });
        const found = await sessions.open("s").catch((error: unknown) => {
          if (error instanceof SessileError) return error.code;
          throw error;
        });
        if (entries.length > 0) expect(typeof found).toBe("object");
        // Made, and not written to: nothing was ever acknowledged in it.
        if (found === "EMPTY") expect(await sessions.delete("s")).toBe(true);
        else if (found !== "SESSION_NOT_FOUND") {
          expect(await sessionIsKept(dir, "s", entries)).toEqual([]);
          return;
        }
        const again = await sessions.create({ cwd: "/p", id: "s" });
        await again.appendMessage(userMessage("again"));
        await again.close();
        expect(await sessionIsKept(dir, "s", [])).toEqual([]);
      },
    },
    "while it erases: the old log or the new one is there, and a repetition erases all": {
      steps: ["erase s/e0000001"],
      async prepare(dir) {
        const session = await fileSessionStore({ dir: join(dir, "sessions") }).create({ cwd: "/p", id: "s" });
        await session.append([
          { type: "message", message: userMessage(`first ${canary}`), id: "e0000001" },
          { type: "message", message: userMessage("second"), id: "e0000002" },
        ]);
        await session.close();
        writeFileSync(`${session.location}.old-2026`, canary);
      },
      async check({ dir }) {
        const sessions = fileSessionStore({ dir: join(dir, "sessions") });
        const session = await sessions.open("s");
        const texts = (await session.context()).items.map(
          ({ message }) => "content" in message && message.content,
        );
        expect([
          ["[erased]", "second"],
          [`first ${canary}`, "second"],
        ]).toContainEqual(texts);
        expect(await session.diagnose()).toEqual([]);
        // The copy goes after the log: nothing is lost by an erasure that was not done.
        if (texts[0] !== "[erased]") expect(filesWithCanary(dir)).toHaveLength(2);
        await session.close();
        await eraseEntries(sessions, "s", ["e0000001"], { reason: "a request" });
        expect(filesWithCanary(dir)).toEqual([]);
        expect(await sessionIsKept(dir, "s", ["e0000001", "e0000002"])).toEqual([]);
      },
    },
    "while it puts: what it said was stored is there, and no blob is wrong": {
      steps: ["put first", "put second*90000", "stream third*200000", "put first"],
      prepare: async () => undefined,
      check: ({ dir, blobs }) => blobsAreKept(dir, blobs),
    },
  };

  describe.each<Threads>(["main", "others"])("in its %s threads", (threads) => {
    // @covers R94 durability:killed-append › while it appends: what it said was there is there, and the session goes on
    // @covers durability:killed-append › while it makes a session: it is there if it said so, and can be made otherwise
    // @covers durability:killed-erasure › while it erases: the old log or the new one is there, and a repetition erases all
    // @covers durability:killed-put › while it puts: what it said was stored is there, and no blob is wrong
    test.each(Object.entries(scenarios))("%s", async (_, scenario) => {
      const { any, common } = await killAtEach(scenario, threads);
      expect(any.calls).toBeGreaterThan(2);
      expect(any.killed).toBeGreaterThan(2);
      expect(common.killed).toBeGreaterThanOrEqual(Math.floor(common.calls * 0.8));
    });
  });
});
