// The frameworks as the benchmarks load them: from here, where they are installed.
export * as messages from "@langchain/core/messages";
export * as langgraph from "@langchain/langgraph";
export * as checkpoints from "@langchain/langgraph-checkpoint";
export { MemorySession } from "@openai/agents-core";
