/**
 * The shapes of the Agent Client Protocol: updates of a replay, and rows of `session/list`. Tests compare
 * them with the types of `@agentclientprotocol/sdk` 2.4.0.
 */

import type { SessionSummary } from "../../session/index.js";
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

/** A session as a client lists it. */
export type AcpSessionInfo = {
  sessionId: string;
  cwd: string;
  title?: string;
  /** ISO 8601. */
  updatedAt: string;
};

/**
 * A session of a store's list as a row of `session/list`. The title is the session's title or name, else the
 * start of the first message. The reply's `nextCursor` is the `cursor` of the last summary.
 */
export function acpSessionInfo(summary: SessionSummary): AcpSessionInfo {
  const { id, cwd, modified, firstMessage } = summary;
  const title = summary.title || summary.name || firstMessage;
  return { sessionId: id, cwd, ...(title ? { title } : {}), updatedAt: modified };
}
