/** Stores by their addresses, and the partitions of one. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { aiSdkChats, type UiMessage } from "sessile/ai-sdk";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, expect, it } from "vitest";
import { call } from "./call.js";

const cwd = mkdtempSync(join(tmpdir(), "sessile-stores-"));
const dir = join(cwd, ".sessile");
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const said = (id: string, text: string): UiMessage => {
  return { id, role: "user", parts: [{ type: "text", text } as UiMessage["parts"][number]] };
};

it("commands see the partitions of the store that they are asked for", async () => {
  const sessions = fileSessionStore({ dir: join(dir, "sessions") });
  const chats = aiSdkChats({ sessions, blobs: fileBlobStore({ dir }) });
  await chats.save({ chatId: "support", messages: [said("m1", "Where is my zebra?")] });
  await chats.close();
  await using own = await sessions.create({ cwd, id: "own-session" });
  await own.appendMessage(userMessage("A line of code."));

  const ids = async (...words: string[]) =>
    (await call(["ls", "--json", "--agent", "sessile", ...words], { cwd })).json.map(({ id, partition }) => [
      id,
      partition,
    ]);
  expect(await ids()).toEqual([["own-session", undefined]]);
  expect(await ids("--partition", "ai-sdk")).toEqual([["support", "ai-sdk"]]);
  expect((await ids("--all-partitions")).toSorted()).toEqual([
    ["own-session", undefined],
    ["support", "ai-sdk"],
  ]);
  expect(await ids("--store", join(dir, "sessions"), "--partition", "ai-sdk")).toEqual([
    ["support", "ai-sdk"],
  ]);
  const both = await call(["ls", "--partition", "x", "--all-partitions"], { cwd });
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("exclude each other") });

  const shown = await call(["show", "support", "--partition", "ai-sdk"], { cwd });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("Where is my zebra?") });
  const found = await call(["search", "zebra", "--all-partitions", "--json"], { cwd });
  expect(found.json[0]).toMatchObject({ role: "user", session: "support" });
  const stats = await call(["stats", "all", "--partition", "ai-sdk", "--json"], { cwd });
  expect(stats.json[0]).toMatchObject({ sessions: 1, turns: 1 });
});

it("a database needs the driver of the project, and a file of SQLite is not made", async () => {
  const address = "postgres://me:secret@db.example/app";
  const driver = await call(["ls", "--store", address], { cwd });
  expect(driver).toMatchObject({ code: 3, stderr: expect.stringContaining("npm install pg") });
  expect((await call(["ls", "--store", address, "--json"], { cwd })).stderr).toContain('"driver"');
  const missing = await call(["ls", "--store", "sqlite:none.db"], { cwd });
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining("there is no database") });
});
