import fc from "fast-check";
import { type EntryDraft, type Session, type SessionEntry, type UnknownEntry, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type PowerCutOptions, SimulatedDisk } from "../support/simulated-disk.js";

// A machine that comes back has another boot id, and what was locked before is not locked any more.
const boot = vi.hoisted(() => ({ id: "first" }));
vi.mock("../../src/core/node/process-identity.js", async (original) => {
  const actual = await original<typeof import("../../src/core/node/process-identity.js")>();
  return { ...actual, ownIdentity: () => ({ ...actual.ownIdentity(), bootId: boot.id }) };
});

afterEach(() => {
  boot.id = "first";
});

const id = "crash";
const cwd = "/work/project";

function storeOn(disk: SimulatedDisk, dir = "/sessions") {
  return disk.sessions({ dir, lockWaitMs: 300 });
}

function message(text: string): EntryDraft {
  return { type: "message", message: { ...userMessage(text), timestamp: 0 } };
}

/** The disk at one point of a program's run, and what had been acknowledged by then. */
interface Moment {
  readonly disk: SimulatedDisk;
  readonly acknowledged: readonly (SessionEntry | UnknownEntry)[];
  /** What the log held at each point so far. */
  readonly history: readonly Uint8Array[];
}

/** A program that writes one session, stopped and looked at after each change of its disk. */
class Run {
  readonly disk: SimulatedDisk;
  readonly moments: Moment[] = [];
  readonly acknowledged: (SessionEntry | UnknownEntry)[] = [];
  session: Session | undefined;
  /** Settings of a session that is not stored yet: they are written with its first other entry, or by `flush`. */
  #waiting: (SessionEntry | UnknownEntry)[] = [];
  #history: Uint8Array[] = [];

  constructor(
    disk = new SimulatedDisk(),
    readonly dir = "/sessions",
  ) {
    this.disk = disk;
    disk.onChange = () => {
      const bytes = disk.bytes(logOf(disk));
      if (bytes !== undefined && bytes !== this.#history.at(-1)) this.#history = [...this.#history, bytes];
      this.look();
    };
  }

  look(): void {
    this.moments.push({
      disk: this.disk.copy(),
      acknowledged: [...this.acknowledged],
      history: this.#history,
    });
  }

  async create(): Promise<Session> {
    return this.#started(await storeOn(this.disk, this.dir).create({ cwd, id }));
  }

  async open(): Promise<Session> {
    return this.#started(await storeOn(this.disk, this.dir).open(id, { mode: "write" }));
  }

  /** Appends, and makes sure that what resolves was promised by then. */
  async append(drafts: readonly EntryDraft[]): Promise<void> {
    const entries = await (this.session as Session).append(drafts);
    const ids = new Set(this.acknowledged.map((entry) => entry.id));
    for (const entry of entries) expect(ids).toContain(entry.id);
  }

  async flush(): Promise<void> {
    await this.session?.flush();
    this.acknowledged.push(...this.#waiting.splice(0));
  }

  async close(): Promise<void> {
    await this.session?.close();
    this.session = undefined;
    this.#waiting = [];
    this.look();
  }

  #started(session: Session): Session {
    this.session = session;
    // The event comes before the call resolves: a promise made earlier still.
    session.on("entry", ({ entry, origin }) => {
      expect(origin).toBe("local");
      if (logOf(this.disk) === "" && isSetting(entry)) this.#waiting.push(entry);
      else this.acknowledged.push(...this.#waiting.splice(0), entry);
    });
    return session;
  }
}

function isSetting({ type }: SessionEntry | UnknownEntry): boolean {
  return ["session_info", "model_change", "thinking_level_change", "label", "leaf"].includes(type);
}

function logOf(disk: SimulatedDisk): string {
  return disk.paths().find((path) => path.endsWith(`_${id}.jsonl`)) ?? "";
}

const notYet: readonly string[] = ["EMPTY", "NO_HEADER", "SESSION_NOT_FOUND"];

/** Opens what is left; undefined where nothing had been promised and there is no session. */
async function opened(
  disk: SimulatedDisk,
  mode: "read" | "write",
  promised: number,
  dir: string,
): Promise<Session | undefined> {
  try {
    return await storeOn(disk, dir).open(id, { mode });
  } catch (error) {
    if (!(error instanceof SessileError) || !notYet.includes(error.code)) throw error;
    if (promised > 0) throw new Error(`${promised} entries were acknowledged`, { cause: error });
    return undefined;
  }
}

async function entriesOf(session: Session): Promise<(SessionEntry | UnknownEntry)[]> {
  const ids = Array.from((await session.tree()).walk(), ({ node }) => node.id);
  const entries = await Promise.all(ids.map((entryId) => session.entry(entryId)));
  return entries.filter((entry) => entry !== undefined);
}

/** Ids of the entries whose lines are whole in what a power cut left of a log; a last one may lack its line feed. */
function wholeEntries(history: readonly Uint8Array[], left: Uint8Array): string[] {
  const same = Math.max(0, ...history.map((bytes) => commonLength(bytes, left)));
  const lines = Buffer.from(left.subarray(0, same)).toString().split("\n");
  const last = lines.pop() ?? "";
  // A file system may leave NULs in place of the rest.
  if (left.subarray(same).every((byte) => byte === 0) && isJson(last)) lines.push(last);
  return lines.slice(1).flatMap((line) => (line.endsWith("\t") ? [] : [JSON.parse(line).id as string]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function commonLength(a: Uint8Array, b: Uint8Array): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/** Everything that must be true of a disk that a power cut at this moment may have left. */
async function checkLeft(left: SimulatedDisk, moment: Moment, dir = "/sessions"): Promise<void> {
  boot.id = "second";
  const { acknowledged, history } = moment;
  const path = logOf(left);
  const namesLeft = left.paths();
  const bytesLeft = left.bytes(path) ?? new Uint8Array();

  const session = await opened(left, "read", acknowledged.length, dir);
  const found = session === undefined ? [] : await entriesOf(session);
  if (session !== undefined) {
    const whole = wholeEntries(history, bytesLeft);
    expect(found.map((entry) => entry.id).sort()).toEqual([...whole].sort());
    expect(whole.slice(0, acknowledged.length)).toEqual(acknowledged.map((entry) => entry.id));
  }
  const byId = new Map(found.map((entry) => [entry.id, entry]));
  for (const entry of acknowledged) expect(byId.get(entry.id)).toEqual(entry);
  await session?.close();
  expect(left.paths()).toEqual(namesLeft);
  expect(left.bytes(path) ?? new Uint8Array()).toEqual(bytesLeft);

  const writing = await opened(left, "write", acknowledged.length, dir);
  if (writing === undefined) return;
  const mended = Buffer.from(left.bytes(path) as Uint8Array);
  const ending = mended.subarray(bytesLeft.length).toString();
  expect(mended.subarray(0, bytesLeft.length)).toEqual(Buffer.from(bytesLeft));
  expect(bytesLeft.at(-1) === 10 ? [""] : ["\n", "\t\n"]).toContain(ending);
  expect(left.paths().filter((name) => !namesLeft.includes(name) && name.includes(".torn-"))).toEqual([]);
  const torn = mended.toString("latin1").match(/[^\s]\s*\t\n/g) ?? [];
  // A whole entry with NULs after it is read.
  const codes = writing.diagnostics.map(({ code }) => (code === "NUL_BYTES" ? "TORN_LINE" : code));
  expect(codes).toEqual(torn.map(() => "TORN_LINE"));
  const [entry] = await writing.append([message("after")]);
  await writing.close();
  const again = (await opened(left, "read", 1, dir)) as Session;
  expect(again.diagnostics.length).toBe(torn.length);
  expect((await again.tree()).size).toBe(found.length + 1);
  for (const before of found) expect(await again.entry(before.id)).toEqual(before);
  expect(await again.entry(entry?.id ?? "")).toEqual(entry);
  await again.close();
}

/** Checks what may be left at each moment; how many disks that were. */
async function checkMoments(run: Pick<Run, "moments" | "dir">, options: PowerCutOptions): Promise<number> {
  let checked = 0;
  for (const moment of run.moments) {
    for (const left of moment.disk.afterPowerCut({ random: seeded(1), ...options })) {
      await checkLeft(left, moment, run.dir);
      checked++;
    }
  }
  return checked;
}

/** Every state of the log alone, cut at every byte. */
const everyByte: PowerCutOptions = {
  limit: Number.POSITIVE_INFINITY,
  only: (path) => path.endsWith(".jsonl"),
};

/** Numbers from 0 to below 1 that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A disk with a session of these messages, all of it synced. */
async function diskWith(...texts: readonly string[]): Promise<Run> {
  const run = new Run();
  await run.create();
  for (const text of texts) await run.append([message(text)]);
  await run.close();
  run.moments.length = 0;
  return run;
}

describe("the power goes", () => {
  test("in a first append, at every byte of it: nothing is there, or whole lines are", async () => {
    const run = new Run();
    await run.create();
    await run.append([message("a")]);
    await run.close();
    expect(run.acknowledged.length).toBe(1);
    expect(await checkMoments(run, everyByte)).toBeGreaterThan(500);
    expect(await checkMoments(run, { limit: 60 })).toBeGreaterThan(300);
  });

  // @covers durability:power-cut
  test("in an append of several entries, at every byte of it", async () => {
    const run = await diskWith("kept");
    const session = await run.open();
    session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    await run.append([message("ÿ 字")]);
    await run.close();
    expect(run.acknowledged.length).toBe(3);
    expect(await checkMoments(run, everyByte)).toBeGreaterThan(600);
    expect(await checkMoments(run, { limit: 40 })).toBeGreaterThan(150);
  });

  test("while directories are created: the names above a session are durable with it, also if another process created them", async () => {
    const disk = new SimulatedDisk();
    const store = storeOn(disk, "/home/agent/new/sessions");
    const promised = new Map<string, string>();
    const moments: { readonly disk: SimulatedDisk; readonly promised: ReadonlyMap<string, string> }[] = [];
    disk.onChange = () => void moments.push({ disk: disk.copy(), promised: new Map(promised) });
    const sessions = await Promise.all([
      store.create({ cwd: "/a", id: "one" }),
      store.create({ cwd: "/a", id: "two" }),
      store.create({ cwd: "/b", id: "three", partition: "tenant" }),
    ]);
    await Promise.all(
      sessions.map(async (session) => {
        const entry = await session.append([message(session.id)]);
        promised.set(session.id, entry[0]?.id ?? "");
        disk.onChange?.();
      }),
    );
    for (const session of sessions) await session.close();
    boot.id = "second";
    for (const moment of moments) {
      for (const left of moment.disk.afterPowerCut({ limit: 8, random: seeded(2) })) {
        const again = storeOn(left, "/home/agent/new/sessions");
        for (const [sessionId, entryId] of moment.promised) {
          const partition = sessionId === "three" ? { partition: "tenant" } : {};
          expect((await (await again.open(sessionId, partition)).tree()).has(entryId)).toBe(true);
        }
      }
    }
    expect(promised.size).toBe(3);
  });

  // @covers durability:torn-tail
  test("during the repair of a torn tail: its bytes stay in the log", async () => {
    const base = await diskWith("kept");
    const path = logOf(base.disk);
    const torn = '{"type":"message","id":"0badc0de","par';
    base.disk.put(path, Buffer.concat([base.disk.bytes(path) as Uint8Array, Buffer.from(torn)]));
    const run = new Run(base.disk);
    run.acknowledged.push(...base.acknowledged);
    await run.open();
    await run.append([message("next")]);
    await run.close();
    expect(run.moments.length).toBeGreaterThan(8);
    for (const moment of run.moments) {
      for (const left of moment.disk.afterPowerCut({ limit: 40, random: seeded(3) })) {
        expect(Buffer.from(left.bytes(path) ?? []).includes(torn)).toBe(true);
        await checkLeft(left, moment);
      }
    }
  });

  test("while an older version is migrated: the old file or the new one has the name, and the old one is kept", async () => {
    const path = `/sessions/--work-project--/2026-01-01T00-00-00-000Z_${id}.jsonl`;
    const old = [
      { type: "session", id, timestamp: "2026-01-01T00:00:00.000Z", cwd },
      {
        type: "message",
        timestamp: "2026-01-01T00:00:01.000Z",
        message: { role: "user", content: "one", timestamp: 1 },
      },
      {
        type: "message",
        timestamp: "2026-01-01T00:00:02.000Z",
        message: { role: "user", content: "two", timestamp: 2 },
      },
    ];
    const text = old.map((line) => `${JSON.stringify(line)}\n`).join("");
    const disk = new SimulatedDisk();
    disk.put(path, text);
    const before = await entriesOf(await storeOn(disk).open(id));
    const run = new Run(disk);
    await run.open();
    await run.append([message("next")]);
    await run.close();
    boot.id = "second";
    let checked = 0;
    for (const moment of run.moments) {
      for (const left of moment.disk.afterPowerCut({ limit: 60, random: seeded(4) })) {
        const originals = left.paths().filter((name) => name === path || name.startsWith(`${path}.old-`));
        expect(originals.some((name) => Buffer.from(left.bytes(name) ?? []).equals(Buffer.from(text)))).toBe(
          true,
        );
        const session = await storeOn(left).open(id, { mode: "write" });
        const found = await entriesOf(session);
        expect(found.slice(0, 2)).toEqual(before);
        for (const entry of moment.acknowledged) expect(found).toContainEqual(entry);
        await session.append([message("after")]);
        await session.close();
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(200);
  });

  // @covers R94 durability:power-cut
  test("at any time in any program", async () => {
    const settingBehindMessage: Step[] = [
      { kind: "stage", text: "" },
      { kind: "info", text: "" },
      { kind: "flush" },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), fc.nat(), async (steps, seed) => {
        boot.id = "first";
        const run = await runProgram(steps);
        const random = seeded(seed);
        const some = run.moments.filter(
          (_, at) => at === run.moments.length - 1 || random() < 8 / run.moments.length,
        );
        await checkMoments({ moments: some, dir: run.dir }, { limit: 7, random });
      }),
      { numRuns: 25, examples: [[settingBehindMessage, 0]] },
    );
  });
});

describe("the process dies", () => {
  test('without a loss of power, everything acknowledged is there under durability "os" too', async () => {
    const disk = new SimulatedDisk();
    const acknowledged: string[] = [];
    const moments: { readonly disk: SimulatedDisk; readonly ids: readonly string[] }[] = [];
    disk.onChange = () => void moments.push({ disk: disk.copy(), ids: [...acknowledged] });
    const store = disk.sessions({ dir: "/sessions", durability: "os" });
    const session = await store.create({ cwd, id });
    for (const text of ["one", "two", "three"]) {
      const entries = await session.append([message(text), message(`${text}, again`)]);
      acknowledged.push(...entries.map((entry) => entry.id));
    }
    expect(disk.counts.sync).toBe(0);
    await session.close();
    for (const { disk: left, ids } of moments) {
      if (ids.length === 0) continue;
      const again = await storeOn(left).open(id);
      expect(Array.from((await again.tree()).walk(), ({ node }) => node.id).slice(0, ids.length)).toEqual(
        ids,
      );
      expect(again.diagnostics).toEqual([]);
    }
    expect(moments.at(-1)?.ids.length).toBe(6);
  });
});

describe("the disk is full", () => {
  test.each(["new", "existing"])(
    "in the middle of a line of a %s log, at every byte: nothing changes",
    async (kind) => {
      for (let room = 0; ; room++) {
        const disk = kind === "new" ? new SimulatedDisk() : (await diskWith("kept")).disk;
        const store = storeOn(disk);
        const session =
          kind === "new" ? await store.create({ cwd, id }) : await store.open(id, { mode: "write" });
        if (kind === "existing") await session.append([message("holds the lock")]);
        const before = disk.bytes(logOf(disk));
        const { leafId } = session;
        const { size } = await session.tree();
        disk.capacityBytes = disk.usedBytes + room;
        const outcome = await session.append([message("1"), message("2")]).catch((error: unknown) => error);
        if (Array.isArray(outcome)) {
          expect(room).toBeGreaterThan(100);
          await session.close();
          return;
        }
        expect(outcome).toMatchObject({ code: "STORAGE_FAILED", details: { errno: "ENOSPC" } });
        expect(disk.bytes(logOf(disk))).toEqual(before);
        expect([session.leafId, (await session.tree()).size]).toEqual([leafId, size]);
        disk.capacityBytes = Number.POSITIVE_INFINITY;
        if (room % 16 > 0) {
          await session.close();
          continue;
        }
        const [entry] = await session.append([message("space again")]);
        expect(entry?.parentId).toBe(leafId);
        await session.close();
        const again = await storeOn(disk).open(id);
        expect((await again.tree()).size).toBe(size + 1);
        expect(again.diagnostics).toEqual([]);
      }
    },
  );

  test("staged entries wait for the next append", async () => {
    const disk = new SimulatedDisk();
    const session = await storeOn(disk).create({ cwd, id });
    const [staged] = session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    disk.capacityBytes = 300;
    await expect(session.append([message("x".repeat(500))])).rejects.toMatchObject({
      code: "STORAGE_FAILED",
    });
    expect(session.leafId).toBe(staged?.id);
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    const [entry] = await session.append([message("y")]);
    await session.close();
    const again = await storeOn(disk).open(id);
    expect((await again.tree()).path(entry?.id ?? null).map((node) => node.id)).toEqual([
      staged?.id,
      entry?.id,
    ]);
  });

  test("during the repair of a torn tail: it stays, and is repaired when there is room", async () => {
    const { disk } = await diskWith("kept");
    const path = logOf(disk);
    disk.put(
      path,
      Buffer.concat([disk.bytes(path) as Uint8Array, Buffer.from(`{"torn":"${"x".repeat(300)}`)]),
    );
    const before = disk.bytes(path);
    let failed = 0;
    for (let room = 0; ; room++, failed++) {
      disk.capacityBytes = disk.usedBytes + room;
      const outcome = await storeOn(disk)
        .open(id, { mode: "write" })
        .catch((error: unknown) => error);
      if (!(outcome instanceof Error)) break;
      expect(outcome).toMatchObject({ code: "STORAGE_FAILED", details: { errno: "ENOSPC" } });
      expect(Buffer.from(disk.bytes(path) ?? []).toString()).toMatch(/x\t*$/);
      expect(disk.paths()).toEqual([path]);
    }
    expect(failed).toBeGreaterThan(0);
    const session = await storeOn(disk).open(id);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["TORN_LINE"]);
    expect(Buffer.from(disk.bytes(path) ?? []).subarray(0, before?.length)).toEqual(
      Buffer.from(before ?? []),
    );
  });
});

describe("writes are short", () => {
  test.each([1, 7, 64])("%i bytes at a time: the log is the same", async (maxWriteBytes) => {
    const logs = [maxWriteBytes, Number.POSITIVE_INFINITY].map(async (most) => {
      const disk = new SimulatedDisk();
      disk.maxWriteBytes = most;
      let last = 0;
      const newEntryId = () => String(++last).padStart(8, "0");
      const store = disk.sessions({ dir: "/sessions", newEntryId, now: () => 0 });
      const session = await store.create({ cwd, id });
      await session.append([message("one"), message("two")]);
      await session.append([message("three")]);
      await session.close();
      return disk.bytes(logOf(disk));
    });
    const [short, whole] = await Promise.all(logs);
    expect(short).toEqual(whole);
  });

  test("a lock file is whole all the same, so that its holder is not taken for dead", async () => {
    const disk = new SimulatedDisk();
    disk.maxWriteBytes = 5;
    const session = await storeOn(disk).create({ cwd, id });
    await session.append([message("a")]);
    const lock = disk.paths().find((path) => path.endsWith(".jsonl.lock")) ?? "";
    expect(JSON.parse(Buffer.from(disk.bytes(lock) ?? []).toString())).toMatchObject({ pid: process.pid });
    await session.close();
  });
});

describe("a sync fails once", () => {
  const isLog = (path: string) => path.endsWith(".jsonl");

  test("nothing is acknowledged from there on, by this handle; opening again works", async () => {
    const { disk, acknowledged } = await diskWith("kept");
    const session = await storeOn(disk).open(id, { mode: "write" });
    disk.failNext("sync", "EIO", isLog);
    const first = session.append([message("lost")]);
    const second = session.append([message("with it")]);
    await expect(first).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await expect(second).rejects.toMatchObject({ code: "WRITER_POISONED" });
    for (const attempt of [
      () => session.append([message("later")]),
      () => session.appendMessage({ ...userMessage("later"), timestamp: 0 }),
      () => session.updateInfo({ title: "later" }),
      () => session.branchWithSummary(null, "later"),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: "WRITER_POISONED" });
    }
    expect(() => session.stage([message("later")])).toThrow(
      expect.objectContaining({ code: "WRITER_POISONED" }),
    );
    expect((await session.tree()).size).toBe(1);
    expect(session.leafId).toBe(acknowledged[0]?.id);
    await session.close();

    const again = await storeOn(disk).open(id, { mode: "write" });
    const [entry] = await again.append([message("works")]);
    await again.close();
    const read = await storeOn(disk).open(id);
    expect(await read.entry(acknowledged[0]?.id ?? "")).toEqual(acknowledged[0]);
    expect(await read.entry(entry?.id ?? "")).toEqual(entry);
  });

  test.each(["sync", "syncDirectory"] as const)("%s of a first append", async (operation) => {
    const disk = new SimulatedDisk();
    const session = await storeOn(disk).create({ cwd, id });
    disk.failNext(operation, "EIO");
    await expect(session.append([message("a")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await expect(session.append([message("b")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await session.close();
    const again = await storeOn(disk).open(id, { mode: "write" });
    await again.append([message("c")]);
    await again.close();
  });

  test("during the repair of a torn tail: the end is unknown, and nothing is acknowledged behind it", async () => {
    const { disk } = await diskWith("kept");
    const session = await storeOn(disk).open(id, { mode: "write" });
    const path = logOf(disk);
    disk.put(path, (disk.bytes(path) as Uint8Array).slice(0, -1));
    disk.failNext("sync", "EIO", isLog);
    await expect(session.append([message("a")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await expect(session.append([message("b")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await session.close();
  });

  test("a write that cannot be taken back", async () => {
    const { disk } = await diskWith("kept");
    const session = await storeOn(disk).open(id, { mode: "write" });
    await session.append([message("a")]);
    disk.capacityBytes = disk.usedBytes + 40;
    disk.failNext("truncate", "EIO", isLog);
    await expect(session.append([message("b")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    await expect(session.append([message("c")])).rejects.toMatchObject({ code: "WRITER_POISONED" });
    await session.close();
    const again = await storeOn(disk).open(id, { mode: "write" });
    expect((await again.tree()).size).toBe(2);
    expect(again.diagnostics.map(({ code }) => code)).toEqual(["TORN_LINE"]);
    await again.close();
  });
});

type Step =
  | {
      readonly kind: "append" | "together" | "full";
      readonly texts: readonly string[];
      readonly bytes: number;
    }
  | { readonly kind: "stage" | "info"; readonly text: string }
  | { readonly kind: "branch" | "summarize"; readonly to: number }
  | { readonly kind: "short"; readonly bytes: number }
  | { readonly kind: "flush" | "reopen" };

const words = fc.string({ unit: "binary", maxLength: 60 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constantFrom("append", "together", "full"),
      texts: fc.array(words, { minLength: 1, maxLength: 3 }),
      bytes: fc.nat(500),
    }),
    weight: 4,
  },
  fc.record({ kind: fc.constantFrom("stage", "info"), text: words }),
  fc.record({ kind: fc.constantFrom("branch", "summarize"), to: fc.nat(12) }),
  fc.record({ kind: fc.constant("short"), bytes: fc.integer({ min: 30, max: 300 }) }),
  fc.record({ kind: fc.constantFrom("flush", "reopen") }),
);

/** Runs a program against a disk of its own, and checks what it can see without a loss of power. */
async function runProgram(steps: readonly Step[]): Promise<Run> {
  const run = new Run();
  let session = await run.create();
  let staged = false;
  const target = async (to: number): Promise<string | null> => {
    const tree = await session.tree();
    return Array.from(tree.walk(), ({ node }) => node.id)[to % (tree.size + 1)] ?? null;
  };
  for (const next of steps) {
    switch (next.kind) {
      case "append":
        await run.append(next.texts.map(message));
        staged = false;
        break;
      case "together":
        await Promise.all(next.texts.map((text) => run.append([message(text)])));
        staged = false;
        break;
      case "full": {
        const { leafId } = session;
        const { size } = await session.tree();
        run.disk.capacityBytes = run.disk.usedBytes + next.bytes;
        try {
          await run.append(next.texts.map(message));
          staged = false;
        } catch (error) {
          expect(error).toMatchObject({ code: "STORAGE_FAILED", details: { errno: "ENOSPC" } });
          expect([session.leafId, (await session.tree()).size]).toEqual([leafId, size]);
        }
        run.disk.capacityBytes = Number.POSITIVE_INFINITY;
        break;
      }
      case "stage":
        session.stage([message(next.text)]);
        staged = true;
        break;
      case "info":
        await session.updateInfo({ title: next.text });
        staged = false;
        break;
      case "branch":
        await session.branch(await target(next.to));
        break;
      case "summarize":
        await session.branchWithSummary(await target(next.to), "left");
        staged = false;
        break;
      case "short":
        run.disk.maxWriteBytes = next.bytes;
        break;
      case "flush":
        await run.flush();
        staged = false;
        break;
      case "reopen": {
        if (logOf(run.disk) === "") break;
        const { leafId } = session;
        await run.close();
        session = await run.open();
        if (!staged) expect(session.leafId).toBe(leafId);
        staged = false;
      }
    }
  }
  await run.close();
  return run;
}
