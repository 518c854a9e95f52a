import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type BlobMark,
  type BlobRef,
  type BlobStore,
  blobRefsIn,
  collectGarbage,
  type Session,
  type SessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { say } from "./say.js";

/** The sessions that all workers share. */
export const soakSessions = ["s0", "s1", "s2", "s3"];
/** Short, so that collections have something to take; and nothing waits in the trash, from where a look would take it back. */
const [graceMs, trashMs] = [5000, 0];

export const soakRoles: Readonly<Record<string, (...args: string[]) => Promise<void>>> = {
  /** Does all kinds of work on the sessions and blobs of a directory, says what was acknowledged, and `bad` what is wrong. */
  async soak(dir = "", name = "", seed = "1") {
    let stopped = false;
    process.stdin.once("data", () => {
      stopped = true;
    });
    const worker = new SoakWorker(dir, name, Number(seed));
    say("begins");
    while (!stopped) await worker.step();
    await worker.close();
    process.stdin.destroy();
    say("done");
  },
};

/** What stands for a text in what is said. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

class SoakWorker {
  readonly #dir: string;
  readonly #name: string;
  readonly #sessions: SessionStore;
  readonly #blobs: BlobStore;
  #state: number;
  #count = 0;
  readonly #open = new Map<string, Session>();
  /** Ids of entries by session, blobs and copies that this one was told are there. */
  readonly #entries = new Map<string, string[]>(soakSessions.map((id) => [id, []]));
  readonly #named: { readonly ref: BlobRef; readonly bytes: Uint8Array }[] = [];
  readonly #forks = new Set<string>();
  readonly #deleted = new Set<string>();

  constructor(dir: string, name: string, seed: number) {
    const durability = seed % 2 === 0 ? "os" : "disk";
    this.#dir = dir;
    this.#name = name;
    this.#state = seed;
    this.#sessions = fileSessionStore({ dir: join(dir, "sessions"), durability, lockWaitMs: 120_000 });
    this.#blobs = fileBlobStore({ dir: join(dir, "blobs"), durability });
  }

  async step(): Promise<void> {
    const acts: readonly (readonly [weight: number, what: string, act: () => Promise<void>])[] = [
      [40, "append", () => this.#append()],
      [12, "read", () => this.#read()],
      [8, "follow", () => this.#follow()],
      [5, "fork", () => this.#fork()],
      [8, "list", () => this.#list()],
      [10, "put", () => this.#put()],
      [10, "get", () => this.#get()],
      [4, "collect", () => this.#collect()],
      [3, "archive", () => this.#archive()],
    ];
    let at = this.#random(100);
    for (const [weight, what, act] of acts) {
      at -= weight;
      if (at >= 0) continue;
      try {
        await act();
      } catch (error) {
        // Others were quicker each time: nothing was acknowledged.
        if (!SessileError.is(error, "CONCURRENT_WRITER")) say(`bad ${what}: ${String(error)}`);
      }
      return;
    }
  }

  async close(): Promise<void> {
    for (const session of this.#open.values()) await session.close();
  }

  async #append(): Promise<void> {
    const id = this.#pick(soakSessions);
    const session = this.#open.get(id) ?? (await this.#sessions.open(id, { mode: "write" }));
    this.#open.set(id, session);
    const start = Date.now();
    const blob = this.#random(4) === 0 ? await this.#putBytes() : undefined;
    const texts = Array.from({ length: this.#random(6) === 0 ? 3 : 1 }, () => this.#text(blob?.ref));
    const drafts = texts.map((text) => ({ type: "message" as const, message: userMessage(text) }));
    for (let attempt = 0; attempt < 50; attempt++) {
      try {
        const entries = await session.append(drafts);
        for (const [at, entry] of entries.entries()) {
          say(`entry ${id} ${entry.id} ${hashOf(texts[at] ?? "")}`);
          this.#entries.get(id)?.push(entry.id);
        }
        break;
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt === 49) throw error;
      }
    }
    if (blob !== undefined) {
      // An entry that took too long after the put is no promise to anybody, until the blob is put again.
      if (Date.now() - start > graceMs - 2000) await this.#blobs.put(blob.bytes);
      say(`named ${blob.ref}`);
      this.#named.push(blob);
    }
    if (this.#random(5) === 0) {
      this.#open.delete(id);
      await session.close();
    }
  }

  async #read(): Promise<void> {
    const id = this.#pick(soakSessions);
    const known = [...(this.#entries.get(id) ?? [])];
    const session = await this.#sessions.open(id);
    const tree = await session.tree();
    const lost = known.filter((entry) => !tree.has(entry));
    if (lost.length > 0) say(`bad read: ${id} has not ${lost.join(" ")}`);
    for (const { code } of session.diagnostics)
      if (!code.startsWith("TORN_")) say(`bad read: ${id} has ${code}`);
    const one = known.length === 0 ? undefined : await session.entry(this.#pick(known));
    if (known.length > 0 && one?.type !== "message") say(`bad read: ${id} has a ${one?.type} for a message`);
    await session.context();
    await session.close();
  }

  async #follow(): Promise<void> {
    const id = this.#pick(soakSessions);
    const session = await this.#sessions.open(id);
    const first = (await session.tree()).size;
    const seen: string[] = [];
    const signal = AbortSignal.timeout(100 + this.#random(400));
    for await (const entry of session.follow({ signal, pollMs: 20 })) seen.push(entry.id);
    const lines = readFileSync(session.location ?? "", "utf8").split("\n");
    // Behind the header.
    const there = lines.slice(1 + first, 1 + first + seen.length).map((line) => JSON.parse(line).id);
    if (there.join() !== seen.join()) say(`bad follow: ${id} has ${there.join()} and showed ${seen.join()}`);
    await session.close();
  }

  async #fork(): Promise<void> {
    const from = this.#pick(soakSessions);
    const known = [...(this.#entries.get(from) ?? [])];
    const id = `f-${this.#name}-${this.#count++}`;
    const fork = await this.#sessions.fork(from, { id });
    const tree = await fork.tree();
    const lost = known.filter((entry) => !tree.has(entry));
    if (lost.length > 0) say(`bad fork: ${id} has not ${lost.join(" ")} of ${from}`);
    const text = this.#text(undefined);
    const entry = await fork.appendMessage(userMessage(text));
    await fork.close();
    say(`fork ${id} ${entry.id} ${hashOf(text)}`);
    this.#forks.add(id);
    for (const old of [...this.#forks].slice(0, this.#forks.size > 2 ? 1 : 0)) {
      say(`deleting ${old}`);
      if (!(await this.#sessions.delete(old))) say(`bad delete: ${old} was not there`);
      say(`deleted ${old}`);
      this.#forks.delete(old);
      this.#deleted.add(old);
    }
  }

  async #list(): Promise<void> {
    const ids: string[] = [];
    for await (const { id } of this.#sessions.list()) ids.push(id);
    for (const id of [...soakSessions, ...this.#forks])
      if (ids.filter((other) => other === id).length !== 1)
        say(`bad list: not one ${id} in ${ids.join(" ")}`);
    for (const id of ids) if (this.#deleted.has(id)) say(`bad list: ${id} was deleted`);
  }

  async #put(): Promise<void> {
    const start = Date.now();
    const { ref, bytes } = await this.#putBytes();
    const got = await this.#blobs.get(ref);
    const isThere = got !== undefined && Buffer.compare(got, bytes) === 0;
    // Longer than its grace it need not be there: nothing names it.
    if (!isThere && Date.now() - start < graceMs - 50) say(`bad put: ${ref} is not there`);
  }

  async #get(): Promise<void> {
    if (this.#named.length === 0) return;
    const { ref, bytes } = this.#pick(this.#named);
    const got = await this.#blobs.get(ref);
    if (got === undefined || Buffer.compare(got, bytes) !== 0) say(`bad get: ${ref} is not there`);
  }

  async #collect(): Promise<void> {
    const dir = join(this.#dir, "sessions");
    const marks = async function* (): AsyncGenerator<BlobMark> {
      for (const name of await readdir(dir, { recursive: true })) {
        if (!name.endsWith(".jsonl")) continue;
        const text = await readFile(join(dir, name), "utf8").catch(() => "");
        yield { root: name, refs: blobRefsIn(text), complete: true };
      }
    };
    const { trashed, deleted, missing } = await collectGarbage(this.#blobs, {
      marks: marks(),
      graceMs,
      trashMs,
    });
    const lost = this.#named.filter(({ ref }) => missing.first.includes(ref));
    if (lost.length > 0) say(`bad collect: ${lost.map(({ ref }) => ref).join(" ")} are missing`);
    say(`collected ${trashed.count} ${deleted.count}`);
  }

  async #archive(): Promise<void> {
    const id = this.#pick(soakSessions);
    const { time } = await this.#sessions.archive(id, { archived: this.#random(2) === 0 });
    if (time.archived !== undefined) say(`archived ${id} ${time.archived}`);
  }

  async #putBytes(): Promise<{ readonly ref: BlobRef; readonly bytes: Uint8Array }> {
    // Some are the same for all workers.
    const own = this.#random(3) === 0 ? `shared ${this.#random(50)}` : `${this.#name} ${this.#count++}`;
    const size = [100, 5000, 300_000, 700_000][this.#random(4)] ?? 0;
    const bytes = new Uint8Array(Buffer.alloc(size, `${own} `));
    return { ref: (await this.#blobs.put(bytes)).ref, bytes };
  }

  #text(ref: BlobRef | undefined): string {
    return `${this.#name} ${this.#count++} ${ref ?? ""} ${"ä".repeat(this.#random(10) === 0 ? 5000 : 20)}`;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#random(from.length)] as T;
  }

  /** An integer from 0 to below `below`. */
  #random(below: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) | 0;
    return Math.floor(((this.#state >>> 8) / 2 ** 24) * below);
  }
}
