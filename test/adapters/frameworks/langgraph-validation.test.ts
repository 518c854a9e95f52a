/** LangGraph's own suite for checkpointers, on every store. */
import * as module from "@langchain/langgraph-checkpoint";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { type LanggraphCheckpointer, langgraphCheckpointer, type Serializer } from "sessile/langgraph";
import { expectTypeOf, it } from "vitest";
import { storesOf } from "./stores.js";

it("has the types of LangGraph", () => {
  expectTypeOf<LanggraphCheckpointer<typeof module>>().toExtend<module.BaseCheckpointSaver>();
  expectTypeOf<module.SerializerProtocol>().toExtend<Serializer>();
});

for (const [name, open] of storesOf()) {
  const initializer = {
    checkpointerName: `sessile on ${name}`,
    createCheckpointer: async () => langgraphCheckpointer(module, await open()),
    destroyCheckpointer: (checkpointer: LanggraphCheckpointer<typeof module>) => checkpointer.close(),
  };
  validate<LanggraphCheckpointer<typeof module>>(initializer);
  deltaChannelHistoryTests(initializer);
}
