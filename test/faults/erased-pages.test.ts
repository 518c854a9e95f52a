import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { expect, onTestFinished, test } from "vitest";
import { userMessage } from "../../src/content/index.js";
import { postgresSessionStore } from "../../src/postgres/index.js";
import { deletePartition, eraseEntries } from "../../src/session/index.js";
import { canary, filesWithCanary } from "../support/canary.js";

const reason = "a request";
const tenant = "b1rd-9e8d7c6b5a";

// @covers durability:erased-bytes
test("after an erasure and a vacuum no page of a database has the text", { timeout: 120_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-pages-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const server = await PGlite.create(dir);
  const store = postgresSessionStore({ db: server, search: true });
  await store.migrate();
  const session = await store.create({ cwd: "/work", id: "s" });
  await session.append([
    { type: "message", message: userMessage(`first ${canary}`), id: "e0000001" },
    { type: "message", message: userMessage("second"), id: "e0000002" },
    { type: "custom", customType: "acme.state", data: { quoted: `"${canary}\n` }, id: "e0000003" },
  ]);
  await session.updateInfo({ title: canary });
  const other = await store.create({ cwd: "/work", partition: "acme" });
  await other.appendMessage(userMessage(tenant));
  await server.query("analyze sessile.session, sessile.entry");
  await server.query("checkpoint");
  const pages = join(dir, "base");
  expect(filesWithCanary(pages)).not.toEqual([]);
  expect(filesWithCanary(pages, tenant)).not.toEqual([]);

  await eraseEntries(store, "s", ["e0000001", "e0000003"], { reason });
  await deletePartition(store, "acme");
  await server.query("vacuum (full, analyze) sessile.session, sessile.entry");
  await server.query("vacuum full pg_statistic");
  await server.query("checkpoint");
  // Its log of writes has its own retention; the page on erasure says so.
  expect(filesWithCanary(pages)).toEqual([]);
  expect(filesWithCanary(pages, tenant)).toEqual([]);
  const words = await server.query<{ lexeme: string }>(
    "select word from ts_stat('select terms from sessile.entry where terms is not null')",
  );
  expect(JSON.stringify(words.rows)).not.toContain(canary.split("-")[0]);
  expect(JSON.stringify(words.rows)).toContain("second");
  const back = await store.open("s");
  const { items } = await back.context();
  expect(items.map(({ message }) => "content" in message && message.content)).toEqual(["[erased]", "second"]);
  await server.close();
});
