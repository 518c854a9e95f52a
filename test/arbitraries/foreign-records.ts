import fc from "fast-check";
import { encodeUtf8 } from "../support/plain-values.js";
import { jsonValue, text } from "./values.js";

/** Names of members that formats of agents read. */
const names = [
  ...["type", "id", "uuid", "parentUuid", "sessionId", "timestamp", "message", "role", "content", "model"],
  ...[
    "payload",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "tool_use_id",
    "is_error",
    "usage",
    "text",
  ],
  ...[
    "thinking",
    "signature",
    "isSidechain",
    "agentId",
    "isMeta",
    "toolUseResult",
    "subtype",
    "isCompactSummary",
  ],
  ...[
    "logicalParentUuid",
    "compactMetadata",
    "leafUuid",
    "summary",
    "version",
    "cwd",
    "requestId",
    "stop_reason",
  ],
  ...["replacement_history", "num_turns", "encrypted_content", "image_url", "source", "data", "mimeType"],
  ...[
    "$set",
    "$rewindTo",
    "messages",
    "projectHash",
    "startTime",
    "lastUpdated",
    "toolCalls",
    "args",
    "result",
  ],
  ...[
    "systemPayload",
    "compressedHistory",
    "customTitle",
    "parentSessionId",
    "usageMetadata",
    "toolCallResult",
  ],
  ...["event", "origin", "toolCalls", "toolCallId", "stepUuid", "part", "count"],
  ...["thoughts", "tokens", "parts", "functionCall", "functionResponse", "inlineData", "info", "parentID"],
  ...[
    "sessionID",
    "messageID",
    "callID",
    "state",
    "status",
    "metadata",
    "attachments",
    "url",
    "mime",
    "time",
  ],
  ...["revert", "tail_start_id", "record_type", "items", "session", "kind", "ordinal", "history_base"],
];

/** Texts that formats of agents know. */
const words = [
  ...[
    "user",
    "assistant",
    "system",
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
  ],
  ...[
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "local_shell_call",
  ],
  ...["token_count", "thread_rolled_back", "turn_aborted", "user_message", "item_completed", "world_state"],
  ...[
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "image",
    "redacted_thinking",
    "input_text",
    "output_text",
  ],
  ...["input_image", "summary", "attachment", "compact_boundary", "microcompact_boundary", "progress"],
  ...["gemini", "info", "warning", "error", "tool", "file", "compaction", "completed", "running", "pending"],
  ...["context.append_message", "context.append_loop_event", "context.undo", "step.begin", "tool.call"],
  ...["chat_compression", "custom_title", "rewind", "parent_session", "mid_turn_user_message", "model"],
  ...["base64", "image/png", "iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo=", "ses_1", "msg_1", "prt_1"],
  ...["2026-01-01T00:00:00.000Z", "../../etc/passwd", "__proto__", "a", "b", "c"],
];

const leaf: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...words) },
  { weight: 1, arbitrary: fc.constantFrom(null, true, false, 0, -1, 1e21, 1_700_000_000_000) },
  { weight: 1, arbitrary: text },
  { weight: 1, arbitrary: jsonValue },
);

/** A value in which agents' names and texts stand anywhere. */
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "soup" },
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 3, depthIdentifier: "soup" }) },
    {
      weight: 3,
      arbitrary: fc.dictionary(fc.constantFrom(...names), tie("value"), {
        maxKeys: 6,
        depthIdentifier: "soup",
      }),
    },
  ),
})).value;

/** A record with names and texts of all agents, in any place. */
const soupRecord: fc.Arbitrary<unknown> = fc.dictionary(fc.constantFrom(...names), value, {
  maxKeys: 9,
});

/** Files of soup: lines of records, with damage between them, or one JSON object. */
export const soupFile: fc.Arbitrary<Uint8Array> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(
        fc.oneof(
          { weight: 8, arbitrary: soupRecord.map((record) => encodeUtf8(JSON.stringify(record))) },
          { weight: 1, arbitrary: fc.uint8Array({ maxLength: 20 }) },
          {
            weight: 1,
            arbitrary: fc
              .constantFrom("", "{", "null", "[1]", '{"__proto__":{"type":"user"}}')
              .map(encodeUtf8),
          },
        ),
        { maxLength: 8 },
      )
      .map((lines) => new Uint8Array(lines.flatMap((line) => [...line, 10]))),
  },
  { weight: 1, arbitrary: soupRecord.map((record) => encodeUtf8(JSON.stringify(record, null, 2))) },
);
