// What this library does with messages in the benchmarks, in a process of its own: node tasks/messages.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { countsOf } from "./request-counts.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile")} */
const { project, toBody } = await import(`${built}/index.js`);
/** @type {typeof import("sessile/anthropic")} */
const { anthropicMessages } = await import(`${built}/anthropic.js`);
/** @type {typeof import("sessile")} */
const { contextFrom } = await import(`${built}/index.js`);

const model = "claude-opus-5-5";

/** @param {readonly import("sessile").Message[]} messages */
const requestOf = async (messages) => {
  const projection = await project(contextFrom(messages), anthropicMessages({ model }));
  return Buffer.concat([...toBody(projection, { model, max_tokens: 4096 })]);
};

/**
 * @param {{ path: string, warm: number }} input
 * @param {<T>(act: () => T) => Promise<T>} timed
 */
async function request({ path, warm }, timed) {
  /** @type {readonly import("sessile").Message[]} */
  const messages = JSON.parse(readFileSync(path, "utf8"));
  // What is compiled on the way counts for neither side.
  for (let i = 0; i < warm; i++) await requestOf(messages.slice(0, 401));
  return countsOf((await timed(() => requestOf(messages))).toString());
}

await task({ request, unchecked: request });
