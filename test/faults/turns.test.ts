import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { Pool } from "pg";
import { type Session, type SessionStore, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { postgresSessionBackend, postgresSessionStore } from "sessile/postgres";
import { afterEach, describe, expect, test } from "vitest";
import { startPostgres, withoutPostgres } from "../support/postgres.js";
import { rounds } from "../support/rounds.js";
import { runTurnProgram, turnPrograms } from "../support/turn-programs.js";
import { numbers } from "./postgres-work.js";
import { type Child, startProcess, useProgram } from "./start-child.js";

const program = useProgram(new URL("./turn-worker.ts", import.meta.url));
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A store that other processes reach by an address, and the lease of a turn there. */
interface Place {
  readonly address: string;
  readonly store: SessionStore;
  /** Short where only time tells that a process has ended. */
  readonly ttlMs: number;
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "sessile-turns-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  async files() {
    const dir = folder();
    return {
      address: dir,
      store: fileSessionStore({ dir, durability: "os", lockWaitMs: 60_000 }),
      ttlMs: 600_000,
    };
  },
  async PostgreSQL() {
    const server = await startPostgres();
    ends.push(() => server[Symbol.asyncDispose]());
    const db = new Pool({ connectionString: server.url });
    db.on("error", () => undefined);
    ends.push(() => db.end());
    await postgresSessionBackend({ db }).migrate();
    return { address: server.url, store: postgresSessionStore({ db }), ttlMs: 400 };
  },
};

const claimOf = (text: string): string => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(text)?.[0] ?? "";

interface Answer {
  readonly id: string;
  readonly text: string;
  readonly isWhole: boolean;
}

/** The claims of all messages in the order of the log, and the replies. */
async function readTurns(
  session: Session,
): Promise<{ readonly claims: string[]; readonly answers: Answer[] }> {
  const claims: string[] = [];
  const answers: Answer[] = [];
  for (const entry of await session.path()) {
    if (entry.type !== "message" || (entry.message.role !== "user" && entry.message.role !== "assistant"))
      continue;
    const { content } = entry.message;
    const text =
      typeof content === "string"
        ? content
        : content.map((each) => ("text" in each ? each.text : "")).join("");
    claims.push(claimOf(text));
    if (entry.message.role === "assistant")
      answers.push({ id: entry.id, text, isWhole: entry.message.stopReason !== "aborted" });
  }
  return { claims, answers };
}

describe.skipIf(withoutPostgres !== undefined)("turns of random programs, on a real server", () => {
  test("keep what they promise", async () => {
    const server = await startPostgres({ settings: { synchronous_commit: "off" } });
    ends.push(() => server[Symbol.asyncDispose]());
    const db = new Pool({ connectionString: server.url });
    ends.push(() => db.end());
    const backend = postgresSessionBackend({ db });
    await backend.migrate();
    let sessions = 0;
    await fc.assert(
      fc.asyncProperty(turnPrograms(8), (program) =>
        runTurnProgram(program, backend, `s${sessions++}`, true),
      ),
      { numRuns: rounds(20, 1000) },
    );
  });
});

describe.each(Object.keys(places))("turns of several processes in %s", (name) => {
  // @covers durability:turn-killed durability:reply-killed
  test("a killed or stopped process loses no reply that was shown, and never works beside another", async ({
    skip,
  }) => {
    if (name === "PostgreSQL") skip(withoutPostgres !== undefined, withoutPostgres);
    const seed = Number(process.env.SESSILE_SEED ?? Math.floor(Math.random() * 1e6));
    const random = numbers(seed);
    const { address, store, ttlMs } = await (places[name] as () => Promise<Place>)();
    const first = await store.create({ cwd: "/p", id: "turns" });
    await first.appendMessage(userMessage("first"));
    await first.close();
    const start = (role: string, at: number): Child => {
      const child = startProcess(process.execPath, [
        program(),
        role,
        address,
        "turns",
        `${seed + at}`,
        `${ttlMs}`,
      ]);
      ends.push(() => void child.process.kill("SIGKILL"));
      return child;
    };
    const all: Child[] = [];
    const workers: Child[] = [];
    const follower = start("follow", 1000);
    const hire = () => {
      const child = start("work", all.length);
      all.push(child);
      workers.push(child);
    };
    for (let at = 0; at < 3; at++) hire();
    const count = (word: string) =>
      all.reduce((sum, { said }) => sum + said.filter((line) => line.startsWith(word)).length, 0);
    for (let kill = 0; kill < 10; kill++) {
      const before = count("answered");
      // Something has to happen between two faults.
      while (count("answered") < before + 2) await pause(20);
      await pause(random(60));
      const victim = workers[random(workers.length)] as Child;
      if (random(3) === 0) {
        victim.process.kill("SIGSTOP");
        await pause(name === "files" ? random(100) : ttlMs + random(300));
        victim.process.kill("SIGCONT");
        continue;
      }
      victim.process.kill("SIGKILL");
      await victim.ended;
      workers.splice(workers.indexOf(victim), 1);
      hire();
    }
    for (const { process } of [...workers]) process.kill("SIGKILL");
    for (const { ended } of workers) await ended;
    await pause(ttlMs > 1000 ? 0 : ttlMs);
    const session = await store.open("turns", { mode: "write" });
    ends.push(() => session.close());
    await session.recoverReply();
    follower.process.kill("SIGKILL");
    await follower.ended;
    const bad = [...all, follower].flatMap(({ said }) => said.filter((line) => line.startsWith("bad ")));
    expect(bad, `seed ${seed}`).toEqual([]);
    expect((await session.leaves()).length, `branches, seed ${seed}`).toBe(1);
    const { claims, answers } = await readTurns(session);
    // A reply that broke off within the id of its claim tells none.
    const named = claims.slice(1).filter((claim) => claim !== "");
    expect(named.filter((claim, at) => claim !== named[at - 1]).length, `turns, seed ${seed}`).toBe(
      new Set(named).size,
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length);
    const texts = new Map(answers.map(({ id, text }) => [id, text]));
    for (const { text, isWhole } of answers) {
      const whole = Array.from({ length: 12 }, (_, at) => `${claimOf(text)}.${at} `).join("");
      if (isWhole) expect(text).toBe(whole);
      else if (claimOf(text) !== "") expect(whole.startsWith(text)).toBe(true);
    }
    const answered = all.flatMap(({ said }) =>
      said.flatMap((line) => (line.startsWith("answered ") ? [line.slice(9)] : [])),
    );
    for (const id of answered) expect(texts.has(id), `${id}, seed ${seed}`).toBe(true);
    const seen = follower.said.flatMap((line) => {
      const [, id = "", how = "", text = ""] = /^saw (\S+) (\S*) (.*)$/.exec(line) ?? [];
      return how === "" ? [] : [{ id, how, text: JSON.parse(text) as string }];
    });
    expect(seen.length).toBeGreaterThan(3);
    for (const { id, how, text } of seen) {
      const stored = texts.get(id) ?? "";
      if (how === "end") expect(text, `${id}, seed ${seed}`).toBe(stored);
      else expect(stored.startsWith(text), `${id} ${how}: ${text} | ${stored}, seed ${seed}`).toBe(true);
    }
  });
});
