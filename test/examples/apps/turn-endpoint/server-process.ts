// A server in a process of its own, to kill and to measure. Prints its address as JSON.
import { setImmediate } from "node:timers/promises";
import { assistantMessage, messageText } from "sessile";
import type { Model } from "../../../../examples/apps/turn-endpoint/claude.js";
import { startTurnServer } from "../../../../examples/apps/turn-endpoint/server.js";

const [dir = ""] = process.argv.slice(2);
const maker = { provider: "anthropic", model: "claude-opus-5-5" };
const pieces = 1024;
const piece = "x".repeat(2 ** 16);

/** Floods with 64 MiB, calls a tool that never ends, streams without an end, or answers. */
const model: Model = {
  async generate(context, { onText }) {
    const last = context.items.at(-1)?.message;
    const asked = last === undefined ? "" : messageText(last);
    if (asked.includes("hang")) {
      return assistantMessage(maker, { type: "toolCall", id: "toolu_1", name: "hang", arguments: {} });
    }
    if (asked.includes("talk")) {
      onText?.("Well, ");
      await new Promise(() => {});
    }
    for (let at = 0; asked.includes("flood") && at < pieces; at++) {
      onText?.(piece);
      await setImmediate();
    }
    return assistantMessage(maker, "That is all.");
  },
};

const tools = new Map([["hang", () => new Promise<never>(() => {})]]);
const { origin, port, token } = await startTurnServer({ dir, model, maker, tools });
console.log(JSON.stringify({ origin, port, token }));
