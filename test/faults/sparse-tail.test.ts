import { readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { userMessage } from "sessile";
import { diagnoseSession, fileSessionStore, readEntriesBackwards, salvageSession } from "sessile/node";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../session/node/temporary-directory.js";

/** More than a reader takes in one line. A file system may leave as much after a crash, none of which is on the disk. */
const nulBytes = Number(process.env.SESSILE_NUL_MIB ?? 256) * 2 ** 20;
const blocksOf = (bytes: number) => bytes / 512;

// @covers durability:nul-tail
test.each([3, 1])(
  "a tail of NULs in a file of version %i stays sparse, whatever is done with the session",
  {
    timeout: 300_000 + nulBytes / 2 ** 14,
  },
  async (version) => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, durability: "os" });
    let path = "";
    if (version === 3) {
      const made = await store.create({ cwd: "/p", id: "s" });
      await made.append([{ type: "message", message: userMessage("one") }]);
      await made.close();
      path = made.location as string;
    } else {
      path = join(dir, "2026-01-01T00-00-00-000Z_s.jsonl");
      const message = { role: "user", content: "one", timestamp: 0 };
      const lines = [
        { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/p" },
        { type: "message", timestamp: "2026-01-01T00:00:00.000Z", message },
      ];
      writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    }
    const { size } = statSync(path);
    truncateSync(path, size + nulBytes);
    const before = process.memoryUsage.rss();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 5);

    expect(await diagnoseSession(path)).toMatchObject({ verdict: "damaged", counts: { LINE_TOO_LONG: 1 } });
    const session = await store.open("s", { mode: "write" });
    await session.appendMessage(userMessage("two"));
    expect((await session.context()).items.length).toBe(2);
    await session.close();
    const again = await store.open("s");
    expect((await again.context()).items.length).toBe(2);
    await again.close();
    expect((await readEntriesBackwards(path, { limit: 1 })).entries.length).toBe(1);
    for await (const summary of store.list()) expect(summary.id).toBe("s");
    const fork = await store.fork("s", { id: "fork" });
    expect((await fork.context()).items.length).toBe(2);
    await fork.close();
    const to = join(dirname(path), "2026-01-01T00-00-00-000Z_salvaged.jsonl");
    const { losses, lost } = await salvageSession(path, { to });
    // A migration has left it out.
    expect(lost.lines).toBe(version === 3 ? 1 : 0);
    expect(losses.map(({ code }) => code)).toEqual(version === 3 ? ["LINE_TOO_LONG"] : []);

    clearInterval(watch);
    expect(peak - before).toBeLessThan(700 * 2 ** 20);
    const files = readdirSync(dir, { recursive: true }).map((name) => join(dir, String(name)));
    for (const file of files) expect(statSync(file).blocks).toBeLessThan(blocksOf(2 ** 20));
  },
);
