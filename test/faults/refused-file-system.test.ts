import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LogPosition, type Session, type SessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import type { FileSystem, OpenFile } from "../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";
import { diagnoseSessionOn } from "../../src/storage/files/repair/diagnose.js";
import { salvageSessionOn } from "../../src/storage/files/repair/salvage.js";
import { FileBackend } from "../../src/storage/files/session-backend.js";
import { fileSessionStoreOn } from "../../src/storage/files/session-store.js";
import { temporaryDirectory } from "../session/node/temporary-directory.js";
import { isFull } from "../support/rounds.js";

// On a machine whose disk has other work to do.

/** Node has no name for the last two. */
const errors: Readonly<Record<string, () => Error>> = {
  EIO: () => systemError("EIO", -5),
  EACCES: () => systemError("EACCES", -13),
  EMFILE: () => systemError("EMFILE", -24),
  EDQUOT: () => systemError("Unknown system error -122", -122),
  ERRNO_999: () => systemError("Unknown system error -999", -999),
};

/** A write that says that it took nothing. */
const nothingTaken = new Error("nothing was taken");

function systemError(code: string, errno: number): Error {
  return Object.assign(new Error(`${code}: made for a test`), { code, errno, syscall: "any" });
}

/** The machine's file system, on which a call fails if `fails` says so. Syncs wait for no device. */
function failingDisk(fails: (name: string) => Error | undefined): FileSystem {
  const wrapped = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(of, name: string & keyof T) {
        const method = of[name];
        if (typeof method !== "function" || name === "close")
          return typeof method === "function" ? method.bind(of) : method;
        return (...args: unknown[]) => {
          const isSync = name === "sync" || name === "syncDirectory";
          const isAsync = isSync || ["list", "read", "clone"].includes(name);
          const error = fails(`${prefix}${name}`);
          if (error === nothingTaken) return 0;
          if (error !== undefined && isAsync) return Promise.reject(error);
          if (error !== undefined) throw error;
          if (isSync) return Promise.resolve();
          const result: unknown = method.apply(of, args);
          return name === "open" && result !== undefined ? wrapped(result as OpenFile, "file.") : result;
        };
      },
    });
  return wrapped(nodeFileSystem, "");
}

const said = (text: string) => ({ type: "message" as const, message: userMessage(text) });

interface Prepared {
  readonly dir: string;
  readonly disk: FileSystem;
  readonly store: SessionStore;
  readonly path: string;
}

const operations: Readonly<Record<string, (prepared: Prepared) => Promise<unknown>>> = {
  create: async ({ store }) =>
    closed(await store.create({ cwd: "/p", id: "new" }), (session) => session.append([said("x")])),
  "open for reading": async ({ store }) => closed(await store.open("one")),
  "open for writing, and append": async ({ store }) =>
    closed(await store.open("one", { mode: "write" }), async (session) => {
      await session.append([said("x")]);
      await session.append([said("y"), said("z")]);
      await session.updateInfo({ title: "title" });
    }),
  "open an older version for writing": async ({ store }) =>
    closed(await store.open("old", { mode: "write" }), (session) => session.append([said("x")])),
  "open a torn file for writing": async ({ store }) =>
    closed(await store.open("torn", { mode: "write" }), (session) => session.append([said("x")])),
  "read the context": async ({ store }) => closed(await store.open("one"), (session) => session.context()),
  refresh: async ({ store }) => closed(await store.open("one"), (session) => session.refresh()),
  fork: async ({ store }) => closed(await store.fork("one", { id: "copy" })),
  "fork with a rewrite": async ({ store }) =>
    closed(await store.fork("one", { id: "copy", rewrite: async (entry) => entry })),
  extract: async ({ store }) =>
    closed(await store.open("one"), async (session) => {
      await closed(await session.extract());
    }),
  list: async ({ store }) => {
    for await (const _ of store.list());
  },
  latest: async ({ store }) => {
    await store.latest({ cwd: "/p" });
  },
  delete: ({ store }) => store.delete("one"),
  diagnose: ({ disk, path }) => diagnoseSessionOn(disk, path),
  salvage: ({ disk, path, dir }) => salvageSessionOn(disk, path, { to: join(dir, "salvaged.jsonl") }),
};

async function closed(session: Session, use?: (session: Session) => unknown): Promise<void> {
  try {
    await use?.(session);
  } finally {
    await session.close();
  }
}

async function prepared(fails: (name: string) => Error | undefined): Promise<Prepared> {
  const dir = temporaryDirectory();
  const sound = fileSessionStoreOn(nodeFileSystem, { dir, durability: "os" });
  const session = await sound.create({ cwd: "/p", id: "one" });
  await session.append([said("first"), said("second")]);
  await session.close();
  mkdirSync(join(dir, "--p--"), { recursive: true });
  mkdirSync(join(dir, "@elsewhere"));
  symlinkSync("@elsewhere", join(dir, "--linked--"));
  const header = { type: "session", version: 1, id: "old", timestamp: "2026-11-22T10:00:00.000Z", cwd: "/p" };
  const entry = { type: "message", timestamp: header.timestamp, message: userMessage("old") };
  const lines = [header, entry].map((line) => `${JSON.stringify(line)}\n`).join("");
  writeFileSync(join(dir, "--p--", "2026-11-22T10-00-00-000Z_old.jsonl"), lines);
  const torn = lines.replaceAll("old", "torn").replace('"version":1', '"version":3');
  writeFileSync(join(dir, "--p--", "2026-11-22T10-00-00-000Z_torn.jsonl"), `${torn}{"type":"mess`);
  const disk = failingDisk(fails);
  const store = fileSessionStoreOn(disk, { dir, lockWaitMs: 0 });
  return { dir, disk, store, path: session.location ?? "" };
}

describe("a write that takes no bytes", () => {
  test.each(Object.entries(operations))(
    "in %s is an error with a code, and not tried forever",
    async (_, act) => {
      for (let at = 0, more = true; more; at++) {
        let made = 0;
        const state = await prepared((name) => {
          if (name !== "file.append" || made++ !== at) return undefined;
          return nothingTaken;
        });
        const failure: unknown = await act(state).catch((reason: unknown) => reason);
        if (failure instanceof Error) expect(failure).toBeInstanceOf(SessileError);
        more = made > at;
      }
    },
  );
});

test("a batch that is longer than one write may be is refused, and nothing is written", async () => {
  const { dir, path } = await prepared(() => undefined);
  const backend = new FileBackend({
    dir,
    fs: nodeFileSystem,
    durability: "os",
    times: { waitMs: 0, idleMs: 20, remoteLeaseMs: 30_000 },
    maxLineBytes: 1 << 30,
    now: Date.now,
  });
  const log = await backend.open("one", { partition: "" });
  let end: LogPosition | undefined;
  for await (const { next } of log?.read(undefined) ?? []) end = next;
  const before = readFileSync(path);
  const line = new Uint8Array(1 << 26);
  const refused = log?.append(Array<Uint8Array>(32).fill(line), end as LogPosition);
  await expect(refused).rejects.toMatchObject({
    code: "BATCH_TOO_LARGE",
    details: { bytes: 2 ** 31, maxBytes: 2 ** 31 - 1 },
  });
  expect(readFileSync(path).equals(before)).toBe(true);
  await log?.append([new TextEncoder().encode("{}\n")], end as LogPosition);
  await log?.close();
});

test("one write takes as many bytes as a batch may have", () => {
  const file = nodeFileSystem.open("/dev/null", "append");
  expect(file?.append(new Uint8Array(2 ** 31 - 1))).toBeGreaterThan(2 ** 31 - 65_536);
  file?.close();
});

describe("a call to the file system that is refused", () => {
  test.each(Object.entries(operations))("in %s is an error with a code, whichever it is", async (_, act) => {
    const calls = new Set<string>();
    // Each call fails once as a device does, and once with another of the errors in turn; with all by SESSILE_FAULT_ROUNDS.
    const all = Object.entries(errors);
    const others = all.slice(1);
    const inTurn = (at: number) => others[at % others.length] ?? all[0];
    const tried = isFull ? all.map((each) => () => each) : [() => all[0], inTurn];
    for (const choose of tried) {
      for (let at = 0; ; at++) {
        const [errno, error] = choose(at) as (typeof all)[number];
        let made = 0;
        const state = await prepared((name) => {
          if (made++ !== at) return undefined;
          calls.add(name);
          return error();
        });
        const failure: unknown = await act(state).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (failure !== undefined) {
          expect(
            failure,
            `call ${at} with ${errno}: ${failure instanceof Error ? failure.stack : String(failure)}`,
          ).toBeInstanceOf(SessileError);
          if (SessileError.is(failure, "STORAGE_FAILED")) expect(failure.details.errno).toBe(errno);
        }
        // What was there before is there still.
        if (existsSync(state.path))
          await closed(await fileSessionStoreOn(nodeFileSystem, { dir: state.dir }).open("one"));
        if (made <= at) break;
      }
    }
    expect(calls.size).toBeGreaterThan(1);
  });
});
