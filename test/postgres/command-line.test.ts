/** The command line on a store in PostgreSQL. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { aiSdkChats, type UiMessage } from "sessile/ai-sdk";
import { openPostgres } from "sessile/postgres";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { call } from "../cli/call.js";

const cwd = mkdtempSync(join(tmpdir(), "sessile-address-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const said = (id: string, text: string): UiMessage => {
  return { id, role: "user", parts: [{ type: "text", text } as UiMessage["parts"][number]] };
};

it("a database is a store by its address, with the driver of the project", async () => {
  const address = "postgres://me:secret@db.example/app";
  const database = await PGlite.create();
  onTestFinished(() => database.close());
  const { sessions, blobs } = await openPostgres(database);
  const chats = aiSdkChats({ sessions, blobs });
  await chats.save({ chatId: "support", messages: [said("m1", "Where is my quagga?")] });
  await chats.close();
  const project = join(cwd, "project");
  mkdirSync(join(project, "node_modules", "pg"), { recursive: true });
  (globalThis as Record<string, unknown>).stubOfPg = database;
  writeFileSync(join(project, "package.json"), "{}");
  const body =
    "exports.Pool = class { query(text, values) { return globalThis.stubOfPg.query(text, values); } };";
  writeFileSync(join(project, "node_modules", "pg", "index.js"), body);

  const words = ["--store", address, "--partition", "ai-sdk"];
  const listed = await call(["ls", ...words, "--json"], { cwd: project });
  expect(listed.json).toMatchObject([
    {
      agent: "postgres",
      id: "support",
      partition: "ai-sdk",
      path: "postgres://db.example/app#ai-sdk/support",
      turns: 1,
    },
  ]);
  expect(listed.stdout + listed.stderr).not.toContain("secret");
  const shown = await call(["show", "support", ...words], { cwd: project });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("Where is my quagga?") });
  const found = await call(["search", "quagga", "--store", address, "--all-partitions", "--json"], {
    cwd: project,
  });
  expect(found.json[0]).toMatchObject({ role: "user", session: "support" });
  const stats = await call(["stats", "support", ...words, "--json"], { cwd: project });
  expect(stats.json[0]).toMatchObject({ turns: 1 });
  const sent = await call(["project", "support", "--target", "anthropic", "--model", "m", ...words], {
    cwd: project,
  });
  expect(sent.code).toBe(0);
});
