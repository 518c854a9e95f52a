/** The session of OpenAI Agents beside the SDK's own MemorySession. */
import {
  Agent,
  type AgentInputItem,
  MemorySession,
  Runner,
  type Session as SdkSession,
  type SessionHistoryRewriteAwareSession,
  type SessionHistoryTransactionAwareSession,
  tool,
} from "@openai/agents-core";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { type OpenAiAgentsSession, openaiAgentsSession } from "sessile/openai-agents";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type Stores, storesOf } from "./stores.js";

type Own = OpenAiAgentsSession<AgentInputItem>;

const image = (seed: string) => `data:image/png;base64,${Buffer.alloc(50_000, seed).toString("base64")}`;
const sessionOn = (stores: Stores, sessionId = "user/1"): Own =>
  openaiAgentsSession<AgentInputItem>({ ...stores, sessionId });

it("has the types of the SDK", () => {
  expectTypeOf<Own>().toExtend<SdkSession>();
  expectTypeOf<Own>().toExtend<SessionHistoryRewriteAwareSession>();
  expectTypeOf<Own>().toExtend<SessionHistoryTransactionAwareSession>();
  expectTypeOf<Parameters<SessionHistoryTransactionAwareSession["applyHistoryTransaction"]>[0]>().toExtend<
    Parameters<Own["applyHistoryTransaction"]>[0]
  >();
  expectTypeOf<Parameters<SessionHistoryRewriteAwareSession["applyHistoryMutations"]>[0]>().toExtend<
    Parameters<Own["applyHistoryMutations"]>[0]
  >();
});

it("keeps the order of the calls", async () => {
  const [sessions, blobs] = [memorySessionStore(), memoryBlobStore()];
  // Blobs take longer to store than entries without any.
  const put = blobs.put.bind(blobs);
  blobs.put = async (...args) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return put(...args);
  };
  const own = sessionOn({ sessions, blobs, partition: "test" });
  const [large, small] = [image("a"), "small"].map((content) => ({ role: "user" as const, content }));
  await Promise.all([large, small].map((item) => own.addItems([item as AgentInputItem])));
  expect(await own.getItems()).toEqual([large, small]);
  await own.close();
});

describe.each(storesOf())("on %s", (name, open) => {
  it("runs have the history of MemorySession, with an image in and an image from a tool", async () => {
    const stores = await open();
    const [memory, own] = [new MemorySession({ sessionId: "user/1" }), sessionOn(stores)];
    for (const session of [memory, own]) {
      const look = tool({
        name: "look",
        description: "Returns an image.",
        parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
        strict: true,
        execute: () => ({ type: "image" as const, image: image("tool") }),
      });
      const model = new ScriptedModel([
        [functionCall("look", {}, { callId: "c1", id: "f1" })],
        [assistantMessage("A red square.", { id: "m1" })],
        [assistantMessage("It was red.", { id: "m2" })],
      ]);
      const runner = new Runner({ tracingDisabled: true });
      const agent = new Agent({ name: "Seer", model, tools: [look] });
      const content = [
        { type: "input_text" as const, text: "What is this?" },
        { type: "input_image" as const, image: image("user") },
      ];
      await runner.run(agent, [{ role: "user", content }], { session });
      const { finalOutput } = await runner.run(agent, "Which colour?", { session });
      expect(finalOutput).toBe("It was red.");
      model.assertComplete();
    }
    const expected = await memory.getItems();
    expect(expected.length).toBe(6);
    expect(await own.getItems()).toEqual(expected);
    await own.close();
    expect(await sessionOn(stores).getItems()).toEqual(expected);
    let blobs = 0;
    for await (const { size } of stores.blobs.list()) blobs += size;
    expect(blobs).toBe(100_000);
  });

  it("any sequence of calls has the outcomes of MemorySession", async () => {
    const stores = await open();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
        const memory = new MemorySession();
        let own = sessionOn(stores, `random/${count++}`);
        for (const make of calls) {
          if (make === "reopen") {
            await own.close();
            own = sessionOn(stores, await own.getSessionId());
            continue;
          }
          const [expected, actual] = [await outcome(make, memory), await outcome(make, own)];
          expect(actual).toEqual(expected);
          expect(await own.getItems()).toEqual(await memory.getItems());
        }
        await own.close();
      }),
      { numRuns: name === "memory" ? 200 : 20 },
    );
  });
});

/** A call of either session; the same change for both. */
type Call = (session: MemorySession | Own, history: readonly AgentInputItem[]) => Promise<unknown>;

const word = fc.constantFrom("a", "b", "c");
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes("__proto__"));
const item: fc.Arbitrary<AgentInputItem> = fc.oneof(
  word.map((content): AgentInputItem => ({ role: "user", content })),
  word.map(
    (seed): AgentInputItem => ({ role: "user", content: [{ type: "input_image", image: image(seed) }] }),
  ),
  fc.tuple(word, json).map(
    ([callId, args]): AgentInputItem => ({
      type: "function_call",
      callId,
      name: "see",
      arguments: JSON.stringify(args),
      providerData: { args },
    }),
  ),
  fc.tuple(word, word).map(
    ([callId, output]): AgentInputItem => ({
      type: "function_call_result",
      callId,
      name: "see",
      status: "completed",
      output,
    }),
  ),
);
const items = fc.array(item, { maxLength: 3 });
const operationId = fc.constantFrom("one", "two", " ");

const call: fc.Arbitrary<Call | "reopen"> = fc.oneof(
  {
    weight: 4,
    arbitrary: items.map(
      (added): Call =>
        (session) =>
          session.addItems(added),
    ),
  },
  fc.constantFrom<Call>(
    (session) => session.popItem(),
    (session) => session.clearSession(),
  ),
  fc.constantFrom(-1, 0, 1, 2, 30).map(
    (limit): Call =>
      (session) =>
        session.getItems(limit),
  ),
  items.map(
    (replacement): Call =>
      async (session) => {
        if (!(session instanceof MemorySession)) return session.replaceHistoryWithCompaction(replacement);
        await session.clearSession();
        return session.addItems(replacement);
      },
  ),
  fc.array(fc.tuple(word, word), { maxLength: 2 }).map(
    (pairs): Call =>
      async (session) =>
        session.applyHistoryMutations({
          mutations: pairs.map(([callId, other]) => ({
            type: "replace_function_call",
            callId,
            replacement: { type: "function_call", callId: other, name: "other", arguments: "{}" },
          })),
        }),
  ),
  fc.tuple(operationId, items).map(
    ([id, added]): Call =>
      async (session) =>
        session.applyHistoryTransaction({
          operationId: id,
          transaction: { type: "append_items", items: added },
        }),
  ),
  fc.tuple(operationId, fc.nat({ max: 3 }), items, fc.boolean()).map(
    ([id, length, replacement, isWrong]): Call =>
      async (session, history) => {
        const end = length === 0 ? [] : history.slice(-length);
        const expectedSuffix = isWrong ? [...end, { role: "user" as const, content: "other" }] : end;
        return session.applyHistoryTransaction({
          operationId: id,
          transaction: { type: "replace_suffix", expectedSuffix, replacement },
        });
      },
  ),
  fc.constant("reopen" as const),
);

/** What a call gives, or the first sentence of its error. */
async function outcome(make: Call, session: MemorySession | Own): Promise<unknown> {
  try {
    return { value: await make(session, await session.getItems()) };
  } catch (error) {
    return { error: String(error instanceof Error ? error.message : error).split(".")[0] };
  }
}
