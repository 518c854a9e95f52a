import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BlobRef } from "sessile";
import { fileBlobStore, fileSessionStore, openSessionFile } from "sessile/node";
import { expect } from "vitest";
import { hashOf, soakSessions } from "./soak-worker.js";
import type { Child } from "./start-child.js";

/** All that workers were told is there, from what they say. */
export class SoakModel {
  /** By session, the hashes of texts by entry id. */
  readonly entries = new Map<string, Map<string, string>>(soakSessions.map((id) => [id, new Map()]));
  readonly named = new Set<BlobRef>();
  readonly archived: { readonly id: string; readonly at: string }[] = [];
  readonly bad: string[] = [];
  /** `leaving` may be there or not. */
  readonly forks = new Map<string, "there" | "leaving" | "gone">();
  collected = 0;
  readonly #read = new Map<Child, number>();

  /** Takes what a worker has said since the last time. */
  hear(child: Child): void {
    const from = this.#read.get(child) ?? 0;
    this.#read.set(child, child.said.length);
    for (const line of child.said.slice(from)) this.#take(line);
  }

  #take(line: string): void {
    const [what = "", id = "", ...rest] = line.split(" ");
    if (what === "bad") this.bad.push(line);
    if (what === "entry") this.entries.get(id)?.set(rest[0] ?? "", rest[1] ?? "");
    if (what === "named") this.named.add(id as BlobRef);
    if (what === "archived") this.archived.push({ id, at: rest[0] ?? "" });
    if (what === "collected") this.collected += Number(id);
    if (what === "fork") {
      this.forks.set(id, "there");
      this.entries.set(id, new Map([[rest[0] ?? "", rest[1] ?? ""]]));
    }
    if (what === "deleting" || what === "deleted") {
      this.forks.set(id, what === "deleting" ? "leaving" : "gone");
      this.entries.delete(id);
    }
  }

  get acknowledged(): number {
    let count = 0;
    for (const entries of this.entries.values()) count += entries.size;
    return count;
  }
}

/** Where each session's file is. */
async function pathsIn(dir: string): Promise<Map<string, string>> {
  const paths = new Map<string, string>();
  for await (const { id, location } of fileSessionStore({ dir: join(dir, "sessions") }).list()) {
    expect(paths.has(id), `${id} is there twice`).toBe(false);
    paths.set(id, location ?? "");
  }
  return paths;
}

/** Fails unless all that is in the model so far is in the directory, once and unchanged, whoever is at work there. */
export async function checkSoak(model: SoakModel, dir: string): Promise<void> {
  expect(model.bad).toEqual([]);
  const named = [...model.named];
  const archived = [...model.archived];
  const known = new Map(soakSessions.map((id) => [id, new Map(model.entries.get(id))]));
  const paths = await pathsIn(dir);
  for (const [id, entries] of known) {
    const { texts, archivedAts } = textsIn(paths.get(id) ?? "");
    const wrong = [...entries].filter(([entry, hash]) => texts.get(entry) !== hash);
    expect(wrong, `acknowledged entries that are not in ${id} once, as they were`).toEqual([]);
    const lost = archived.filter((one) => one.id === id && !archivedAts.has(one.at));
    expect(lost, `archivings that are not in ${id}`).toEqual([]);
  }
  const report = await fileBlobStore({ dir: join(dir, "blobs") }).verify({ refs: named });
  expect([report.missing, report.corrupt]).toEqual([[], []]);
}

/** As {@link checkSoak}, when nobody is at work any more: nothing else is wrong or left there. */
export async function checkEnd(model: SoakModel, dir: string): Promise<void> {
  const store = fileSessionStore({ dir: join(dir, "sessions") });
  for (const id of soakSessions) {
    const session = await store.open(id, { mode: "write" });
    const codes = session.diagnostics.map(({ code }) => code);
    expect(codes.filter((code) => !code.startsWith("TORN_"))).toEqual([]);
    await session.updateInfo({ title: "the last entry" });
    await session.close();
  }
  await checkSoak(model, dir);
  const paths = await pathsIn(dir);
  for (const [id, state] of model.forks) {
    if (state === "leaving") continue;
    expect([id, paths.has(id)]).toEqual([id, state === "there"]);
  }
  for (const [id, path] of paths) {
    const session = await openSessionFile(path);
    const codes = (await session.diagnose()).map(({ code }) => code);
    // A copy is made without a writer to mend its end when that one is killed.
    expect([id, codes.filter((code) => !code.startsWith("TORN_") || soakSessions.includes(id))]).toEqual([
      id,
      [],
    ]);
    for (const entry of model.entries.get(id)?.keys() ?? [])
      expect((await session.tree()).has(entry)).toBe(true);
    await session.close();
  }
  expect((await fileBlobStore({ dir: join(dir, "blobs") }).verify()).corrupt).toEqual([]);
}

/** The hashes of a file's messages, "twice" for one that is there more often, and the times of archiving. */
function textsIn(path: string): { texts: Map<string, string>; archivedAts: Set<string> } {
  const texts = new Map<string, string>();
  const archivedAts = new Set<string>();
  const lines = readFileSync(path, "utf8").split("\n");
  // What follows the last line feed is being written.
  for (const line of lines.slice(0, -1)) {
    const { id, type, message, archivedAt } = JSON.parse(line);
    if (typeof archivedAt === "string") archivedAts.add(archivedAt);
    if (type === "message") texts.set(id, texts.has(id) ? "twice" : hashOf(message.content));
  }
  return { texts, archivedAts };
}
