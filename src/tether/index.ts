/**
 * Frames between a host and an agent, with images in both directions: checks, limits, a ring, MCP tools, and
 * the way into a session and out of it. No sockets.
 *
 * @module tether
 */
export { tetherLimits } from "../content/limits/index.js";
export {
  type CheckedFrame,
  type CheckedUserMessage,
  checkFrame,
  type FrameImage,
  readFrame,
} from "./check.js";
export type {
  AssistantDeltaFrame,
  AssistantDoneFrame,
  SequencedFrame,
  TetherFrame,
  TetherImage,
  TetherSession,
  TetherUser,
  UserMessageFrame,
  UserMessagePayload,
} from "./frame.js";
export { readTetherSend, tetherReadResult, tetherSendTool } from "./mcp.js";
export { type FrameQuery, type FrameReading, FrameRing, type FrameRingOptions } from "./ring.js";
export {
  assistantDelta,
  assistantDone,
  finishTurn,
  type OutgoingImage,
  outgoingImages,
  receiveMessage,
  tetherImage,
  tetherSessionId,
  userMessageFrame,
} from "./send.js";
export { windowContext } from "./window.js";
