import { readlinkSync, symlinkSync, unlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import type { FileSystem } from "../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";
import { isAlive } from "../../src/core/node/process-identity.js";
import { FileLock } from "../../src/storage/files/file-lock.js";
import { say } from "./say.js";

/** What a test of locks has another process do. */
export const lockRoles: Readonly<Record<string, (...args: string[]) => Promise<void>>> = {
  /**
   * Takes a lock again and again, for a moment each, with a disk on which every call may take long. Says when it was inside,
   * and `violated` where another live process was there with it.
   */
  async exclude(path = "") {
    const lock = new FileLock(slow(nodeFileSystem), path, {
      waitMs: 120_000,
      idleMs: 0,
      remoteLeaseMs: 30_000,
    });
    say("begins");
    for (;;) {
      await lock.with(async () => {
        enter(`${path}-inside`);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
        unlinkSync(`${path}-inside`);
      });
      lock.release();
      say("inside");
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
  /**
   * Appends messages behind whatever is newest: where another writer came first, it goes to what that one wrote and tries
   * again. Says each id that was acknowledged, and how often it tried again.
   */
  async appendAtLeaf(dir = "", id = "", name = "", count = "0") {
    const session = await fileSessionStore({ dir, lockWaitMs: 120_000 }).open(id, { mode: "write" });
    let newest = session.leafId;
    session.on("entry", ({ entry }) => {
      newest = entry.id;
    });
    let again = 0;
    // All begin behind the same entry, so that one of them comes first and the others have a conflict.
    say("begins");
    await new Promise((resolve) => process.stdin.once("data", resolve));
    process.stdin.destroy();
    for (let at = 0; at < Number(count); ) {
      try {
        if (at > 0 || again > 0) await session.refresh();
        if (session.leafId !== newest) await session.branch(newest);
        say((await session.appendMessage(userMessage(`${name} ${at}`), { after: newest })).id);
        at++;
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        again++;
      }
    }
    await session.close();
    say(`again ${again}`);
  },
  /** Appends messages that follow whatever another writer wrote first, never trying again, and says each id. */
  async appendFollowing(dir = "", id = "", name = "", count = "0") {
    const session = await fileSessionStore({ dir, lockWaitMs: 120_000 }).open(id, { mode: "write" });
    for (let at = 0; at < Number(count); at++)
      say((await session.appendMessage(userMessage(`${name} ${at}`), { conflict: "follow" })).id);
    await session.close();
  },
  /**
   * Appends without rest, where a host is given as a process there would, and says each id that was acknowledged, and
   * `conflict` where another writer came first.
   */
  async restless(dir = "", id = "", host = "") {
    if (host !== "") os.hostname = () => host;
    syncBuiltinESMExports();
    const session = await fileSessionStore({ dir, durability: "os" }).open(id, { mode: "write" });
    session.on("diagnostic", ({ code }) => say(`diagnostic ${code}`));
    for (let at = 0; ; at++) {
      try {
        say((await session.appendMessage(userMessage(`restless ${at}`))).id);
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        say("conflict");
      }
    }
  },
};

/** A disk whose calls take some milliseconds now and then, so that others come in between any two of them. */
function slow(disk: FileSystem): FileSystem {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const sleep = () => {
    if (Math.random() < 0.5) Atomics.wait(cell, 0, 0, Math.random() * 12);
  };
  const call =
    <A extends unknown[], R>(act: (...args: A) => R) =>
    (...args: A) => {
      sleep();
      const result = act(...args);
      sleep();
      return result;
    };
  return {
    ...disk,
    open: call(disk.open),
    stat: call(disk.stat),
    rename: call(disk.rename),
    link: call(disk.link),
    unlink: call(disk.unlink),
  };
}

/** A link holds its text from the moment in which it is made, so that one without a text needs no thought. */
function enter(path: string): void {
  for (;;) {
    try {
      symlinkSync(String(process.pid), path);
      return;
    } catch {
      // Whoever was killed inside left its mark.
      const pid = Number(readlinkSync(path));
      if (isAlive({ pid, host: "", bootId: "", startTime: "" }))
        say(`violated by ${process.pid}, which met ${pid}`);
      unlinkSync(path);
    }
  }
}
