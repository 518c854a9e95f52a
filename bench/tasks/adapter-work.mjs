// What both sides of the benchmarks of adapters do: the same graph and the same items.
// Installed there alone: npm ci --prefix test/adapters --ignore-scripts --omit=optional
const modules = new URL("../../test/adapters/frameworks/modules.mjs", import.meta.url);
const { checkpoints, langgraph, MemorySession, messages } = await import(String(modules));

export { checkpoints, MemorySession };

const image = `data:image/png;base64,${Buffer.alloc(100_000, 7).toString("base64")}`;
const reply = "a sentence of some words, as a model writes it. ".repeat(4);

/**
 * A conversation of so many turns with one image, through a graph of two nodes.
 *
 * @param {any} checkpointer
 * @param {number} turns
 * @returns {Promise<number>} the number of checkpoints
 */
export async function converse(checkpointer, turns) {
  const { AIMessage, HumanMessage } = messages;
  const { END, MessagesAnnotation, START, StateGraph } = langgraph;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("plan", () => ({}))
    .addNode("model", (/** @type {any} */ { messages: list }) => ({
      messages: [new AIMessage({ id: `a${list.length}`, content: `${list.length}: ${reply}` })],
    }))
    .addEdge(START, "plan")
    .addEdge("plan", "model")
    .addEdge("model", END)
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "t" } };
  for (let turn = 0; turn < turns; turn++) {
    const content = turn === 0 ? [{ type: "image_url", image_url: { url: image } }] : `question ${turn}`;
    await graph.invoke({ messages: [new HumanMessage({ id: `h${turn}`, content })] }, config);
  }
  let count = 0;
  for await (const _ of checkpointer.list(config, { limit: 10_000 })) count++;
  return count;
}

/**
 * Adds items one by one, each awaited, and reads them once.
 *
 * @param {any} session
 * @param {number} count
 * @returns {Promise<number>} the number of items
 */
export async function addItems(session, count) {
  for (let at = 0; at < count; at++)
    await session.addItems([{ role: "user", content: `message ${at}: ${reply}` }]);
  return (await session.getItems()).length;
}
