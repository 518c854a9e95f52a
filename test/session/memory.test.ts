import { type LogBatch, type LogPosition, memorySessionStore, type SessionLog, userMessage } from "sessile";
import { expect, test } from "vitest";
import { logBatchLines } from "../../src/session/runtime/log-lines.js";
import { memoryBackend } from "../../src/session/store/memory-backend.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const place = { id: "a", partition: "", cwd: "/p", timestamp: "2026-01-02T03:04:05.678Z" };

async function read(log: SessionLog, from?: LogPosition) {
  const batches: LogBatch[] = [];
  for await (const batch of log.read(from)) batches.push(batch);
  const lines = batches.flatMap((batch) =>
    logBatchLines(batch).map((line) => new TextDecoder().decode(line)),
  );
  return {
    lines,
    next: batches.at(-1)?.next as LogPosition,
    restarted: batches.some((batch) => batch.restarted),
  };
}

test("nothing is there before the first append; then any handle reads on from any position", async () => {
  const backend = memoryBackend(() => 5);
  const { log, position } = await backend.create(place);
  expect(await backend.open("a", { partition: "", mode: "read" })).toBeUndefined();
  await expect(read(log)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  const first = await log.append([utf8("one\n"), utf8("two\n")], position);
  expect(first.at).toEqual([0, 1]);
  const other = (await backend.open("a", { partition: "", mode: "read" })) as SessionLog;
  const { next } = await read(other);
  expect(next).toBe(first.position);
  await log.append([utf8("three\n")], first.position);
  expect(await read(other, next)).toMatchObject({ lines: ["three"], restarted: false });
  expect((await read(other, position)).lines).toEqual(["one", "two", "three"]);
});

test("lines are copies, going in and coming out", async () => {
  const { log, position } = await memoryBackend(() => 0).create(place);
  const mine = utf8("one\n");
  await log.append([mine], position);
  mine.fill(120);
  const [given] = await log.readAt([{ at: 0, length: 3 }]);
  expect(new TextDecoder().decode(given)).toBe("one");
  given?.fill(120);
  expect((await read(log)).lines).toEqual(["one"]);
  expect(await log.readAt([{ at: 5, length: 1 }])).toEqual([undefined]);
});

test("a position is of one state of one log", async () => {
  const backend = memoryBackend(() => 0);
  const first = await backend.create(place);
  const second = await backend.create(place);
  const { position } = await first.log.append([utf8("one\n")], first.position);
  await expect(second.log.append([utf8("x\n")], second.position)).rejects.toMatchObject({
    code: "SESSION_EXISTS",
  });
  await first.log.append([utf8("two\n")], position);
  await expect(first.log.append([utf8("x\n")], position)).rejects.toMatchObject({
    code: "CONCURRENT_WRITER",
  });
  expect((await read(first.log)).lines).toEqual(["one", "two"]);
  expect(await backend.delete("a", { partition: "" })).toBe(true);
  expect(await backend.delete("a", { partition: "" })).toBe(false);
  await expect(first.log.append([utf8("x\n")], position)).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
  // A session of the same name is another one.
  const third = await backend.create(place);
  const anew = await third.log.append([utf8("one\n")], third.position);
  expect(anew.position).toBe(position);
  const gone = { code: "SESSION_NOT_FOUND", details: { id: "a" } };
  await expect(first.log.append([utf8("x\n")], anew.position)).rejects.toMatchObject(gone);
  await expect(first.log.replace?.([], anew.position)).rejects.toMatchObject(gone);
  await expect(read(first.log)).rejects.toMatchObject(gone);
  expect(anew.at).toEqual([0]);
  expect((await read(third.log)).lines).toEqual(["one"]);
});

test("replaced lines make every earlier position one of another log", async () => {
  const { log, position } = await memoryBackend(() => 0).create(place);
  const { position: before } = await log.append([utf8("one\n"), utf8("two\n")], position);
  const after = (await log.replace?.([utf8("ONE\n"), utf8("TWO\n")], before)) as LogPosition;
  expect(await read(log, before)).toEqual({ lines: ["ONE", "TWO"], next: after, restarted: true });
  await expect(log.replace?.([], before)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  await log.append([utf8("three\n")], after);
  expect((await read(log, after)).lines).toEqual(["three"]);
});

test("the list is newest first, then by id, in one partition, and goes on behind any", async () => {
  let now = 0;
  const backend = memoryBackend(() => now);
  for (const [id, at] of Object.entries({ a: 3, b: 2, c: 2, d: 1 })) {
    now = at;
    const { log, position } = await backend.create({ ...place, id });
    await log.append([utf8("line\n")], position);
  }
  const ids = async (query = {}) => {
    const found: string[] = [];
    for await (const { id, size } of backend.list({ partition: "", ...query })) {
      expect(size).toBe(5);
      found.push(id);
    }
    return found;
  };
  expect(await ids()).toEqual(["a", "c", "b", "d"]);
  expect(await ids({ after: { modifiedAt: 2, id: "c" } })).toEqual(["b", "d"]);
  expect(await ids({ partition: "other" })).toEqual([]);
});

test("the store takes its clock from the options", async () => {
  const store = memorySessionStore({ now: () => 1_700_000_000_000 });
  const session = await store.create({ cwd: "/p" });
  await session.appendMessage(userMessage("a"));
  expect(session.header.timestamp).toBe("2023-11-14T22:13:20.000Z");
  expect((await store.latest())?.modified).toBe("2023-11-14T22:13:20.000Z");
});
