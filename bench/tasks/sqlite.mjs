// Sessions in node:sqlite in the benchmarks, in a process of its own: node tasks/sqlite.mjs TASK INPUT
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { imageOf, openDatabase } from "./node-sqlite.mjs";
import { task } from "./task.mjs";

const { built, file, search, synchronous } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile")} */
const { sessionStore, userMessage } = await import(`${built}/index.js`);
/** @type {typeof import("sessile/attachments")} */
const { ingest } = await import(`${built}/attachments.js`);
/** @type {typeof import("sessile/node")} */
const { fileBlobStore } = await import(`${built}/node.js`);
/** @type {typeof import("sessile/sqlite")} */
const { databaseDriver, sqliteSessionBackend } = await import(`${built}/sqlite.js`);

const driver = databaseDriver(openDatabase(file, synchronous));
const backend = sqliteSessionBackend({ driver, search });
await backend.migrate();
const store = sessionStore(backend);
const id = "bench";

/** Bytes of the files below a directory. @param {string} dir */
const bytesIn = (dir) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

async function compacted() {
  await driver.all("vacuum", []);
  await driver.all("pragma wal_checkpoint(truncate)", []);
  return statSync(file).size;
}

await task({
  /** @param {{ texts: readonly string[], count: number, warm: number }} input */
  async append({ texts, count, warm }, timed) {
    const session = await store.create({ cwd: "/work/project", id });
    let number = 0;
    /** @param {number} most */
    const append = async (most) => {
      for (let i = 0; i < most; i++)
        await session.appendMessage(userMessage(String(texts[number++ % texts.length])));
    };
    await append(warm);
    await timed(() => append(count));
    await session.close();
    return count;
  },

  async history(_, timed) {
    return timed(async () => {
      const session = await store.open(id);
      return (await session.context()).items.length;
    });
  },

  /** @param {{ messages: number }} input */
  async window({ messages }, timed) {
    return timed(async () => (await store.recent(id, { messages })).entries.length);
  },

  /** @param {{ images: number, imageBytes: number }} input */
  async images({ images, imageBytes }, timed) {
    const dir = `${file}-blobs`;
    const blobs = fileBlobStore({ dir });
    await timed(async () => {
      const session = await store.create({ cwd: "/work/project", id });
      for (let at = 0; at < images; at++) {
        const image = await ingest({ bytes: imageOf(at, imageBytes), name: `${at}.png` }, { blobs });
        await session.appendMessage(userMessage(`image ${at}`, image));
      }
      await session.close();
    });
    return images;
  },

  async bytes() {
    return (await compacted()) + bytesIn(`${file}-blobs`);
  },

  /** Sessions whose messages have words of their own. @param {{ sessions: number, perSession: number, texts: readonly string[] }} input */
  async fill({ sessions, perSession, texts }, timed) {
    return timed(async () => {
      for (let at = 0; at < sessions; at++) {
        const session = await store.create({ cwd: "/work/project", id: `s${at}` });
        const drafts = Array.from({ length: perSession }, (_, index) => ({
          type: /** @type {const} */ ("message"),
          message: userMessage(
            `${texts[(at + index) % texts.length]} needle${at * perSession + index}x ${index === 0 && at % 100 === 7 ? "amber" : ""}`,
          ),
        }));
        await session.append(drafts);
        await session.close();
      }
      return sessions;
    });
  },

  /** The number of hits. @param {{ text: string, limit: number }} input */
  async find({ text, limit }, timed) {
    for await (const _ of store.list({ limit: 1 })) break;
    return timed(async () => {
      let hits = 0;
      for await (const _ of store.search({ text, limit })) hits++;
      return hits;
    });
  },
});
