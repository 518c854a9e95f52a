import fc from "fast-check";
import {
  type EntryDraft,
  parseSession,
  type Session,
  type SessionEntry,
  type SessionStore,
  type UnknownEntry,
} from "sessile";
import { SessileError } from "sessile/errors";
import { expect } from "vitest";
import type { SimulatedDisk } from "../support/simulated-disk.js";
import { seeded } from "./mutants.js";

export type Entry = SessionEntry | UnknownEntry;

/** What a session's log must hold, in the order of the file. */
interface LogModel {
  readonly id: string;
  entries: Entry[];
  /** How many of them were acknowledged. The last of a process that died were perhaps not, and a reader has seen them. */
  lasting: number;
}

interface HandleModel {
  readonly log: LogModel;
  leaf: string | null;
  staged: Entry[];
  /** How many of the log's entries this handle has read or written. */
  seen: number;
}

export interface Model {
  logs: LogModel[];
  handles: HandleModel[];
}

export interface Real {
  disk: SimulatedDisk;
  /** One for each handle of the model. */
  sessions: Session[];
  readonly storeOn: (disk: SimulatedDisk) => SessionStore;
  readonly reboot: () => void;
  /** Numbers sessions. */
  made: number;
}

type Command = fc.AsyncCommand<Model, Real>;

const at = <T>(list: readonly T[], number: number): T => list[number % list.length] as T;
const harmless: ReadonlySet<string> = new Set(["label", "session_info", "usage"]);
/** What a session writes of itself when it is closed or made. */
const ofItsOwn: ReadonlySet<string> = new Set(["leaf", "session_info"]);

export function message(text: string): EntryDraft {
  return { type: "message", message: { role: "user", content: text, timestamp: 0 } };
}

/** The entries of a log, in the order of its file. */
export function entriesOn(disk: SimulatedDisk, id: string): readonly Entry[] {
  const path = disk.paths().find((name) => name.endsWith(`_${id}.jsonl`)) ?? "";
  return parseSession(disk.bytes(path) ?? new Uint8Array()).entries;
}

/** The leaf that a log names when it is opened. */
function leafOf(entries: readonly Entry[]): string | null {
  const last = entries.at(-1);
  return last?.type === "leaf" ? last.targetId : (last?.id ?? null);
}

/** What must be so after every command. */
async function audit(model: Model, real: Real): Promise<void> {
  for (const { id, entries } of model.logs) expect(entriesOn(real.disk, id)).toEqual(entries);
  for (const [index, { log, leaf, staged, seen }] of model.handles.entries()) {
    const session = real.sessions[index] as Session;
    const tree = await session.tree();
    expect(session.leafId).toBe(leaf);
    const known = [...log.entries.slice(0, seen), ...staged];
    for (const { id, parentId } of known) expect(tree.node(id)?.parentId ?? null).toBe(parentId);
    expect(tree.size).toBe(known.length);
    for (const [id, label] of labelsOf(known)) expect(tree.label(id)).toBe(label);
  }
}

function labelsOf(entries: readonly Entry[]): ReadonlyMap<string, string | undefined> {
  return new Map(entries.flatMap((entry) => (entry.type === "label" ? [[entry.targetId, entry.label]] : [])));
}

/** Staged entries as the log gets them: each names the entry before it, if that is not its parent. */
function placed(staged: readonly Entry[], log: LogModel): readonly Entry[] {
  let last = log.entries.at(-1)?.id;
  return staged.map((entry) => {
    const { prior: _, ...fields } = entry as Entry & { readonly prior?: string };
    const prior = last === entry.parentId ? undefined : last;
    last = entry.id;
    return { ...fields, ...(prior !== undefined && { prior }) } as Entry;
  });
}

/** Ids that a handle can branch from, and null. */
function placesOf({ log, seen, staged }: HandleModel): readonly (string | null)[] {
  return [null, ...log.entries.slice(0, seen).map(({ id }) => id), ...staged.map(({ id }) => id)];
}

/** Writes with a handle: told of another's entries, or acknowledged behind all that is there. */
async function write(
  handle: HandleModel,
  act: () => Promise<readonly Entry[]>,
  parentId: string | null,
): Promise<boolean> {
  const { log } = handle;
  const unseen = log.entries.slice(handle.seen);
  handle.seen = log.entries.length;
  if (unseen.some(({ type }) => !harmless.has(type))) {
    await expect(act()).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    return false;
  }
  const entries = await act();
  entries.forEach((entry, index) => {
    expect(entry.parentId).toBe(index === 0 ? parentId : entries[index - 1]?.id);
  });
  log.entries.push(...placed(handle.staged, log), ...entries);
  handle.staged = [];
  handle.seen = log.entries.length;
  log.lasting = log.entries.length;
  handle.leaf = entries.at(-1)?.id ?? handle.leaf;
  return true;
}

function command(
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
  needsHandle = true,
): Command {
  return {
    check: (model) => !needsHandle || model.handles.length > 0,
    async run(model, real) {
      await run(model, real);
      await audit(model, real);
    },
    toString: () => name,
  };
}

const number = fc.nat(1000);

const append = fc
  .tuple(number, fc.array(fc.string({ maxLength: 30 }), { minLength: 1, maxLength: 3 }))
  .map(([which, texts]) =>
    command(`append(${which}, ${texts.length})`, async (model, real) => {
      const handle = at(model.handles, which);
      const session = at(real.sessions, which);
      await write(handle, () => session.append(texts.map(message)), handle.leaf);
    }),
  );

const stage = fc.tuple(number, fc.string({ maxLength: 20 })).map(([which, text]) =>
  command(`stage(${which})`, async (model, real) => {
    const handle = at(model.handles, which);
    const entries = at(real.sessions, which).stage([message(text)]);
    expect(entries[0]?.parentId).toBe(handle.leaf);
    handle.staged.push(...entries);
    handle.leaf = entries.at(-1)?.id ?? null;
  }),
);

const branch = fc.tuple(number, number).map(([which, to]) =>
  command(`branch(${which}, ${to})`, async (model, real) => {
    const handle = at(model.handles, which);
    handle.leaf = at(placesOf(handle), to);
    await at(real.sessions, which).branch(handle.leaf);
  }),
);

const label = fc.tuple(number, number, fc.string({ minLength: 1, maxLength: 5 })).map(([which, to, text]) =>
  command(`label(${which}, ${to})`, async (model, real) => {
    const handle = at(model.handles, which);
    const targetId = at(placesOf(handle), to);
    if (targetId === null) return;
    const draft = { type: "label", targetId, label: text } as const;
    await write(handle, () => at(real.sessions, which).append([draft]), handle.leaf);
  }),
);

const branchWithSummary = fc.tuple(number, number).map(([which, to]) =>
  command(`branchWithSummary(${which}, ${to})`, async (model, real) => {
    const handle = at(model.handles, which);
    const target = at(placesOf(handle), to);
    const left = handle.leaf;
    const act = async () => [await at(real.sessions, which).branchWithSummary(target, "left")];
    if (!(await write(handle, act, target))) return;
    expect(handle.log.entries.at(-1)).toMatchObject({ fromId: left ?? "root" });
  }),
);

const refresh = number.map((which) =>
  command(`refresh(${which})`, async (model, real) => {
    const handle = at(model.handles, which);
    await at(real.sessions, which).refresh();
    handle.seen = handle.log.entries.length;
  }),
);

const close = number.map((which) =>
  command(`close(${which})`, async (model, real) => {
    const index = which % model.handles.length;
    const [handle] = model.handles.splice(index, 1) as [HandleModel];
    const [session] = real.sessions.splice(index, 1) as [Session];
    await session.close();
    const more = entriesOn(real.disk, handle.log.id).slice(handle.log.entries.length);
    const staged = placed(handle.staged, handle.log);
    for (const entry of more) {
      if (!ofItsOwn.has(entry.type)) expect(staged).toContainEqual(entry);
    }
    handle.log.entries.push(...more);
    if (more.length > 0) handle.log.lasting = handle.log.entries.length;
    await expect(session.append([message("late")])).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  }),
);

/** Opens a session once more: again after a crash or a close, a second handle where there is one. */
const open = number.map((which) =>
  command(
    `open(${which})`,
    async (model, real) => {
      const log = at(model.logs, which);
      const session = await real.storeOn(real.disk).open(log.id, { mode: "write" });
      // What a crash tore was ended by the next writer, and stays in the file.
      expect(session.diagnostics.filter(({ code }) => code !== "TORN_LINE")).toEqual([]);
      for (const entry of log.entries) expect(await session.entry(entry.id)).toEqual(entry);
      model.handles.push({ log, leaf: leafOf(log.entries), staged: [], seen: log.entries.length });
      real.sessions.push(session);
    },
    false,
  ),
);

const fork = fc.tuple(number, fc.option(number)).map(([which, to]) =>
  command(
    `fork(${which}, ${to})`,
    async (model, real) => {
      const source = at(model.logs, which);
      const last = to === null ? source.entries.length - 1 : to % source.entries.length;
      const id = `fork-${++real.made}`;
      const upTo = to === null ? {} : { upTo: source.entries[last]?.id as string };
      await (await real.storeOn(real.disk).fork(source.id, { id, ...upTo })).close();
      const entries = entriesOn(real.disk, id);
      expect(entries.slice(0, last + 1)).toEqual(source.entries.slice(0, last + 1));
      expect(entries.slice(last + 1).every(({ type }) => ofItsOwn.has(type))).toBe(true);
      model.logs.push({ id, entries: [...entries], lasting: entries.length });
    },
    false,
  ),
);

const doings = ["append", "summary", "close", "open", "fork", "nothing"] as const;

/** A loss of power at some moment of something, or the death of the process alone: all handles are gone. */
const crash = fc
  .record({ doing: fc.constantFrom(...doings), which: number, seed: fc.nat(), power: fc.boolean() })
  .map(({ doing, which, seed, power }) =>
    command(
      `crash(${doing}, ${which}, ${seed}, ${power})`,
      async (model, real) => {
        const random = seeded(seed);
        const moments = [real.disk.copy()];
        real.disk.onChange = () => void moments.push(real.disk.copy());
        const fresh = `fork-${++real.made}`;
        await begin(doing, which, fresh, model, real);
        real.disk.onChange = undefined;
        const done = real.disk;
        const moment = moments[Math.floor(random() * moments.length)] as SimulatedDisk;
        const [...left] = power ? moment.afterPowerCut({ limit: 6, random }) : [moment];
        real.disk = at(left, Math.floor(random() * left.length));
        real.reboot();
        // What an orphaned handle does from here on, it does to a disk that nobody looks at.
        Object.assign(model, { handles: [] });
        real.sessions = [];
        await recovered(model, real, done, power);
        await adopt(fresh, model, real, done, power);
      },
      false,
    ),
  );

async function begin(
  doing: (typeof doings)[number],
  which: number,
  fresh: string,
  model: Model,
  real: Real,
): Promise<void> {
  const session = real.sessions.length > 0 ? at(real.sessions, which) : undefined;
  const log = at(model.logs, which);
  const told = (error: unknown) => {
    if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
  };
  if (doing === "append") await session?.append([message("a"), message("b ü")]).catch(told);
  if (doing === "summary") await session?.branchWithSummary(null, "left").catch(told);
  if (doing === "close") await session?.close();
  const store = real.storeOn(real.disk);
  if (doing === "open") await (await store.open(log.id, { mode: "write" })).close();
  if (doing === "fork") await (await store.fork(log.id, { id: fresh })).close();
}

/** What was acknowledged is there, and more only of what was being done, in its order. */
async function recovered(model: Model, real: Real, done: SimulatedDisk, power: boolean): Promise<void> {
  const { logs } = model;
  model.logs = [];
  for (const log of logs) {
    if (!(await opens(log.id, real))) {
      expect([log.id, log.lasting]).toEqual([log.id, 0]);
      continue;
    }
    model.logs.push(log);
    const found = entriesOn(real.disk, log.id);
    const all = entriesOn(done, log.id);
    expect(found.length).toBeGreaterThanOrEqual(power ? log.lasting : log.entries.length);
    expect(found).toEqual(all.slice(0, found.length));
    log.entries = [...found];
    if (power) log.lasting = found.length;
  }
}

/** Opens a session for writing, as whoever comes back does; whether there is one. */
async function opens(id: string, real: Real): Promise<boolean> {
  try {
    await (await real.storeOn(real.disk).open(id, { mode: "write" })).close();
    return true;
  } catch (error) {
    const notYet = ["SESSION_NOT_FOUND", "EMPTY", "NO_HEADER"] as const;
    if (!notYet.some((code) => SessileError.is(error, code))) throw error;
    return false;
  }
}

/** A fork that was being made counts from here on if it can be opened. */
async function adopt(
  id: string,
  model: Model,
  real: Real,
  done: SimulatedDisk,
  power: boolean,
): Promise<void> {
  if (!(await opens(id, real))) return;
  const entries = entriesOn(real.disk, id);
  expect(entries).toEqual(entriesOn(done, id).slice(0, entries.length));
  if (entries.length > 0) model.logs.push({ id, entries: [...entries], lasting: power ? entries.length : 0 });
}

/** Programs of any number of handles, sessions and crashes. */
export const programs = fc.commands(
  [append, append, stage, branch, label, branchWithSummary, refresh, close, open, fork, crash],
  { maxCommands: 40, size: "max" },
);
