import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Session, userMessage } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { rounds } from "../support/rounds.js";
import { countOf, linesOf } from "./acknowledged.js";
import { useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-processes-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A session with one message, closed. */
async function stored(id: string): Promise<string> {
  const session = await fileSessionStore({ dir }).create({ cwd: "/p", id });
  await session.appendMessage(userMessage("first"));
  await session.close();
  return session.location ?? "";
}

describe("row 12: four processes that append to one session", () => {
  // @covers durability:many-writers
  test("and try again after a conflict: every acknowledged entry is there once, and every line is whole", async () => {
    const path = await stored("four");
    const children = ["a", "b", "c", "d"].map((name) => startChild("append", dir, "four", name, "60"));
    for (const child of children) expect(await child.ended).toBe(0);
    const acknowledged = children.flatMap((child) => child.said);
    expect(acknowledged.length).toBe(240);
    const lines = linesOf(path);
    expect(lines.length).toBe(242);
    const counts = countOf(lines.map((line) => line.id));
    for (const id of acknowledged) expect(counts.get(id)).toBe(1);
    // Each writer's own entries follow each other: nobody's history was forked by accident.
    const byId = new Map(lines.map((line) => [line.id, line]));
    for (const child of children) {
      for (const [at, id] of child.said.entries()) {
        if (at > 0) expect(byId.get(id)?.parentId).toBe(child.said[at - 1]);
      }
    }
    const session = await openSessionFile(path);
    expect(session.diagnostics).toEqual([]);
    expect((await session.tree()).size).toBe(241);
    await session.close();
    await vi.waitFor(
      () => expect(readdirSync(dirname(path)).filter((name) => name.includes("four.jsonl."))).toEqual([]),
      {
        timeout: 120_000,
      },
    );
  });

  // @covers durability:many-writers
  test("a rename gets its turn while others never rest", async () => {
    const path = await stored("busy");
    const busy = startChild("forever", dir, "busy");
    await vi.waitFor(() => expect(busy.said.length).toBeGreaterThan(20), { timeout: 120_000, interval: 5 });
    const renaming = startChild("rename", dir, "busy", "5");
    expect(await renaming.ended).toBe(0);
    expect(renaming.said).toEqual(["title 0", "title 1", "title 2", "title 3", "title 4"]);
    // A title is no conflict for who writes the conversation.
    const before = busy.said.length;
    await vi.waitFor(() => expect(busy.said.length).toBeGreaterThan(before), {
      timeout: 120_000,
      interval: 5,
    });
    busy.kill("SIGKILL");
    await busy.ended;
    const session = await openSessionFile(path);
    expect(session.info.title).toBe("title 4");
    expect(session.diagnostics.filter(({ code }) => !code.startsWith("TORN_"))).toEqual([]);
    await session.close();
  });
});

describe("row 1: a process that is killed while it appends", () => {
  const kills = rounds(20, 500);

  // @covers durability:killed-append
  test("loses nothing that it said was there", { timeout: 300_000 + kills * 2000 }, async () => {
    const store = fileSessionStore({ dir });
    const path = await stored("killed");
    const acknowledged: string[] = [];
    const round = async (at: number): Promise<void> => {
      const child = startChild("forever", dir, "killed");
      // At another moment of its work each time.
      await vi.waitFor(() => expect(child.said.length).toBeGreaterThan((at * 7) % 40), {
        timeout: 120_000,
        interval: 1,
      });
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      acknowledged.push(...child.said);
      // The next one opens at once: the lock that was left is no hindrance.
      if (at % 10 > 0) return;
      const session = await store.open("killed", { mode: "write" });
      acknowledged.push((await session.appendMessage(userMessage("between"))).id);
      await session.close();
    };
    for (let at = 0; at < kills; at++) await round(at);
    const session = await store.open("killed", { mode: "write" });
    expect(session.diagnostics.filter(({ code }) => !code.startsWith("TORN_"))).toEqual([]);
    for (const id of acknowledged) expect((await session.tree()).has(id)).toBe(true);
    await session.close();
    const counts = countOf(linesOf(path).map((line) => line.id));
    for (const id of acknowledged) expect(counts.get(id)).toBe(1);
    expect(acknowledged.length).toBeGreaterThan(kills * 15);
    expect((await openSessionFile(path)).diagnostics).toEqual([]);
  });
});

describe("row 13: a process that is stopped while it holds the lock", () => {
  // @covers durability:holder-stopped
  test("is waited for, and named when the wait is over; when it goes on, so does all else", async () => {
    const path = await stored("stopped");
    const child = startChild("hold", `${path}.lock`);
    await child.saying("held");
    await child.stop();
    const { host } = JSON.parse(readFileSync(`${path}.lock`, "utf8"));
    const session = await fileSessionStore({ dir, lockWaitMs: 60 }).open("stopped", { mode: "write" });
    await expect(session.appendMessage(userMessage("x"))).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: child.pid, host, path: `${path}.lock` },
    });
    expect((await session.tree()).size).toBe(1);
    const reading = await fileSessionStore({ dir }).open("stopped");
    expect((await reading.context()).items.length).toBe(1);
    await reading.close();
    child.kill("SIGCONT");
    child.process.stdin?.write("\n");
    await child.saying("released");
    await session.appendMessage(userMessage("x"));
    await session.close();
    expect(linesOf(path).length).toBe(3);
  });
});

describe("row 12: a program that ignores locks, in a tight loop beside ours", () => {
  // @covers durability:foreign-writer
  test("costs neither side a line", async () => {
    const path = await stored("foreign");
    const child = startChild("append", dir, "foreign", "ours", "150");
    const theirs: string[] = [];
    let running = true;
    void child.ended.then(() => {
      running = false;
    });
    while (running) {
      const id = `f${String(theirs.length).padStart(7, "0")}`;
      const line = { type: "message", id, parentId: null, timestamp: "", message: userMessage("theirs") };
      appendFileSync(path, `${JSON.stringify(line)}\n`);
      theirs.push(id);
      await new Promise((resolve) => setTimeout(resolve, theirs.length % 3));
    }
    expect(await child.ended).toBe(0);
    expect(child.said.length).toBe(150);
    expect(theirs.length).toBeGreaterThan(10);
    const counts = countOf(linesOf(path).map((line) => line.id));
    for (const id of [...child.said, ...theirs]) expect(counts.get(id)).toBe(1);
    const session: Session = await openSessionFile(path);
    expect(session.diagnostics).toEqual([]);
    await session.close();
  });
});
