/** LangGraph's own suite for checkpointers, on every store. */
import * as module from "@langchain/langgraph-checkpoint";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { type LanggraphCheckpointer, langgraphCheckpointer } from "sessile/adapters/langgraph";
import { storesOf } from "./stores.js";

for (const [name, open] of storesOf()) {
  const initializer = {
    checkpointerName: `sessile on ${name}`,
    createCheckpointer: async () => langgraphCheckpointer(module, await open()),
    destroyCheckpointer: (checkpointer: LanggraphCheckpointer<typeof module>) => checkpointer.close(),
  };
  validate<LanggraphCheckpointer<typeof module>>(initializer);
  deltaChannelHistoryTests(initializer);
}
