import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-chain-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("row 12: four processes that each append behind what is newest, and read on and try again after a conflict", () => {
  // @covers R156 durability:many-writers
  test("write one history: no entry is lost or doubled, and nothing branches", async () => {
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "chain" });
    await session.appendMessage(userMessage("first"));
    await session.close();
    const children = ["a", "b", "c", "d"].map((name) => startChild("appendAtLeaf", dir, "chain", name, "40"));
    for (const child of children) await child.saying("begins");
    for (const child of children) child.process.stdin?.write("\n");
    for (const child of children) expect(await child.ended).toBe(0);
    const acknowledged = children.flatMap(({ said }) => said.slice(1, -1));
    expect(acknowledged.length).toBe(160);
    const again = children.map(({ said }) => Number(said.at(-1)?.split(" ")[1]));
    expect(again.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(children.length - 1);

    const lines = readFileSync(session.location ?? "", "utf8")
      .trimEnd()
      .split("\n")
      .slice(1);
    const entries = lines.map((line) => JSON.parse(line) as { id: string; parentId: string | null });
    expect(
      entries
        .slice(1)
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...acknowledged].sort());
    for (const [at, { parentId }] of entries.entries()) expect(parentId).toBe(entries[at - 1]?.id ?? null);
    const read = await openSessionFile(session.location ?? "");
    expect(read.diagnostics).toEqual([]);
    expect((await read.context()).items.length).toBe(161);
    await read.close();
  });
});

describe("row 12: four processes that each append with conflict follow", () => {
  // @covers durability:many-writers
  test("write one history without trying again: every entry is there once, and nothing branches", async () => {
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "follow" });
    await session.appendMessage(userMessage("first"));
    await session.close();
    const children = ["a", "b", "c", "d"].map((name) =>
      startChild("appendFollowing", dir, "follow", name, "40"),
    );
    for (const child of children) expect(await child.ended).toBe(0);
    const acknowledged = children.flatMap(({ said }) => said);
    const read = await openSessionFile(session.location ?? "");
    const path = (await read.tree()).path(read.leafId).map(({ id }) => id);
    expect(path.slice(1).sort()).toEqual([...acknowledged].sort());
    expect([path.length, (await read.tree()).size, read.diagnostics]).toEqual([161, 161, []]);
    await read.close();
  });
});
