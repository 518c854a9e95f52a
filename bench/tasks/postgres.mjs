// What this library does on PostgreSQL in the benchmarks, in a process of its own: node tasks/postgres.mjs TASK INPUT
import pg from "pg";
import { task } from "./task.mjs";
import { readTurns } from "./turns.mjs";

const { built, url, connections, prepare } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/postgres")} */
const { postgresSessionStore } = await import(`${built}/postgres.js`);
const pool = new pg.Pool({ connectionString: url, max: connections ?? 4 });
const store = postgresSessionStore({ db: pool, prepare: prepare ?? true });

await task({
  /** @param {{ id: string, messages: readonly import("sessile").Message[], count: number, warm: number, writers: number }} input */
  async append({ id, messages, count, warm, writers }, timed) {
    const sessions = await Promise.all(
      Array.from({ length: writers }, (_, writer) =>
        store.create({ cwd: "/work/project", id: `${id}-${writer}` }),
      ),
    );
    /** @param {number} most */
    const append = (most) =>
      Promise.all(
        sessions.map(async (session) => {
          for (let i = 0; i < most; i++)
            await session.appendMessage(/** @type {any} */ (messages[i % messages.length]));
        }),
      );
    await append(warm);
    await timed(() => append(count));
    const sizes = await Promise.all(sessions.map(async (session) => (await session.tree()).size));
    for (const session of sessions) await session.close();
    await pool.end();
    return sizes.reduce((sum, size) => sum + size, 0);
  },

  /** To a session that is there, whose lines are read before. @param {{ id: string, messages: readonly import("sessile").Message[], count: number, warm: number }} input */
  async appendTo({ id, messages, count, warm }, timed) {
    const session = await store.open(id, { mode: "write" });
    /** @param {number} most */
    const append = async (most) => {
      for (let i = 0; i < most; i++)
        await session.appendMessage(/** @type {any} */ (messages[i % messages.length]));
    };
    await append(warm);
    await timed(() => append(count));
    await session.close();
    await pool.end();
    return count;
  },

  /** @param {{ limit: number, warm: boolean }} input */
  async list({ limit, warm }, timed) {
    const page = async () => {
      const ids = [];
      for await (const { id } of store.list({ limit })) ids.push(id);
      return ids;
    };
    if (warm) await page();
    const ids = await timed(page);
    await pool.end();
    return ids.length;
  },

  /** Four messages a turn, each awaited; an image is in the blob store first. @param {{ id: string, dir: string, turns: string }} input */
  async converse({ id, dir, turns }, timed) {
    const { fileBlobStore } = await import(`${built}/node.js`);
    const { ingest } = await import(`${built}/attachments.js`);
    const { userMessage, assistantMessage, toolResult } = await import(`${built}/index.js`);
    const blobs = fileBlobStore({ dir });
    const session = await store.create({ cwd: "/work/project", id });
    const model = { provider: "made", model: "made" };
    const all = readTurns(turns);
    await timed(async () => {
      for (const { question, image, call, output, answer } of all) {
        const attached =
          image === undefined ? [] : [await ingest({ bytes: image, name: "screen.png" }, { blobs })];
        await session.appendMessage(userMessage(question, ...attached));
        const block = { type: "toolCall", id: call.id, name: call.name, arguments: call.args };
        await session.appendMessage(assistantMessage(model, answer.slice(0, 80), block));
        await session.appendMessage(toolResult(block, output));
        await session.appendMessage(assistantMessage(model, answer));
      }
    });
    const { size } = await session.tree();
    await session.close();
    await pool.end();
    return size;
  },

  /** The context, and the bytes of its images. @param {{ id: string, dir: string, warm: boolean }} input */
  async resume({ id, dir, warm }, timed) {
    const { fileBlobStore } = await import(`${built}/node.js`);
    const blobs = fileBlobStore({ dir });
    const load = async () => {
      const session = await store.open(id);
      const { items } = await session.context();
      let images = 0;
      for (const { message } of /** @type {any} */ (items)) {
        for (const block of Array.isArray(message?.content) ? message.content : []) {
          if (block.resource !== undefined) images += (await blobs.get(block.resource.blob))?.length ?? 0;
        }
      }
      await session.close();
      return [items.length, images];
    };
    if (warm) await load();
    const found = await timed(load);
    await pool.end();
    return found;
  },
});
