/**
 * A checkpointer for LangGraph: threads as sessions, each value stored once.
 *
 * @module langgraph
 */
export type { AdapterOptions } from "../shared/options.js";
export { type LanggraphCheckpointer, type LanggraphOptions, langgraphCheckpointer } from "./checkpointer.js";
export type { Serializer } from "./types.js";
