import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Session, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Child, useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-follow-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const poll = { timeout: 120_000, interval: 2 };
/** So long that whoever waits for it has missed something. */
const neverMs = "1000000";

interface Followed {
  readonly session: Session;
  readonly path: string;
  readonly reader: Child;
  /** Appends one message, and resolves with its id when that is acknowledged. */
  append(text?: string): Promise<string>;
}

/** A session with one message, open for writing here and followed by another process. */
async function followed(id: string, pollMs = "20"): Promise<Followed> {
  const session = await fileSessionStore({ dir }).create({ cwd: "/p", id });
  await session.appendMessage(userMessage("first"));
  const reader = startChild("follow", dir, id, pollMs);
  await reader.saying("begins with 1");
  const append = async (text = "more") => (await session.appendMessage(userMessage(text))).id;
  return { session, path: session.location ?? "", reader, append };
}

/** The ids that a follower has said. */
function seen(reader: Child): readonly string[] {
  return reader.said.filter((line) => /^[0-9a-f]{8}$/.test(line));
}

async function sees(reader: Child, ids: readonly string[]): Promise<void> {
  await vi.waitFor(() => expect(seen(reader)).toEqual(ids), poll);
}

/** The ids of a file's entries. */
function idsIn(path: string): readonly string[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.slice(1).map((line) => JSON.parse(line).id);
}

describe("row 22: a reader in another process that follows", () => {
  // @covers R92 durability:follow
  test("sees what several processes append, in the order of the log, each once", async () => {
    const { session, path, reader } = await followed("several");
    const writers = ["a", "b", "c"].map((name) => startChild("append", dir, "several", name, "60"));
    for (const writer of writers) expect(await writer.ended).toBe(0);
    const ids = idsIn(path).slice(1);
    expect(new Set(ids)).toEqual(new Set(writers.flatMap(({ said }) => said)));
    await sees(reader, ids);
    await session.close();
  });

  test("sees each entry without waiting for its next poll", async () => {
    const { reader, append, session } = await followed("prompt", neverMs);
    const ids: string[] = [];
    for (let at = 0; at < 40; at++) {
      ids.push(await append());
      if (at % 4 === 0) ids.push(await append());
      // Right after it was read, and later.
      await sees(reader, ids);
      await new Promise((resolve) => setTimeout(resolve, at % 3));
    }
    await session.close();
  });

  // @covers durability:follow
  test("survives a torn line that a writer ends", async () => {
    const { path, reader, append, session } = await followed("torn");
    const ids = [await append()];
    await sees(reader, ids);
    for (let round = 0; round < 5; round++) {
      // A program that ignores locks dies in the middle of a line.
      appendFileSync(path, `{"type":"message","id":"0000000${round}","parentId":null,"timest`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      ids.push(await append());
      await sees(reader, ids);
    }
    expect(reader.said).not.toContain("diagnostic LOG_REPLACED");
    await session.close();
  });

  // @covers durability:follow
  test("survives acknowledged lines being cut off by another program, and repeats nothing", async () => {
    const { path, reader, append, session } = await followed("cut");
    const ids = [await append("one"), await append("two")];
    await sees(reader, ids);
    const whole = readFileSync(path);
    await session.close();
    truncateSync(path, whole.length - 100);
    await reader.saying("diagnostic LOG_REPLACED");
    const again = await fileSessionStore({ dir }).open("cut", { mode: "write" });
    const { id } = await again.appendMessage(userMessage("after the cut"));
    await again.close();
    await sees(reader, [...ids, id]);
  });

  // @covers durability:follow
  test("sees what came with a file that took the place of the log, and only that", async () => {
    const { path, reader, append, session } = await followed("replaced");
    const ids = [await append("one"), await append("two")];
    await sees(reader, ids);
    await session.close();
    for (let round = 0; round < 3; round++) {
      const lines = readFileSync(path, "utf8").trimEnd().split("\n");
      const id = `0000000${round}`;
      const entry = { type: "message", id, parentId: ids.at(-1), timestamp: "", message: userMessage("new") };
      // What an editor and a program that synchronises directories do.
      writeFileSync(`${path}.new`, `${[...lines, JSON.stringify(entry)].join("\n")}\n`);
      renameSync(`${path}.new`, path);
      ids.push(id);
      await sees(reader, ids);
      const again = await fileSessionStore({ dir }).open("replaced", { mode: "write" });
      ids.push((await again.appendMessage(userMessage("after"))).id);
      await again.close();
      await sees(reader, ids);
    }
    expect(reader.said).toContain("diagnostic LOG_REPLACED");
  });

  // @covers durability:follow
  test("is told of changes to the file that took the place, too, without waiting for its next poll", async () => {
    const { path, reader, append, session } = await followed("watched", neverMs);
    const ids = [await append("one")];
    await sees(reader, ids);
    writeFileSync(`${path}.new`, readFileSync(path));
    renameSync(`${path}.new`, path);
    await reader.saying("diagnostic LOG_REPLACED");
    const again = await fileSessionStore({ dir }).open("watched", { mode: "write" });
    for (let at = 0; at < 20; at++) {
      ids.push((await again.appendMessage(userMessage("after"))).id);
      await sees(reader, ids);
    }
    await again.close();
    await session.close();
  });

  // @covers durability:follow
  test.each([1, 2])(
    "survives a migration of version %s, and sees each entry after it once",
    async (version) => {
      const id = `old-${version}`;
      const path = join(dir, `${id}.jsonl`);
      const lines = [
        { type: "session", version, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/p" },
        ...[1, 2, 3].map((at) => ({
          type: "message",
          ...(version === 1 ? {} : { id: `0000000${at}`, parentId: at === 1 ? null : `0000000${at - 1}` }),
          timestamp: "2026-01-01T00:00:00.000Z",
          message: userMessage(`${at}`),
        })),
      ];
      writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const reader = startChild("follow", dir, id, "20");
      await reader.saying("begins with 3");
      const session = await fileSessionStore({ dir }).open(id, { mode: "write" });
      const ids = [];
      for (let at = 0; at < 5; at++) ids.push((await session.appendMessage(userMessage("new"))).id);
      await session.close();
      await sees(reader, ids);
      expect(reader.said).toContain("diagnostic LOG_REPLACED");
    },
  );

  // @covers durability:follow
  test("sees that the session is archived, and goes on", async () => {
    const { path, reader, append, session } = await followed("archived");
    await fileSessionStore({ dir }).archive("archived");
    const id = await append("after it");
    await sees(reader, idsIn(path).slice(1));
    expect(seen(reader)).toContain(id);
    expect(seen(reader).length).toBe(2);
    await session.close();
  });

  // @covers durability:follow
  test.each([
    [
      "is renamed, as by who moves it into an archive of their own",
      (path: string) => {
        const to = path.replace("/--", "/archive-of-");
        mkdirSync(dirname(to), { recursive: true });
        renameSync(path, `${to}.gone`);
      },
    ],
    ["is deleted", (path: string) => rmSync(path)],
  ])("ends when the file %s, after the last entry that was acknowledged", async (how, remove) => {
    const { path, reader, append, session } = await followed(how.slice(3, 10).trim(), "100");
    const ids = [await append()];
    await sees(reader, ids);
    await reader.stop();
    for (let at = 0; at < 5; at++) ids.push(await append());
    remove(path);
    reader.kill("SIGCONT");
    await reader.saying("ended");
    await sees(reader, ids);
    expect(reader.said).toContain("deleted");
    expect(await reader.ended).toBe(0);
    expect(reader.said).toContain("context of 7");
    await session.close();
  });
});
