// Sessions of the Agents SDK on node:sqlite, in a process of its own: node tasks/agents-sdk.mjs TASK INPUT
import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { imageOf, openDatabase } from "./node-sqlite.mjs";
import { task } from "./task.mjs";

const { agents, file } = JSON.parse(process.argv[3] ?? "{}");
const { Sessions } = await import(pathToFileURL(`${agents}/node_modules/agents/dist/sessions/index.js`).href);

/** Its part of the storage of a Durable Object, on a file. @param {string} file */
function storageOn(file) {
  const database = openDatabase(file);
  /** @type {Map<string, import("node:sqlite").StatementSync>} */
  const prepared = new Map();
  /** @type {Map<string, unknown>} */
  const values = new Map();
  return {
    /** @param {string} key */
    get: async (key) => values.get(key),
    /** @param {string} key @param {unknown} value */
    put: async (key, value) => values.set(key, value),
    sql: {
      /** @param {string} sql @param {any[]} params */
      exec(sql, ...params) {
        const statement = prepared.get(sql) ?? database.prepare(sql);
        prepared.set(sql, statement);
        const bound = params.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
        const rows = statement
          .all(...bound)
          .map((row) =>
            Object.fromEntries(
              Object.entries(row).map(([name, value]) => [
                name,
                value instanceof Uint8Array ? value.slice().buffer : value,
              ]),
            ),
          );
        return Object.assign(rows, { rowsWritten: 1 });
      },
    },
    /** @param {() => unknown} run */
    transactionSync(run) {
      if (database.isTransaction) return run();
      database.exec("begin immediate");
      try {
        const result = run();
        database.exec("commit");
        return result;
      } catch (error) {
        database.exec("rollback");
        throw error;
      }
    },
  };
}

const storage = storageOn(file);
const events = { emit: () => undefined };
class SessionsOnFile extends Sessions {
  get lifecycle() {
    return { storage, events, ready: async () => undefined };
  }
}
const sessions = new SessionsOnFile();
await sessions.onStart();
const session = sessions.session("bench");

await task({
  /** @param {{ texts: readonly string[], count: number, warm: number }} input */
  async append({ texts, count, warm }, timed) {
    let number = 0;
    /** @param {number} most */
    const append = async (most) => {
      for (let i = 0; i < most; i++) {
        const text = texts[number % texts.length];
        await session.appendMessage({ id: `m${number++}`, role: "user", parts: [{ type: "text", text }] });
      }
    };
    await append(warm);
    await timed(() => append(count));
    return count;
  },

  async history(_, timed) {
    return timed(async () => (await session.getHistory()).length);
  },

  /** @param {{ messages: number }} input */
  async window({ messages }, timed) {
    return timed(async () => {
      let count = 0;
      for await (const _ of session.history({ newestFirst: true })) if (++count === messages) break;
      return count;
    });
  },

  /** @param {{ images: number, imageBytes: number }} input */
  async images({ images, imageBytes }, timed) {
    await timed(async () => {
      for (let at = 0; at < images; at++) {
        const url = `data:image/png;base64,${Buffer.from(imageOf(at, imageBytes)).toString("base64")}`;
        const parts = [
          { type: "text", text: `image ${at}` },
          { type: "file", mediaType: "image/png", url },
        ];
        await session.appendMessage({ id: `i${at}`, role: "user", parts });
      }
    });
    return images;
  },

  async bytes() {
    storage.sql.exec("vacuum");
    storage.sql.exec("pragma wal_checkpoint(truncate)");
    return statSync(file).size;
  },
});
