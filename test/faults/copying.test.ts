import { fork } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { digest, userMessage } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { postgresSessionStore } from "sessile/postgres";
import { syncSessions } from "sessile/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { richSession } from "../support/rich-session.js";
import { bytesOf, viewOf } from "../sync/stores.js";
import { useProgram } from "./start-child.js";

interface Query {
  readonly id: number;
  readonly text: string;
  readonly values: unknown[];
}

type Outcome = "killed" | { readonly skipped: number; readonly changed: number; readonly sessions: number };

let dir = "";
let server: PGlite;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "sessile-copying-"));
  server = await PGlite.create();
  await postgresSessionStore({ db: server }).migrate();
});
afterAll(async () => {
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

const at = (...names: string[]) => join(dir, ...names);
const program = useProgram(new URL("./copying.ts", import.meta.url));

/** Runs a copy whose process is killed at a query, before or after the server has carried it out. */
async function copy(args: readonly string[], killAt = Infinity): Promise<Outcome> {
  const child = fork(program(), args, { serialization: "advanced", execArgv: [], stdio: "inherit" });
  let outcome: Outcome = "killed";
  let count = 0;
  child.on("message", async (message: Query | { readonly report: Exclude<Outcome, "killed"> }) => {
    if ("report" in message) {
      outcome = message.report;
      return;
    }
    const isLast = ++count === killAt;
    if (isLast && killAt % 2 === 0) child.kill("SIGKILL");
    const { id, text, values } = message;
    const answer = await server.query(text, values).then(
      ({ rows }) => ({ id, rows }),
      (error: Error & { code?: string }) => ({ id, error: { message: error.message, code: error.code } }),
    );
    if (isLast) child.kill("SIGKILL");
    else if (child.connected) child.send(answer, () => undefined);
  });
  await new Promise((resolve) => child.once("close", resolve));
  return outcome;
}

/** Sessions with everything: attachments, branches, damaged and unknown lines, and one of several batches. */
async function writeSource(): Promise<void> {
  const { messages, blobs } = await richSession();
  const stored = fileBlobStore({ dir: at("blobs") });
  for await (const { ref } of blobs.list()) await stored.put((await blobs.get(ref)) as Uint8Array);
  const store = fileSessionStore({ dir: at("source"), durability: "os", blobs: stored });
  for (let number = 0; number < 8; number++) {
    const partition = number % 3 === 0 ? "tenant" : "";
    const session = await store.create({ cwd: `/p${number % 2}`, partition });
    for (const message of messages)
      if (message.role !== "compactionSummary" && message.role !== "branchSummary")
        await session.appendMessage(message);
    await session.branch((await session.tree()).path(session.leafId)[1]?.id ?? null);
    await session.appendMessage(userMessage(`Another branch ${number}`));
    await session.updateInfo({ title: `Session ${number}` });
    await session.close();
    const path = session.location as string;
    appendFileSync(
      path,
      '{"type":"message","id":"dama\r\n\n{"type":"future","id":"f1","parentId":null,"timestamp":"","x":1.50}\r\n',
    );
    if (number === 5)
      for (let i = 0; i < 40; i++)
        appendFileSync(
          path,
          `${JSON.stringify({ type: "custom", id: `big${i}`, parentId: null, timestamp: "", customType: "c", data: "é".repeat(50_000) })}\n`,
        );
  }
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));

describe("a process that copies a store is killed, and another one continues", () => {
  // @covers durability:copies
  test("files to PostgreSQL and back are the same bytes, with every blob", async () => {
    await writeSource();
    mkdirSync(at("back"));
    const to = ["to", at("source"), at("blobs"), at("blobs-of-rows")];
    const from = ["from", at("back"), at("blobs-of-rows"), at("blobs-back")];
    for (const args of [to, from]) {
      const killAt = 4 + Math.floor(Math.random() * 16);
      expect(await copy(args, killAt), `killed at ${killAt}`).toBe("killed");
      expect(await copy(args)).toMatchObject({ sessions: 8, skipped: 0 });
    }
    const sources = filesIn(at("source"));
    expect(sources).toHaveLength(8);
    expect(filesIn(at("back")).sort()).toEqual(sources.sort());
    for (const name of sources)
      expect(readFileSync(at("back", name)).equals(readFileSync(at("source", name))), basename(name)).toBe(
        true,
      );
    const refs = new Set(
      sources.flatMap((name) => readFileSync(at("source", name), "utf8").match(/sha256:[0-9a-f]{64}/g) ?? []),
    );
    expect(refs.size).toBeGreaterThan(4);
    const blobs = fileBlobStore({ dir: at("blobs-back") });
    for (const ref of refs as Set<`sha256:${string}`>)
      expect(await digest((await blobs.get(ref)) as Uint8Array)).toBe(ref);
  });

  // @covers durability:syncs
  test("files and PostgreSQL that both went on have one tree after a sync", async () => {
    const [a, b] = [fileSessionStore({ dir: at("synced") }), postgresSessionStore({ db: server })];
    const inA = await a.create({ cwd: "/p", id: "synced" });
    await inA.appendMessage(userMessage("first"));
    const ids = { ids: ["synced"], partitions: [""] };
    await syncSessions(a, b, ids);
    const inB = await b.open("synced", { mode: "write" });
    await inA.updateInfo({ title: "older" });
    await inB.updateInfo({ title: "newer" });
    await Promise.all([
      ...[1, 2, 3].map((i) => inA.appendMessage(userMessage(`a ${i}`), { conflict: "branch" })),
      ...[1, 2, 3].map((i) => inB.appendMessage(userMessage(`b ${i}`), { conflict: "branch" })),
      syncSessions(a, b, ids),
    ]);
    await syncSessions(b, a, ids);
    const [left, right] = [await bytesOf(a, "synced"), await bytesOf(b, "synced")];
    expect(viewOf(left)).toEqual(viewOf(right));
    expect((await (await b.open("synced")).tree()).size).toBeGreaterThanOrEqual(9);
    expect(await syncSessions(a, b, ids)).toMatchObject({ entries: 0, skipped: [] });
  });
});
