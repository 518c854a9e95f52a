import { writeSync } from "node:fs";
import { userMessage } from "../../src/content/index.js";
import { SessileError } from "../../src/errors/index.js";
import { nodeDisk } from "../../src/session/node/disk.js";
import { fileSessionStore } from "../../src/session/node/file-store.js";
import { FileLock } from "../../src/session/node/lock.js";
import type { Session } from "../../src/session/types.js";

/** What a test has another process do; it is run by `startChild`, which see. */
const roles: Readonly<Record<string, (...args: string[]) => Promise<void>>> = {
  /** Takes a lock and keeps it until it is killed. */
  async hold(path = "") {
    const lock = new FileLock(nodeDisk, path, { waitMs: 5000, idleMs: 20, foreignMs: 30_000 });
    await lock.with(() => {
      say("held");
      return new Promise<void>((resolve) => {
        process.stdin.once("data", () => resolve());
      });
    });
    lock.release();
    process.stdin.destroy();
    say("released");
  },
  /** Appends messages, each a deliberate branch where another writer came first, and says each id that was acknowledged. */
  async append(dir = "", id = "", name = "", count = "0") {
    const session = await fileSessionStore({ dir, lockWaitMs: 20_000 }).open(id, { mode: "write" });
    for (let at = 0; at < Number(count); at++) say(await appended(session, `${name} ${at}`));
    await session.close();
  },
  /** Appends until it is killed, one at a time or several, and says each id that was acknowledged. */
  async forever(dir = "", id = "") {
    const session = await fileSessionStore({ dir }).open(id, { mode: "write" });
    for (let at = 0; ; at++) {
      const texts = at % 3 === 0 ? ["a", "b".repeat(at % 5000), "c"] : [`${at}`];
      const entries = await session.append(
        texts.map((text) => ({ type: "message", message: userMessage(text) })),
      );
      say(entries.map((entry) => entry.id).join("\n"));
    }
  },
  /** Renames a session again and again while another process appends to it. */
  async rename(dir = "", id = "", count = "0") {
    const store = fileSessionStore({ dir, lockWaitMs: 20_000 });
    for (let at = 0; at < Number(count); at++) {
      const session = await store.open(id, { mode: "write" });
      await session.updateInfo({ title: `title ${at}` });
      await session.close();
      say(`title ${at}`);
    }
  },
};

async function appended(session: Session, text: string): Promise<string> {
  for (;;) {
    try {
      return (await session.appendMessage(userMessage(text))).id;
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
    }
  }
}

/** At once, so that what was said is what was known when the process died. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

const [role = "", ...args] = process.argv.slice(2);
await roles[role]?.(...args);
