// Searches and recent pages in the benchmarks, in a process of its own: node tasks/search.mjs TASK INPUT
import pg from "pg";
import { task } from "./task.mjs";

const { built, url, dir, search } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/postgres")} */
const { postgresSessionStore } = await import(`${built}/postgres.js`);
/** @type {typeof import("sessile/node")} */
const { fileSessionStore } = await import(`${built}/node.js`);
const pool = url === undefined ? undefined : new pg.Pool({ connectionString: url, max: 4 });
const store =
  pool === undefined ? fileSessionStore({ dir }) : postgresSessionStore({ db: pool, prepare: true, search });

await task({
  /** @param {{ id: string, messages: readonly import("sessile").Message[], count: number, warm: number }} input */
  async append({ id, messages, count, warm }, timed) {
    const session = await store.create({ cwd: "/work/project", id });
    /** @param {number} most */
    const append = async (most) => {
      for (let i = 0; i < most; i++)
        await session.appendMessage(/** @type {any} */ (messages[i % messages.length]));
    };
    await append(warm);
    await timed(() => append(count));
    await session.close();
    await pool?.end();
    return count;
  },

  /** The number of hits. @param {{ text: string, limit: number }} input */
  async find({ text, limit }, timed) {
    for await (const _ of store.list({ limit: 1 })) break;
    const found = await timed(async () => {
      let hits = 0;
      for await (const _ of store.search({ text, limit })) hits++;
      return hits;
    });
    await pool?.end();
    return found;
  },

  /** @param {{ id: string, location?: string, messages: number }} input */
  async recent({ id, location, messages }, timed) {
    for await (const _ of store.list({ limit: 1 })) break;
    const page = await timed(() => store.recent({ id, location }, { messages }));
    await pool?.end();
    return page.entries.length;
  },

  /** The same by opening the session. @param {{ id: string, location?: string, messages: number }} input */
  async opened({ id, location, messages }, timed) {
    for await (const _ of store.list({ limit: 1 })) break;
    const count = await timed(async () => {
      const session = await store.open({ id, location });
      const page = await session.recent({ messages });
      await session.close();
      return page.entries.length;
    });
    await pool?.end();
    return count;
  },
});
