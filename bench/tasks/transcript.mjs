// A transcript of Claude Code of some size, for both sides of a benchmark.
import { readFileSync } from "node:fs";

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const words = "const answer = compute(input, { retries: 3 }); // as the caller asked\n".repeat(84);

/**
 * @param {{ bytes: number, path?: string }} input `path`: a transcript to repeat with ids of its own each time
 * @returns {Uint8Array}
 */
export function transcript({ bytes, path }) {
  const text = path === undefined ? undefined : readFileSync(path, "utf8").trimEnd();
  const parts = [];
  for (let at = 0, size = 0; size < bytes; at++) {
    const part = text === undefined ? turn(at) : again(text, at);
    parts.push(part);
    size += part.length + 1;
  }
  return new TextEncoder().encode(`${parts.join("\n")}\n`);
}

/**
 * @param {string} text
 * @param {number} at
 */
function again(text, at) {
  const tag = at.toString(16).padStart(8, "0");
  return text.replace(uuid, (id) => tag + id.slice(8)).replace(/(toolu|msg)_01/g, `$1_${tag}`);
}

/**
 * A question, a reply with two calls, their results, and an answer.
 *
 * @param {number} at
 */
function turn(at) {
  /** @param {number} line */
  const id = (line) => `${at.toString(16).padStart(8, "0")}-0000-4000-8000-${String(line).padStart(12, "0")}`;
  const envelope = {
    isSidechain: false,
    userType: "external",
    cwd: "/home/user/project",
    sessionId: id(99),
    version: "2.1.330",
    gitBranch: "main",
  };
  const usage = {
    input_tokens: 10,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 9000,
    output_tokens: 200,
  };
  /** @type {object[]} */
  const lines = [];
  /** @param {object} fields */
  const add = (fields) => {
    const before =
      lines.length === 0
        ? at === 0
          ? null
          : `${(at - 1).toString(16).padStart(8, "0")}-0000-4000-8000-000000000006`
        : id(lines.length - 1);
    const timestamp = new Date(1_760_000_000_000 + at * 10_000 + lines.length).toISOString();
    lines.push({ parentUuid: before, ...envelope, ...fields, uuid: id(lines.length), timestamp });
  };
  /** @param {object} block @param {string} message */
  const reply = (block, message) => {
    const fields = {
      id: `msg_${at}_${message}`,
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content: [block],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage,
    };
    add({ type: "assistant", message: fields, requestId: `req_${at}_${message}` });
  };
  /** @param {string} call */
  const result = (call) => {
    const content = [{ tool_use_id: call, type: "tool_result", content: words }];
    const file = {
      filePath: "/home/user/project/src/index.ts",
      content: words,
      numLines: 84,
      startLine: 1,
      totalLines: 84,
    };
    add({ type: "user", message: { role: "user", content }, toolUseResult: { type: "text", file } });
  };
  add({ type: "user", message: { role: "user", content: `Question ${at}: why does the answer differ?` } });
  reply({ type: "text", text: "Let me read the two files. ".repeat(10) }, "a");
  for (const call of [`toolu_${at}_1`, `toolu_${at}_2`])
    reply(
      { type: "tool_use", id: call, name: "Read", input: { file_path: "/home/user/project/src/index.ts" } },
      "a",
    );
  for (const call of [`toolu_${at}_1`, `toolu_${at}_2`]) result(call);
  reply({ type: "text", text: "The first call retries, the second does not. ".repeat(20) }, "b");
  return lines.map((line) => JSON.stringify(line)).join("\n");
}
