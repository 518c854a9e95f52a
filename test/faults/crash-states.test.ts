import {
  type EntryDraft,
  type Session,
  type SessionEntry,
  type SessionStore,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Check, checkCrashes, Witness } from "../support/crash-states.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { seeded } from "./mutants.js";

// Appends, at every byte of them and in any program, are in simulated-crash.test.ts. Here is all else
// that writes to a log's directory, and a second crash while the first one is recovered from.

/** More of each by hand: SESSILE_FAULT_ROUNDS=20 takes some minutes. */
const rounds = Number(process.env.SESSILE_FAULT_ROUNDS ?? 1);
vi.setConfig({ testTimeout: 300_000 * rounds });

// A machine that comes back has another boot id, and what was locked before is not locked any more.
const boot = vi.hoisted(() => ({ number: 0 }));
vi.mock("../../src/core/node/process-identity.js", async (original) => {
  const actual = await original<typeof import("../../src/core/node/process-identity.js")>();
  return { ...actual, ownIdentity: () => ({ ...actual.ownIdentity(), bootId: `boot ${boot.number}` }) };
});
afterEach(() => {
  boot.number = 0;
});

const id = "kept";
const cwd = "/work";
const dir = "/sessions";

type Entry = SessionEntry | UnknownEntry;

function storeOn(disk: SimulatedDisk): SessionStore {
  return disk.sessions({ dir, lockWaitMs: 300 });
}

function message(text: string): EntryDraft {
  return { type: "message", message: { ...userMessage(text), timestamp: 0 } };
}

async function idsOf(session: Session): Promise<string[]> {
  return Array.from((await session.tree()).walk(), ({ node }) => node.id);
}

async function entriesOf(session: Session): Promise<readonly (Entry | undefined)[]> {
  return Promise.all((await idsOf(session)).map((entryId) => session.entry(entryId)));
}

/** A disk that nothing is lost of any more, with a session of these messages. */
async function diskWith(...texts: readonly string[]): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  const session = await storeOn(disk).create({ cwd, id });
  for (const text of texts) await session.append([message(text)]);
  await session.close();
  return settled(disk);
}

/** The disk after a loss of power in which all that was not synced went. */
function settled(disk: SimulatedDisk): SimulatedDisk {
  const [left] = disk.afterPowerCut({ limit: 1 });
  return left as SimulatedDisk;
}

function pathOf(disk: SimulatedDisk, name = id): string {
  return disk.paths().find((path) => path.endsWith(`_${name}.jsonl`)) ?? "";
}

/** Reads a session, appends to it and reads it again: these entries are there each time, and what was appended. */
async function goesOn(disk: SimulatedDisk, sessionId: string, entries: readonly Entry[]): Promise<void> {
  const has = async (session: Session) => {
    for (const entry of entries) expect(await session.entry(entry.id)).toEqual(entry);
  };
  const reading = await storeOn(disk).open(sessionId);
  const before = await idsOf(reading);
  await has(reading);
  await reading.close();
  const writing = await storeOn(disk).open(sessionId, { mode: "write" });
  await has(writing);
  const [added] = await writing.append([message("after")]);
  await writing.close();
  const again = await storeOn(disk).open(sessionId);
  await has(again);
  expect(await idsOf(again)).toEqual(expect.arrayContaining([...before, added?.id]));
  expect(again.diagnostics.filter(({ code }) => code !== "TORN_LINE")).toEqual([]);
  await again.close();
}

/** These entries last, and the session can be gone on with. */
const keeps =
  (sessionId: string, entries: readonly Entry[]): Check =>
  (left) =>
    goesOn(left, sessionId, entries);

/** A list shows sessions that open, and nothing that a crash left of work on them. */
const lists: Check = async (left) => {
  const store = storeOn(left);
  for await (const summary of store.list({ stats: true })) {
    const session = await store.open(summary.id);
    expect((await session.tree()).size).toBe(summary.counts?.entries);
    await session.close();
  }
};

/** Opens each session there is for writing, as whoever comes back does. */
async function recover(disk: SimulatedDisk): Promise<void> {
  const store = storeOn(disk);
  for await (const { id } of store.list()) {
    const session = await store.open(id, { mode: "write" });
    await session.append([message("recovered")]);
    await session.close();
  }
}

/** Not there, or one that has all of these. */
const isAllOrAbsent =
  (sessionId: string, all: readonly Entry[]): Check =>
  async (left) => {
    const session = await storeOn(left)
      .open(sessionId)
      .catch((error: unknown) => {
        if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
      });
    if (session === undefined) return;
    await session.close();
    await goesOn(left, sessionId, all);
  };

/** Not there, or not yet a session, or one that goes on. */
const isWholeOrAbsent =
  (sessionId: string, all: readonly Entry[]): Check =>
  async (left) => {
    let session: Session;
    try {
      session = await storeOn(left).open(sessionId);
    } catch (error) {
      if (!(error instanceof SessileError)) throw error;
      expect(["SESSION_NOT_FOUND", "EMPTY", "NO_HEADER"]).toContain(error.code);
      return;
    }
    const found = (await entriesOf(session)).filter((entry) => entry !== undefined);
    await session.close();
    const known = new Map(all.map((entry) => [entry.id, entry]));
    for (const entry of found) if (known.has(entry.id)) expect(entry).toEqual(known.get(entry.id));
    await goesOn(left, sessionId, found);
  };

async function checked(witness: Witness, name: string): Promise<number> {
  const random = seeded(name.length);
  const reboot = () => void boot.number++;
  return checkCrashes(witness, { limit: 12 * rounds, random, reboot, recover, seconds: 12 * rounds });
}

async function keptOf(disk: SimulatedDisk): Promise<readonly Entry[]> {
  const session = await storeOn(disk).open(id);
  const entries = await entriesOf(session);
  await session.close();
  return entries.filter((entry) => entry !== undefined);
}

const oldLines = [
  { type: "session", id, timestamp: "2026-01-01T00:00:00.000Z", cwd },
  { type: "message", timestamp: "t", message: { role: "user", content: "one", timestamp: 1 } },
  { type: "message", timestamp: "t", message: { role: "user", content: "two", timestamp: 2 } },
];

function fileOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

describe("row 4: every state a crash can leave, and a second crash while it is recovered from", () => {
  // @covers R94 durability:power-cut
  test("an append, a move of the leaf, and closing", async () => {
    const disk = await diskWith("one", "two");
    const kept = await keptOf(disk);
    const witness = new Witness(disk, [lists, keeps(id, kept)]);
    const session = await storeOn(disk).open(id, { mode: "write" });
    const entries = await session.append([message("three"), message("four")]);
    witness.promise(keeps(id, entries));
    await session.branch(kept[0]?.id ?? null);
    await session.close();
    witness.promise(async (left) => {
      const again = await storeOn(left).open(id);
      const path = (await again.tree()).path(again.leafId).map((node) => node.id);
      expect(path[0]).toBe(kept[0]?.id);
      // Whoever recovered in between went on from there.
      for (const { id } of [...kept.slice(1), ...entries]) expect(path).not.toContain(id);
      await again.close();
    });
    expect(await checked(witness, "append")).toBeGreaterThan(100);
  });

  // @covers durability:foreign-last-line durability:power-cut-change
  test.each([
    ["torn", '{"type":"message","id":"0badc0de","par'],
    ["padded with NULs", "\0".repeat(90)],
    ["only without its line feed", undefined],
  ])("opening for writing where the end is %s: every byte stays in the log", async (_, torn) => {
    const base = await diskWith("one");
    const path = pathOf(base);
    const bytes = base.bytes(path) as Uint8Array;
    base.put(path, torn === undefined ? bytes.slice(0, -1) : Buffer.concat([bytes, Buffer.from(torn)]));
    const disk = settled(base);
    const kept = await keptOf(disk);
    expect(kept).toHaveLength(1);
    const isSomewhere: Check = async (left) => {
      expect(Buffer.from(left.bytes(path) ?? []).includes(torn ?? "one")).toBe(true);
      expect(left.paths().filter((name) => name.includes(".torn-"))).toEqual([]);
    };
    // Where another program left out the last line feed, and the power goes while it is added, a file system may show a
    // NUL in its place. Then that line is a torn one, and no entry any more.
    const keepsLine: Check = async (left) => {
      const isPadded = Buffer.from(left.bytes(path) ?? []).includes(0);
      if (torn !== undefined || !isPadded) await keeps(id, kept)(left);
    };
    const witness = new Witness(disk, [isSomewhere, lists, keepsLine]);
    const session = await storeOn(disk).open(id, { mode: "write" });
    const entries = await session.append([message("two")]);
    witness.promise(keeps(id, entries));
    await session.close();
    expect(await checked(witness, "open")).toBeGreaterThan(80);
  });

  // @covers R134 durability:power-cut-change
  test.each([
    ["1", false],
    ["2", false],
    ["1", true],
  ])(
    "migrating version %s (second names refused: %s): the old file is kept, whole",
    async (version, refuseLinks) => {
      const disk = new SimulatedDisk();
      disk.refuseLinks = refuseLinks;
      const chained = oldLines.map((line, at) =>
        at === 0
          ? { ...line, version: 2 }
          : { id: `0000000${at}`, parentId: at === 1 ? null : "00000001", ...line },
      );
      const text = fileOf(version === "1" ? oldLines : chained);
      const path = `${dir}/--work--/2026-01-01T00-00-00-000Z_${id}.jsonl`;
      disk.put(path, text);
      const kept = await keptOf(disk);
      expect(kept).toHaveLength(2);
      const keepsOld: Check = async (left) => {
        left.refuseLinks = refuseLinks;
        const whole = left.paths().filter((name) => name === path || name.startsWith(`${path}.old-`));
        expect(whole.map((name) => Buffer.from(left.bytes(name) ?? []).toString())).toContain(text);
      };
      const witness = new Witness(disk, [lists, keepsOld, keeps(id, kept)]);
      const session = await storeOn(disk).open(id, { mode: "write" });
      const entries = await session.append([message("three")]);
      witness.promise(keeps(id, entries));
      await session.close();
      expect(await checked(witness, "migrate")).toBeGreaterThan(120);
    },
  );

  // @covers durability:inherited-name
  test("an append to a file whose maker died before its name was made to last: it lasts from there on", async () => {
    const made = new Witness(new SimulatedDisk(), []);
    const creating = await storeOn(made.disk).create({ cwd, id });
    await creating.append([message("one")]);
    await creating.close();
    const written = made.moments.find(({ disk }) => (disk.bytes(pathOf(disk))?.length ?? 0) > 0);
    boot.number++;
    const witness = new Witness((written as (typeof made.moments)[number]).disk, []);
    const session = await storeOn(witness.disk).open(id, { mode: "write" });
    expect((await session.tree()).size).toBe(1);
    const entries = await session.append([message("two")]);
    witness.promise(keeps(id, [...(await keptOf(witness.disk)), ...entries]));
    await session.close();
    expect(await checked(witness, "name")).toBeGreaterThan(20);
  });

  // @covers durability:power-cut-change
  test("archiving", async () => {
    const disk = await diskWith("one", "two");
    const kept = await keptOf(disk);
    const witness = new Witness(disk, [lists, keeps(id, kept)]);
    const isArchived =
      (archived: boolean): Check =>
      async (left) => {
        const shown: string[] = [];
        for await (const summary of storeOn(left).list({ archived })) shown.push(summary.id);
        expect(shown).toEqual([id]);
      };
    await storeOn(disk).archive(id);
    witness.promise(isArchived(true));
    expect(await checked(witness, "archive")).toBeGreaterThan(60);
    const back = new Witness(settled(disk), [lists, keeps(id, kept)]);
    await storeOn(back.disk).archive(id, { archived: false });
    back.promise(isArchived(false));
    expect(await checked(back, "archive")).toBeGreaterThan(60);
  });

  // @covers R122 durability:fork durability:partial-copy durability:power-cut-change
  test.each(["fork", "extract"] as const)(
    "%s: the source is whole, the copy is when it resolves",
    async (way) => {
      const disk = await diskWith("one", "two", "three");
      const kept = await keptOf(disk);
      // A fork has its name when it is whole; an extraction is an append to a new file.
      const isSafe = way === "fork" ? isAllOrAbsent("copy", kept) : isWholeOrAbsent("copy", kept);
      const witness = new Witness(disk, [lists, keeps(id, kept), isSafe]);
      const store = storeOn(disk);
      const source = await store.open(id);
      const copy =
        way === "fork"
          ? await store.fork(id, { id: "copy" })
          : await source.extract(undefined, { id: "copy" });
      witness.promise(keeps("copy", kept));
      const entries = await copy.append([message("in the copy")]);
      witness.promise(keeps("copy", entries));
      await copy.close();
      await source.close();
      expect(await checked(witness, way)).toBeGreaterThan(100);
    },
  );

  // @covers durability:power-cut-change
  test("deleting: whole or gone, gone when it resolves, and the id is free again", async () => {
    const disk = await diskWith("one", "two");
    const kept = await keptOf(disk);
    const witness = new Witness(disk, [lists, isWholeOrAbsent(id, kept)]);
    expect(await storeOn(disk).delete(id)).toBe(true);
    witness.promise(async (left) => {
      await expect(storeOn(left).open(id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
      const session = await storeOn(left).create({ cwd, id });
      await session.append([message("anew")]);
      await session.close();
    });
    const random = seeded(6);
    const reboot = () => void boot.number++;
    expect(await checkCrashes(witness, { limit: 20 * rounds, random, reboot })).toBeGreaterThan(15);
  });
});
