// What this library does in the benchmarks, in a process of its own: node tasks/sessile.mjs TASK INPUT
import { closeSync, openSync, readSync } from "node:fs";
import { converse, maxTokens, model, system } from "./answered.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @returns {Promise<typeof import("sessile/node")>} */
const load = () => import(`${built}/node.js`);
const { fileSessionStore, openSessionFile, readEntriesBackwards } =
  process.argv[2] === "load" ? /** @type {any} */ ({}) : await load();

await task({
  /** Imports what keeps sessions. */
  async load(_input, timed) {
    return typeof (await timed(load)).fileSessionStore;
  },

  /** @param {{ path: string }} input */
  async open({ path }, timed) {
    const context = await timed(async () => {
      const session = await openSessionFile(path);
      return session.context();
    });
    return context.items.length;
  },

  /** @param {{ path: string }} input */
  async openOnly({ path }, timed) {
    const session = await timed(() => openSessionFile(path));
    return [(await session.tree()).size, session.leafId];
  },

  /** @param {{ path: string }} input */
  async newest({ path }, timed) {
    const { entries } = await timed(() => readEntriesBackwards(path, { limit: 100 }));
    return entries.length;
  },

  /** @param {{ dir: string, messages: readonly import("sessile").Message[], count: number, warm: number, isAwaited?: boolean }} input */
  async append({ dir, messages, count, warm, isAwaited = true }, timed) {
    const session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: "/work/project" });
    for (const message of messages) await session.appendMessage(message);
    /** @param {number} at */
    const one = (at) => session.appendMessage(/** @type {any} */ (messages[at % messages.length]));
    /** @param {number} most */
    const append = async (most) => {
      if (!isAwaited) await Promise.all(Array.from({ length: most }, (_, at) => one(at)));
      else for (let i = 0; i < most; i++) await one(i);
    };
    await append(warm);
    await timed(() => append(count));
    await session.close();
    return (await session.tree()).size;
  },

  /** @param {{ dir: string, messages: readonly import("sessile").Message[], count: number, at: number, warm: number }} input */
  async appendTogether({ dir, messages, count, at, warm }, timed) {
    const session = await fileSessionStore({ dir, durability: "disk" }).create({ cwd: "/work/project" });
    /** @param {number} most */
    const append = async (most) => {
      for (let i = 0; i < most; i += at) {
        const group = Array.from({ length: at }, (_, j) => messages[(i + j) % messages.length]);
        await Promise.all(group.map((message) => session.appendMessage(/** @type {any} */ (message))));
      }
    };
    // What is compiled on the way is no part of a rate.
    await append(warm);
    await timed(() => append(count));
    await session.close();
    return (await session.tree()).size;
  },

  /** A bare scan for line ends, as fast as there is one: the floor of opening. @param {{ path: string }} input */
  async scan({ path }, timed) {
    const chunk = Buffer.allocUnsafe(1 << 20);
    return timed(() => {
      let lines = 0;
      const file = openSync(path, "r");
      for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk)) {
        for (let at = chunk.indexOf(10); at >= 0 && at < count; at = chunk.indexOf(10, at + 1)) lines++;
      }
      closeSync(file);
      return lines;
    });
  },

  /** @param {{ path: string, messages: readonly import("sessile").Message[], count: number }} input */
  async appendContext({ path, messages, count }, timed) {
    const session = await openSessionFile(path, { mode: "write", durability: "os" });
    let items = (await session.context()).items.length;
    await timed(async () => {
      for (let i = 0; i < count; i++) {
        await session.appendMessage(/** @type {any} */ (messages[i % messages.length]));
        items += (await session.context()).items.length;
      }
    });
    await session.close();
    return items;
  },

  /** @param {{ path: string, dir: string, isContinued: boolean, counts?: boolean }} input */
  async requests({ path, dir, isContinued, counts = false }, timed) {
    /** @type {typeof import("sessile")} */
    const { project, toBody, toolResult, userMessage } = await import(`${built}/index.js`);
    /** @type {typeof import("sessile/anthropic")} */
    const { anthropicMessages, anthropicStream } = await import(`${built}/anthropic.js`);
    const session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: "/work/project" });
    await session.appendMessage({ role: "system", content: system, timestamp: 1 });
    const target = anthropicMessages({ model, continue: isContinued });
    const sent = await timed(() =>
      converse(
        path,
        (text) => session.appendMessage(userMessage(text)),
        (call, text) => session.appendMessage(toolResult(/** @type {any} */ (call), text)),
        async (reply) => {
          const projection = await project(await session.context(), target);
          const pieces = [...toBody(projection, { model, max_tokens: maxTokens, stream: true })];
          await session.appendMessage(await anthropicStream(reply(), { model }).message());
          return { body: Buffer.concat(pieces), isContinued: projection.continues !== undefined };
        },
      ),
    );
    await session.close();
    return counts ? sent : [sent.requests, sent.continued];
  },

  /** @param {{ path: string, messages: readonly import("sessile").Message[], warm: number }} input */
  async plan({ path, messages, warm }, timed) {
    /** @type {typeof import("sessile/compaction")} */
    const { planCompaction, rollingSummary } = await import(`${built}/compaction.js`);
    const session = await openSessionFile(path, { mode: "write", durability: "os" });
    await session.context();
    const options = { strategy: rollingSummary(), window: 200_000 };
    const plan = async () => planCompaction(await session.context(), options);
    for (let i = 0; i < warm; i++) {
      await session.appendMessage(/** @type {any} */ (messages[i % messages.length]));
      await plan();
    }
    await session.appendMessage(/** @type {any} */ (messages[warm % messages.length]));
    const planned = await timed(plan);
    await session.close();
    if (planned === undefined) throw new Error("nothing to compact");
    const { tokensBefore, files, parts } = planned;
    const modified = files.files.filter(({ operations }) => operations.some((action) => action !== "read"));
    const previous = parts.flatMap((part) => part.previous ?? []).join("");
    return [tokensBefore, files.files.length, modified.length, previous.length];
  },

  /** @param {{ dir: string, cwd: string, limit: number }} input */
  async list({ dir, cwd, limit }, timed) {
    const page = await timed(async () => {
      const summaries = [];
      for await (const summary of fileSessionStore({ dir }).list({ cwd, limit })) summaries.push(summary);
      return summaries;
    });
    return page.map(({ firstMessage }) => firstMessage).length;
  },
});
