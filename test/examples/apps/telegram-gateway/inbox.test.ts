import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openInbox, type Task } from "../../../../examples/apps/telegram-gateway/inbox.js";

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), "sessile-inbox-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

const task = (text: string, album?: string): Task => ({
  kind: "reply",
  chatId: 7,
  text,
  ...(album === undefined ? {} : { album }),
});

/** The prototype of all open files. */
async function fileMethods(dir: string): Promise<FileHandle> {
  const directory = await open(dir);
  await directory.close();
  return Object.getPrototypeOf(directory) as FileHandle;
}

/** Each takes less than a second on an idle machine. */
const timeout = 180_000;

describe("openInbox", { timeout }, () => {
  it("has after a restart what was taken and not done, oldest first", async () => {
    const dir = scratch();
    const first = await openInbox(dir);
    await first.take([{ updateId: 5, task: task("a") }, { updateId: 6 }, { updateId: 7, task: task("b") }]);
    await first.take([{ updateId: 2, task: task("c") }]);
    await first.done(5);
    await first.close();
    const second = await openInbox(dir);
    expect(second.waiting).toEqual([
      { updateId: 7, task: task("b") },
      { updateId: 2, task: task("c") },
    ]);
    expect([5, 6, 7, 2, 8].map((id) => second.has(id))).toEqual([true, true, true, true, false]);
    await second.close();
  });

  it("acknowledges an update, taken or done, only when its line is flushed to the disk", async () => {
    const dir = scratch();
    const inbox = await openInbox(dir);
    const methods = await fileMethods(dir);
    const flush = methods.datasync;
    const told: string[] = [];
    const spy = vi.spyOn(methods, "datasync").mockImplementation(async function (this: FileHandle) {
      told.push(`flushing ${readFileSync(join(dir, "inbox.jsonl"), "utf8").trim().split("\n").at(-1)}`);
      await flush.call(this);
      // A response that did not wait for the fsync would come before it.
      await new Promise((resolve) => setTimeout(resolve, 20));
      told.push("flushed");
    });
    try {
      await inbox.take([{ updateId: 5 }]).then(() => told.push("taken"));
      await inbox.done(5).then(() => told.push("done"));
      spy.mockRejectedValueOnce(new Error("EIO"));
      await expect(inbox.take([{ updateId: 6 }])).rejects.toThrow("EIO");
    } finally {
      spy.mockRestore();
      await inbox.close();
    }
    const line = 'flushing {"updateId":5}';
    expect(told).toEqual([line, "flushed", "taken", line, "flushed", "done"]);
  });

  it("writes the file anew with a flush of it, before it takes the name, and of the directory after", async () => {
    const dir = scratch();
    const methods = await fileMethods(dir);
    const flush = methods.sync;
    const told: string[] = [];
    const spy = vi.spyOn(methods, "sync").mockImplementation(async function (this: FileHandle) {
      const what = (await this.stat()).isDirectory() ? "directory" : "file";
      told.push(`${what}: ${readdirSync(dir).join()}`);
      await flush.call(this);
    });
    try {
      await (await openInbox(dir)).close();
    } finally {
      spy.mockRestore();
    }
    expect(told).toEqual(["file: inbox.jsonl.new", "directory: inbox.jsonl"]);
  });

  it("is for nobody else on this machine", async () => {
    const dir = join(scratch(), "chats");
    await (await openInbox(dir)).close();
    const modes = [dir, join(dir, "inbox.jsonl")].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it("loses nothing that was whole before a line that a crash cut off", async () => {
    const dir = scratch();
    const first = await openInbox(dir);
    await first.take([{ updateId: 5, task: task("a") }]);
    await first.close();
    appendFileSync(join(dir, "inbox.jsonl"), '{"updateId":6,"task":{"kind":"re');
    const second = await openInbox(dir);
    await second.take([{ updateId: 7, task: task("b") }]);
    await second.close();
    const third = await openInbox(dir);
    expect(third.waiting.map(({ updateId }) => updateId)).toEqual([5, 7]);
    expect(third.has(6)).toBe(false);
    await third.close();
  });

  it("remembers albums, also of what is done", async () => {
    const dir = scratch();
    const first = await openInbox(dir);
    await first.take([{ updateId: 5, task: task("a", "7 99") }]);
    await first.done(5);
    await first.close();
    const second = await openInbox(dir);
    expect([...second.albums]).toEqual(["7 99"]);
    await second.close();
  });

  it("keeps a thousand ids of what is done, and all that is not", async () => {
    const inbox = await openInbox(scratch());
    await inbox.take([{ updateId: 0, task: task("waits") }]);
    await inbox.take(Array.from({ length: 1500 }, (_, at) => ({ updateId: at + 1 })));
    expect([0, 1, 501, 502, 1500].map((id) => inbox.has(id))).toEqual([true, false, false, true, true]);
    expect(inbox.waiting).toHaveLength(1);
    await inbox.close();
  });

  it("does not grow for ever", async () => {
    const dir = scratch();
    const inbox = await openInbox(dir);
    for (let batch = 0; batch < 120; batch++) {
      await inbox.take(Array.from({ length: 100 }, (_, at) => ({ updateId: 100 * batch + at })));
    }
    const text = readFileSync(join(dir, "inbox.jsonl"), "utf8");
    expect(text.split("\n").length).toBeLessThan(10_100);
    expect(inbox.has(11_999)).toBe(true);
    await inbox.close();
  });

  it("is for nobody else to read", async () => {
    const dir = scratch();
    await (await openInbox(dir)).close();
    expect(statSync(join(dir, "inbox.jsonl")).mode & 0o077).toBe(0);
  });
});
