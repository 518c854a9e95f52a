import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fileBlobStore } from "../../src/blobs/node/index.js";
import { userMessage } from "../../src/content/index.js";
import { SessileError } from "../../src/errors/index.js";
import { fileSessionStore } from "../../src/session/node/index.js";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { useActors } from "./acting.js";
import { blobBytes } from "./blob-bytes.js";
import { needs } from "./needs.js";
import { changingCalls, type Threads, trace } from "./strace.js";

vi.setConfig({ testTimeout: 240_000 });

const startActor = useActors();
let base = "";
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "sessile-calls-"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** So many processes at a time. */
const atATime = 3;
/** More calls than any of these takes. */
const most = 400;

/** What a kill left to be looked at. */
interface Killed {
  readonly dir: string;
  readonly entries: readonly string[];
  readonly blobs: readonly string[];
}

/**
 * Has a new process do the steps for every N, and kills it as it makes the Nth call in these threads, until one comes to
 * the end of the steps. Gives how many were killed.
 */
async function killAtEach(
  threads: Threads,
  steps: readonly string[],
  prepare: (dir: string) => Promise<void>,
  check: (killed: Killed) => Promise<void>,
): Promise<number> {
  const one = async (when: number): Promise<boolean> => {
    const dir = mkdtempSync(join(base, "at-"));
    await prepare(dir);
    const actor = await startActor(dir);
    const inject = `${changingCalls}:signal=SIGKILL:when=${when}`;
    const { calls } = await trace(actor.pid, { threads, calls: changingCalls, inject });
    const said = await actor.act(...steps);
    const survived = said.length === steps.length;
    if (survived) expect(said.filter((line) => !line.startsWith("did "))).toEqual([]);
    const how = await actor.end();
    try {
      await check({ dir, entries: actor.entries, blobs: actor.blobs });
    } catch (error) {
      throw new Error(
        `killed at call ${when} of ${threads}, after ${said.join("; ")}\n${(await calls).slice(-8).join("\n")}`,
        { cause: error },
      );
    }
    rmSync(dir, { recursive: true });
    return how === "SIGKILL";
  };
  for (let next = 1; next < most; next += atATime) {
    const results = await Promise.all(Array.from({ length: atATime }, (_, i) => one(next + i)));
    const survivor = results.indexOf(false);
    if (survivor >= 0) return next + survivor - 1;
  }
  throw new Error(`still killed at call ${most}`);
}

describe("row 2: a process that is killed as it makes any of its system calls", () => {
  needs("ptrace");

  // The thread of the pool does nothing but wait for the disk, and say that it has.
  describe.each<[Threads, number]>([
    ["main", 10],
    ["others", 3],
  ])("in its %s threads", (threads, least) => {
    test("while it appends: what it said was there is there, and the session goes on", async () => {
      const killed = await killAtEach(
        threads,
        // The end of the log is torn, and is mended first.
        ["open s", "append one", "batch two", "close"],
        async (dir) => {
          const session = await fileSessionStore({ dir: join(dir, "sessions") }).create({
            cwd: "/p",
            id: "s",
          });
          await session.appendMessage(userMessage("first"));
          await session.close();
          appendFileSync(session.location ?? "", '{"type":"message","id":"0123');
        },
        async ({ dir, entries }) => {
          expect(await sessionIsKept(dir, "s", entries)).toEqual([]);
        },
      );
      expect(killed).toBeGreaterThan(least);
    });

    test("while it makes a session: it is there if it said so, and can be made otherwise", async () => {
      const killed = await killAtEach(
        threads,
        ["create s", "close"],
        async () => undefined,
        async ({ dir, entries }) => {
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
      );
      expect(killed).toBeGreaterThan(least);
    });

    test("while it puts: what it said was stored is there, and no blob is wrong", async () => {
      const killed = await killAtEach(
        threads,
        ["put first", "put second*90000", "stream third*200000", "put first", "put old"],
        async (dir) => {
          await fileBlobStore({ dir: join(dir, "other") }).put(blobBytes("old", 500));
        },
        ({ dir, blobs }) => blobsAreKept(dir, blobs),
      );
      expect(killed).toBeGreaterThan(least);
    });
  });
});
