/**
 * The updates of the Agent Client Protocol that a replay sends, as far as they are used. Tests hold them
 * against the types of `@agentclientprotocol/sdk` 2.4.0.
 */

/** A content block. */
export type AcpContent =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "resource_link"; uri: string; name: string };

/** A part of a tool's result. */
export type AcpToolContent = { type: "content"; content: AcpContent };

/** A kind of tool, which clients show as an icon. */
export type AcpToolKind =
  | "read"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "execute"
  | "think"
  | "fetch"
  | "switch_mode"
  | "other";

/** A file that a tool works on. */
export type AcpToolLocation = {
  path: string;
  /** From 0. */
  line?: number;
};

/** The `update` of a `session/update` notification. */
export type AcpUpdate =
  | {
      sessionUpdate: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk";
      /** The id of the entry. */
      messageId: string;
      content: AcpContent;
    }
  | {
      sessionUpdate: "tool_call";
      toolCallId: string;
      title: string;
      kind?: AcpToolKind;
      locations?: AcpToolLocation[];
      status: "pending";
      rawInput: unknown;
    }
  | {
      sessionUpdate: "tool_call_update";
      toolCallId: string;
      status: "completed" | "failed";
      content?: AcpToolContent[];
      rawOutput?: unknown;
    };
