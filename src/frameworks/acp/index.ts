/**
 * Sessions for clients of the Agent Client Protocol: the reply to `session/load`, and rows of `session/list`.
 *
 * @module adapters/acp
 */
export { type AcpReplayOptions, acpReplay, type ToolCallView } from "./replay.js";
export type { AcpContent, AcpToolContent, AcpToolKind, AcpToolLocation, AcpUpdate } from "./updates.js";
export { type AcpSessionInfo, acpSessionInfo } from "./updates.js";
