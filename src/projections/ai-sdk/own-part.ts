import { isRecord } from "../../internal/shape.js";
import type { AiSdkAssistantMessage } from "./messages.js";

/** A part of what the model said. */
export type AssistantPart = AiSdkAssistantMessage["content"][number];

/** Whether an opaque block is a part that a message of the AI SDK can hold: a file, or what the provider ran itself. */
export function isOwnPart(data: unknown): data is AssistantPart {
  if (!isRecord(data)) return false;
  const { type, toolCallId, toolName } = data;
  switch (type) {
    case "file":
      return typeof data.data === "string" && typeof data.mediaType === "string";
    case "tool-call":
      return data.providerExecuted === true && typeof toolCallId === "string" && typeof toolName === "string";
    case "tool-result":
      return isRecord(data.output) && typeof toolCallId === "string" && typeof toolName === "string";
    default:
      return false;
  }
}
