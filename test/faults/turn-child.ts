// A program for turn.test.ts: DIR. It runs a turn of 20 calls on a session in files, and finishes one that was left.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { runTurn, tool } from "sessile/turn";
import { type Said, scriptedModel } from "../support/turn.js";

const [dir = ""] = process.argv.slice(2);
const store = fileSessionStore({ dir, durability: "os" });
const latest = await store.latest();
const session = latest
  ? await store.open(latest, { mode: "write" })
  : await store.create({ id: "s", cwd: dir });
const calls = Array.from({ length: 20 }, (_, at) => [at < 10 ? "one" : "many", `c${at}`] as const);
const model = scriptedModel(({ value }): Said => {
  return JSON.stringify(value.messages).includes('"c0"') ? "All of them ran, each of them once." : calls;
});
const run = async (_input: unknown, { call }: { readonly call: { readonly id: string } }) => {
  appendFileSync(join(dir, "ran.txt"), `${call.id}\n`);
  await setTimeout(2);
  return `ran ${call.id}`;
};
const tools = ["one", "many"].map((name) =>
  tool({ name, description: name, parameters: { type: "object" }, parallel: name === "many", run }),
);
const message = latest === undefined ? { message: userMessage("Go.") } : {};
const { reason } = await runTurn(session, { model, tools, reply: { batchChars: 1 }, ...message });
await session.close();
console.log(reason);
