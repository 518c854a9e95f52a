import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type Session, type SessionStore, sessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { syncSessions } from "sessile/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hookedBackend, hookedMemory, type LogHooks } from "../session/hooked-backend.js";
import { rounds } from "../support/rounds.js";
import { bytesOf, textOf, viewOf } from "./stores.js";

/** An agent's call on one of the stores. */
interface Act {
  readonly store: 0 | 1;
  readonly what: "message" | "branch" | "label" | "title" | "leaf";
  /** Which of the known entries it is about. */
  readonly about: number;
}

/** What agents do while a sync runs, and what happens to it. */
interface Round {
  readonly acts: readonly Act[];
  /** The sync runs while the agents do, or after them; or there is none. */
  readonly sync: "during" | "after" | "none";
  readonly reversed: boolean;
  /** The append at which the program dies or loses an answer, and after how many appends. */
  readonly fault: { readonly at: number; readonly kind: "before" | "after" } | undefined;
}

const act = fc.record<Act>({
  store: fc.constantFrom(0 as const, 1 as const),
  what: fc.constantFrom("message", "message", "branch", "label", "title", "leaf"),
  about: fc.nat({ max: 1000 }),
});
const round = fc.record<Round>({
  acts: fc.array(act, { maxLength: 6 }),
  sync: fc.constantFrom("during", "after", "none"),
  reversed: fc.boolean(),
  fault: fc.option(
    fc.record({ at: fc.nat({ max: 4 }), kind: fc.constantFrom("before" as const, "after" as const) }),
    { nil: undefined },
  ),
});

const lost = () =>
  new SessileError("STORAGE_FAILED", "the answer was lost", {
    details: { operation: "append to", path: "test", errno: "EIO" },
  });

/** A store whose next append but so many fails, before or after it is written. */
class FaultyStore {
  readonly store: SessionStore;
  fault: Round["fault"];
  readonly #hooks: LogHooks = {
    append: async (_lines, _expected, append) => {
      const isNow = this.fault !== undefined && this.fault.at === 0;
      if (this.fault !== undefined) this.fault = isNow ? undefined : { ...this.fault, at: this.fault.at - 1 };
      if (!isNow) return append();
      if (this.#kind === "after") await append();
      throw lost();
    },
  };
  #kind: "before" | "after" = "before";

  constructor(inner: SessionStore, now: () => number) {
    const { backend } = inner;
    const bound = {
      create: backend.create.bind(backend),
      open: backend.open.bind(backend),
      list: backend.list.bind(backend),
      delete: backend.delete.bind(backend),
    };
    this.store = sessionStore(hookedBackend(bound, this.#hooks), { now });
  }

  set next(fault: Round["fault"]) {
    this.fault = fault;
    this.#kind = fault?.kind ?? "before";
  }
}

/** Plays rounds on two stores, then syncs twice. Compares everything. */
async function play(stores: (now: () => number) => readonly SessionStore[], plan: readonly Round[]) {
  let clock = Date.UTC(2026, 0, 1);
  // Some entries have the same time.
  const now = () => (clock++ % 3 === 0 ? --clock + 1 : clock);
  const faulty = stores(now).map((store) => new FaultyStore(store, now));
  const [a, b] = faulty.map(({ store }) => store) as [SessionStore, SessionStore];
  const first = await a.create({ cwd: "/p", id: "s" });
  await first.appendMessage(userMessage("root"));
  await first.close();
  await syncSessions(a, b);
  const acknowledged = new Set<string>();
  const trace: string[] = [];
  let text = 0;
  const perform = async ({ store, what, about }: Act): Promise<void> => {
    let session: Session | undefined;
    try {
      session = await (store === 0 ? a : b).open("s", { mode: "write" });
      const ids = [...(await session.tree()).walk()].map(({ node }) => node.id);
      const target = ids[about % ids.length] as string;
      trace.push(`${what} on ${store} about ${target}`);
      if (what === "branch" || what === "leaf") await session.branch(target);
      if (what === "label") {
        const [entry] = await session.append([{ type: "label", targetId: target, label: `l${text++}` }], {
          conflict: "branch",
        });
        acknowledged.add(entry?.id as string);
      } else if (what === "title") {
        await session.updateInfo({ title: `title ${text++}` });
      } else {
        const draft = what === "leaf" ? ({ type: "leaf", targetId: target } as const) : undefined;
        const [entry] = await session.append(
          [draft ?? { type: "message", message: userMessage(`${text++}`) }],
          {
            conflict: "branch",
          },
        );
        acknowledged.add(entry?.id as string);
      }
    } catch (error) {
      // A lost answer, or an append of the agent that was killed: not acknowledged.
      if (!(error instanceof SessileError)) throw error;
    } finally {
      await session?.close();
    }
  };
  for (const { acts, sync, reversed, fault } of plan) {
    const run = () =>
      (reversed ? syncSessions(b, a) : syncSessions(a, b)).catch((error: unknown) => {
        if (!SessileError.is(error, "STORAGE_FAILED")) throw error;
      });
    (faulty[reversed ? 1 : 0] as FaultyStore).next = fault;
    const running = sync === "during" ? run() : undefined;
    for (const each of acts) await perform(each);
    await running;
    if (sync === "after") await run();
    for (const each of faulty) each.next = undefined;
  }
  const settled = await syncSessions(a, b);
  expect(settled.skipped).toEqual([]);
  const [left, right] = [await bytesOf(a, "s"), await bytesOf(b, "s")];
  expect(viewOf(left)).toEqual(viewOf(right));
  const ids = new Set((await ourEntries(a)).map(({ id }) => id));
  for (const id of acknowledged) expect(ids.has(id), `entry ${id}; ${trace.join(", ")}`).toBe(true);
  expect(await syncSessions(b, a)).toMatchObject({ entries: 0, changed: 0 });
  await expectParentsFirst(a);
  await expectParentsFirst(b);
}

async function ourEntries(store: SessionStore) {
  const session = await store.open("s");
  const nodes = [...(await session.tree()).walk()].map(({ node }) => node);
  await session.close();
  return nodes;
}

async function expectParentsFirst(store: SessionStore): Promise<void> {
  const seen = new Set<string | null>([null]);
  for (const line of (await textOf(store, "s")).trimEnd().split("\n").slice(1)) {
    const { id, parentId } = JSON.parse(line) as { id: string; parentId: string | null };
    expect(seen.has(parentId)).toBe(true);
    expect(seen.has(id)).toBe(false);
    seen.add(id);
  }
}

let dir = "";
let count = 0;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-sync-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const memory = (now: () => number) => sessionStore(hookedMemory({}, now), { now });
const files = (now: () => number) =>
  fileSessionStore({ dir: join(dir, String(count++)), durability: "os", now });

describe("agents that write to both stores while they are synced", () => {
  // @covers durability:syncs-while-writing
  test("lose nothing, and both stores end with the same tree", async () => {
    const stores = [files(Date.now), files(Date.now)] as const;
    const [a, b] = stores;
    const first = await a.create({ cwd: "/p", id: "s" });
    await first.appendMessage(userMessage("root"));
    await syncSessions(a, b);
    const written: string[] = [];
    const agents = stores.map(async (store, number) => {
      const session = await store.open("s", { mode: "write" });
      for (let i = 0; i < 15; i++) {
        const entry = await session.appendMessage(userMessage(`${number} ${i}`), { conflict: "branch" });
        written.push(entry.id);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      await session.close();
    });
    let moved = 0;
    let isDone = false;
    const syncing = (async () => {
      while (!isDone) {
        const { skipped, entries } = await syncSessions(a, b);
        expect(skipped).toEqual([]);
        if (entries > 0) moved++;
      }
    })();
    await Promise.all(agents);
    isDone = true;
    await syncing;
    expect(moved).toBeGreaterThan(0);
    await syncSessions(b, a);
    expect(viewOf(await bytesOf(a, "s"))).toEqual(viewOf(await bytesOf(b, "s")));
    const ids = (await ourEntries(a)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(written));
  });
});

describe("any interleaving of appends, syncs, kills and lost answers ends in equal trees", () => {
  // @covers durability:syncs
  test("of two stores in memory", async () => {
    const stores = (now: () => number) => [memory(now), memory(now)];
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 6 }), (plan) => play(stores, plan)),
      { numRuns: rounds(15, 150) },
    );
  });

  // @covers durability:syncs
  test("of a store in files and one in memory", async () => {
    const stores = (now: () => number) => [files(now), memory(now)];
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 5 }), (plan) => play(stores, plan)),
      { numRuns: rounds(5, 50) },
    );
  });
});
