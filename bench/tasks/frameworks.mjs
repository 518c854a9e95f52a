// Frameworks with their own memory in the benchmarks, in a process of its own: node tasks/frameworks.mjs TASK INPUT
import { mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { addItems, checkpoints, converse, MemorySession } from "./adapter-work.mjs";
import { task } from "./task.mjs";

/** A session in a file that is written whole each time, as examples for files do. */
class RewrittenFile {
  #path;
  written = 0;

  /** @param {string} dir */
  constructor(dir) {
    mkdirSync(dir, { recursive: true });
    this.#path = `${dir}/session.json`;
  }

  async getItems() {
    return JSON.parse(await readFile(this.#path, "utf8").catch(() => "[]"));
  }

  /** @param {readonly object[]} items */
  async addItems(items) {
    const text = JSON.stringify([...(await this.getItems()), ...items]);
    this.written += text.length;
    await writeFile(this.#path, text);
  }
}

/** The bytes that MemorySaver keeps. @param {any} saver */
function bytesOf({ storage, writes }) {
  let bytes = 0;
  for (const namespaces of Object.values(storage))
    for (const checkpoints of Object.values(namespaces))
      for (const [checkpoint, metadata] of Object.values(checkpoints))
        bytes += checkpoint.length + metadata.length;
  for (const tasks of Object.values(writes))
    for (const [, , value] of Object.values(tasks)) bytes += value.length;
  return bytes;
}

await task({
  /** @param {{ turns: number }} input */
  async langgraph({ turns }, timed) {
    return timed(() => converse(new checkpoints.MemorySaver(), turns));
  },
  /** @param {{ turns: number }} input */
  async langgraphBytes({ turns }, timed) {
    const saver = new checkpoints.MemorySaver();
    await timed(() => converse(saver, turns));
    return bytesOf(saver);
  },
  /** @param {{ count: number, dir?: string }} input */
  async openai({ count, dir }, timed) {
    const session = dir === undefined ? new MemorySession() : new RewrittenFile(dir);
    return timed(() => addItems(session, count));
  },
  /** The bytes that are written in all. @param {{ count: number, dir: string }} input */
  async openaiBytes({ count, dir }, timed) {
    const session = new RewrittenFile(dir);
    await timed(() => addItems(session, count));
    return session.written;
  },
});
