// What LangGraph's PostgresSaver does in the benchmarks, in a process of its own: node tasks/langgraph.mjs TASK INPUT
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { task } from "./task.mjs";
import { readTurns } from "./turns.mjs";

const { url } = JSON.parse(process.argv[3] ?? "{}");
const saver = PostgresSaver.fromConnString(url, { schema: "langgraph" });

await task({
  /** One checkpoint a turn, as a graph with the channel `messages` makes it. @param {{ id: string, turns: string }} input */
  async converse({ id, turns }, timed) {
    await saver.setup();
    const all = readTurns(turns);
    /** @type {import("@langchain/core/messages").BaseMessage[]} */
    const messages = [];
    await timed(async () => {
      /** @type {any} */
      let config = { configurable: { thread_id: id, checkpoint_ns: "" } };
      for (const [at, { question, image, call, output, answer }] of all.entries()) {
        const picture = image && {
          type: "image_url",
          image_url: { url: `data:image/png;base64,${Buffer.from(image).toString("base64")}` },
        };
        const text = { type: "text", text: question };
        messages.push(new HumanMessage({ content: /** @type {any} */ (picture ? [text, picture] : [text]) }));
        messages.push(
          new AIMessage({
            content: answer.slice(0, 80),
            tool_calls: [{ id: call.id, name: call.name, args: call.args, type: "tool_call" }],
          }),
        );
        messages.push(new ToolMessage({ content: output, tool_call_id: call.id, name: call.name }));
        messages.push(new AIMessage({ content: answer }));
        const version = at + 1;
        const checkpoint = {
          ...emptyCheckpoint(),
          id: uuid6(at),
          channel_values: { messages },
          channel_versions: { messages: version },
        };
        const metadata = /** @type {any} */ ({ source: "loop", step: at, parents: {} });
        config = await saver.put(config, checkpoint, metadata, { messages: version });
      }
    });
    await saver.end();
    return messages.length;
  },

  /** The newest checkpoint, and the bytes of its images. @param {{ id: string, warm: boolean }} input */
  async resume({ id, warm }, timed) {
    const load = async () => {
      const tuple = await saver.getTuple({ configurable: { thread_id: id, checkpoint_ns: "" } });
      const messages = /** @type {any[]} */ (tuple?.checkpoint.channel_values.messages ?? []);
      let images = 0;
      for (const { content } of messages) {
        for (const block of Array.isArray(content) ? content : []) {
          if (block.type !== "image_url") continue;
          images += Buffer.from(block.image_url.url.split(",")[1], "base64").length;
        }
      }
      return [messages.length, images];
    };
    if (warm) await load();
    const found = await timed(load);
    await saver.end();
    return found;
  },
});
