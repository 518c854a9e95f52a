/** Compiled graphs that write every checkpoint to MemorySaver and to a session: both have the same history. */
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import * as module from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { langgraphCheckpointer } from "sessile/langgraph";
import { expect, it } from "vitest";
import { type Stores, storesOf } from "./stores.js";

type Saver = module.BaseCheckpointSaver;
type Tuple = module.CheckpointTuple;

/** A MemorySaver that passes on all that it is given. */
class Tee extends module.MemorySaver {
  constructor(readonly other: Saver) {
    super();
  }

  override async put(
    config: RunnableConfig,
    checkpoint: module.Checkpoint,
    metadata: module.CheckpointMetadata,
    newVersions: Record<string, number | string> = {},
  ): Promise<RunnableConfig> {
    // At the same time: a reducer changes the messages while one of the two waits.
    const puts = [
      this.other.put(config, checkpoint, metadata, newVersions),
      super.put(config, checkpoint, metadata),
    ];
    const [own, memory] = await Promise.all(puts);
    expect(own).toEqual(memory);
    return memory as RunnableConfig;
  }

  override async putWrites(...call: Parameters<Saver["putWrites"]>): Promise<void> {
    await Promise.all([this.other.putWrites(...call), super.putWrites(...call)]);
  }
}

const image = Buffer.alloc(100_000, "image").toString("base64");

const Memory = Annotation.Root({
  ...MessagesAnnotation.spec,
  facts: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  // Bytes alone in a channel are lost by MemorySaver.
  inner: Annotation<{ bytes: Uint8Array; none: undefined; tags: Set<string> }>(),
  approved: Annotation<boolean>(),
});

/** A graph with a subgraph, parallel tasks, a message with an image, and an interrupt. */
function compile(checkpointer: Saver) {
  const sub = new StateGraph(Memory)
    .addNode("look", () => ({ facts: ["looked"] }))
    .addNode("tell", ({ facts }) => ({ facts: [`told ${facts.length}`] }))
    .addEdge(START, "look")
    .addEdge("look", "tell")
    .compile();
  return new StateGraph(Memory)
    .addNode("model", ({ messages }) => ({
      messages: [
        new AIMessage({
          content: "call",
          tool_calls: [{ id: `c${messages.length}`, name: "see", args: {} }],
        }),
      ],
      inner: { bytes: new Uint8Array([messages.length]), none: undefined, tags: new Set(["a"]) },
    }))
    .addNode("tool", ({ messages }) => {
      const call = messages.at(-1) as AIMessage;
      const content = [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }];
      return { messages: [new ToolMessage({ tool_call_id: call.tool_calls?.[0]?.id ?? "", content })] };
    })
    .addNode("sub", sub)
    .addNode("part", ({ facts }: { facts: string[] }) => ({ facts: [`part of ${facts[0]}`] }))
    .addNode("ask", () => ({ approved: interrupt("approve?") }))
    .addEdge(START, "model")
    .addEdge("model", "tool")
    .addEdge("tool", "sub")
    .addConditionalEdges("sub", ({ facts }) =>
      facts.slice(0, 2).map((fact) => new Send("part", { facts: [fact] })),
    )
    .addEdge("part", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
}

async function all(saver: Saver, config: RunnableConfig): Promise<Tuple[]> {
  const tuples: Tuple[] = [];
  for await (const tuple of saver.list(config)) tuples.push(tuple);
  return tuples;
}

it.each(storesOf())("a graph has the history of MemorySaver on %s", async (_, open) => {
  const stores = await open();
  const own = langgraphCheckpointer(module, stores);
  const memory = new Tee(own);
  const graph = compile(memory);
  const config = { configurable: { thread_id: "user/1 Ä" } };
  for (const text of ["one", "two"]) {
    await graph.invoke({ messages: [new HumanMessage(text)] }, config);
    await graph.invoke(new Command({ resume: text === "one" }), config);
  }
  const fresh = langgraphCheckpointer(module, stores);
  const expected = await all(memory, config);
  expect(expected.length).toBeGreaterThan(15);
  expect(await all(own, config)).toEqual(expected);
  expect(await all(fresh, config)).toEqual(expected);
  for (const { config: each } of expected)
    expect(await fresh.getTuple(each)).toEqual(await memory.getTuple(each));
  expect(await fresh.getTuple(config)).toEqual(await memory.getTuple(config));
  const [{ size } = { size: 0 }, ...rest] = await blobsOf(stores);
  expect([size, rest]).toEqual([100_000, []]);
  // The graph goes on from the other saver.
  const states = await Promise.all([memory, fresh].map((saver) => compile(saver).getState(config)));
  expect(states[1]).toEqual(states[0]);
  expect(states[1]?.values.messages).toHaveLength(6);
  await Promise.all([own.close(), fresh.close()]);
});

it.each(storesOf())("two updates of one checkpoint keep their own values on %s", async (_, open) => {
  const stores = await open();
  const own = langgraphCheckpointer(module, stores);
  const graph = new StateGraph(Memory)
    .addNode("step", () => ({ facts: ["step"] }))
    .addEdge(START, "step")
    .addEdge("step", END)
    .compile({ checkpointer: own });
  const thread = { configurable: { thread_id: "1" } };
  await graph.invoke({ facts: ["start"] }, thread);
  const { config } = await graph.getState(thread);
  const left = await graph.updateState(config, { facts: ["left"] });
  const right = await graph.updateState(config, { facts: ["right"] });
  await graph.invoke({ facts: ["on"] }, left);
  const { sessions, partition } = stores;
  await own.close();
  const reader = langgraphCheckpointer(module, stores);
  const factsOf = async (of: RunnableConfig) => (await reader.getTuple(of))?.checkpoint.channel_values.facts;
  expect(await factsOf(config)).toEqual(["start", "step"]);
  expect(await factsOf(left)).toEqual(["start", "step", "left"]);
  expect(await factsOf(right)).toEqual(["start", "step", "right"]);
  expect(await factsOf(thread)).toEqual(["start", "step", "left", "on", "step"]);
  await reader.close();
  // The tree of the session is the tree of the thread.
  const session = await sessions.open("1", { partition });
  const parents = new Map<string, string | undefined>();
  for (const { node } of (await session.tree()).walk()) {
    if (!node.id.startsWith("c/")) continue;
    const above = (await session.tree()).path(node.parentId).filter(({ id }) => id.startsWith("c/"));
    parents.set(node.id.slice("c//".length), above.at(-1)?.id.slice("c//".length));
  }
  const tuples = await all(reader, thread);
  expect(tuples).toHaveLength(parents.size);
  for (const { checkpoint, parentConfig } of tuples)
    expect(parents.get(checkpoint.id)).toBe(parentConfig?.configurable?.checkpoint_id);
  await reader.close();
});

it("bytes of a channel stay as they were put, whatever the caller does with its own", async () => {
  const own = langgraphCheckpointer(module, { sessions: memorySessionStore(), partition: "test" });
  const thread = { configurable: { thread_id: "bytes" } };
  const bytes = Uint8Array.of(1, 2, 3);
  const checkpoint = { ...module.emptyCheckpoint(), channel_values: { bytes } };
  await own.put(thread, checkpoint, { source: "update", step: 1, parents: {} }, { bytes: 1 });
  const loaded = async () => (await own.getTuple(thread))?.checkpoint.channel_values.bytes as Uint8Array;
  bytes.fill(9);
  const first = await loaded();
  expect(first).toEqual(Uint8Array.of(1, 2, 3));
  first.fill(8);
  expect(await loaded()).toEqual(Uint8Array.of(1, 2, 3));
  await own.close();
});

it("a thread that was deleted, or an append that failed, leaves no value to rely on", async () => {
  const [sessions, blobs, partition] = [memorySessionStore(), memoryBlobStore(), "test"];
  let fails = false;
  const failing: Stores["blobs"] = Object.create(blobs, {
    put: {
      value: async (bytes: Uint8Array) => {
        if (fails) throw new Error("the disk is full");
        return blobs.put(bytes);
      },
    },
  });
  const own = langgraphCheckpointer(module, { sessions, blobs: failing, partition });
  const thread = { configurable: { thread_id: "again" } };
  const messages = [{ text: "one" }, { text: "two" }];
  const put = (list: object[]) => {
    const checkpoint = { ...module.emptyCheckpoint(), channel_values: { messages: list } };
    return own.put(thread, checkpoint, { source: "update", step: 1, parents: {} }, { messages: 1 });
  };
  const stored = async () => {
    const fresh = langgraphCheckpointer(module, { sessions, blobs, partition });
    return (await fresh.getTuple(thread))?.checkpoint.channel_values.messages;
  };
  await put(messages);
  await own.deleteThread("again");
  await put([...messages, { text: "three" }]);
  expect(await stored()).toEqual([...messages, { text: "three" }]);
  fails = true;
  const more = [...messages, { text: "three" }, { text: "four" }, { image }];
  await expect(put(more)).rejects.toThrow("the disk is full");
  fails = false;
  await put([...more, { text: "five" }]);
  expect(await stored()).toEqual([...more, { text: "five" }]);
});

it("special writes take the place of earlier ones, others stay as they are, as in MemorySaver", async () => {
  const channel = fc.constantFrom("values", "other", "__error__", "__interrupt__", "__resume__");
  const call = fc.record({
    task: fc.constantFrom("one", "two"),
    writes: fc.array(fc.tuple(channel, fc.constantFrom("a", "b")), { minLength: 1, maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 5 }), async (calls) => {
      const sessions = memorySessionStore();
      const own = langgraphCheckpointer(module, { sessions, partition: "test" });
      const memory = new module.MemorySaver();
      const checkpoint = module.emptyCheckpoint();
      const thread = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: checkpoint.id } };
      for (const saver of [own, memory])
        await saver.put(thread, checkpoint, { source: "update", step: 1, parents: {} }, {});
      const pending = async (saver: Pick<Saver, "getTuple">) =>
        ((await saver.getTuple(thread))?.pendingWrites ?? []).map((write) => JSON.stringify(write)).sort();
      for (const { task, writes } of calls) {
        for (const saver of [own, memory]) await saver.putWrites(thread, writes, task);
        expect(await pending(own)).toEqual(await pending(memory));
      }
      // A retry of the last call writes nothing.
      const entries = async () => {
        for await (const { id } of sessions.list({ partition: "test" }))
          return (await (await sessions.open(id, { partition: "test" })).tree()).size;
      };
      const before = await entries();
      const last = calls.at(-1) as (typeof calls)[0];
      await own.putWrites(thread, last.writes, last.task);
      expect(await entries()).toBe(before);
      await own.close();
    }),
    { numRuns: 40 },
  );
});

async function blobsOf({ blobs }: Stores): Promise<{ size: number }[]> {
  const stored: { size: number }[] = [];
  for await (const stat of blobs.list()) stored.push(stat);
  return stored;
}
