// Adapters in the benchmarks, in a process of its own: node tasks/adapters.mjs TASK INPUT
import { addItems, checkpoints, converse } from "./adapter-work.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/langgraph")} */
const { langgraphCheckpointer } = await import(`${built}/langgraph.js`);
/** @type {typeof import("sessile/openai-agents")} */
const { openaiAgentsSession } = await import(`${built}/openai-agents.js`);
/** @type {typeof import("sessile")} */
const { memorySessionStore } = await import(`${built}/index.js`);
/** @type {typeof import("sessile")} */
const { memoryBlobStore } = await import(`${built}/index.js`);
/** @type {typeof import("sessile/node")} */
const { fileSessionStore } = await import(`${built}/node.js`);
/** @type {typeof import("sessile/node")} */
const { fileBlobStore } = await import(`${built}/node.js`);

/** Stores in memory, or in files without waiting for the disk. @param {string | undefined} dir */
const storesIn = (dir) =>
  dir === undefined
    ? { sessions: memorySessionStore(), blobs: memoryBlobStore() }
    : {
        sessions: fileSessionStore({ dir: `${dir}/sessions`, durability: "os" }),
        blobs: fileBlobStore({ dir: `${dir}/blobs`, durability: "os" }),
      };

/** @param {ReturnType<typeof storesIn>} stores @param {string} partition */
async function bytesOf({ sessions, blobs }, partition) {
  let bytes = 0;
  for await (const { size } of sessions.list({ partition })) bytes += size;
  for await (const { size } of blobs.list()) bytes += size;
  return bytes;
}

await task({
  /** @param {{ turns: number, dir?: string }} input */
  async langgraph({ turns, dir }, timed) {
    const checkpointer = langgraphCheckpointer(checkpoints, storesIn(dir));
    return timed(() => converse(checkpointer, turns));
  },
  /** @param {{ turns: number }} input */
  async langgraphBytes({ turns }, timed) {
    const stores = storesIn(undefined);
    await timed(() => converse(langgraphCheckpointer(checkpoints, stores), turns));
    return bytesOf(stores, "langgraph");
  },
  /** @param {{ count: number, dir?: string }} input */
  async openai({ count, dir }, timed) {
    const session = openaiAgentsSession({ ...storesIn(dir), sessionId: "one" });
    return timed(() => addItems(session, count));
  },
  /** @param {{ count: number }} input */
  async openaiBytes({ count }, timed) {
    const stores = storesIn(undefined);
    await timed(() => addItems(openaiAgentsSession({ ...stores, sessionId: "one" }), count));
    return bytesOf(stores, "openai-agents");
  },
});
