/** The items of OpenAI's hosted tools, and their checks. */

import { isRecord } from "../../core/shape.js";
import { clientMembers } from "./client-calls.js";
import { hasMembers, type Members } from "./round-trip-metadata.js";

/** A search of the web that the API did. */
export interface OpenaiWebSearch {
  type: "web_search_call";
  id: string;
  status: "in_progress" | "searching" | "completed" | "failed" | "incomplete";
  action:
    | { type: "search"; query?: string; queries?: string[]; sources?: { type: "url"; url: string }[] }
    | { type: "open_page"; url?: string | null }
    | { type: "find_in_page"; pattern: string; url: string };
}

/** A search of uploaded files that the API did. */
export interface OpenaiFileSearch {
  type: "file_search_call";
  id: string;
  queries: string[];
  status: "in_progress" | "searching" | "completed" | "incomplete" | "failed";
  results?:
    | {
        attributes?: Record<string, string | number | boolean> | null;
        file_id?: string;
        filename?: string;
        score?: number;
        text?: string;
      }[]
    | null;
}

/** Code that the API ran. */
export interface OpenaiCodeInterpreter {
  type: "code_interpreter_call";
  id: string;
  code: string | null;
  container_id: string;
  outputs: ({ type: "logs"; logs: string } | { type: "image"; url: string })[] | null;
  status: "in_progress" | "completed" | "incomplete" | "interpreting" | "failed";
}

/** An image that the API made. */
export interface OpenaiImageGeneration {
  type: "image_generation_call";
  id: string;
  /** Base64. */
  result: string | null;
  status: "in_progress" | "completed" | "generating" | "failed";
}

/** Tools of an MCP server, as the API listed them. */
export interface OpenaiMcpTools {
  type: "mcp_list_tools";
  id: string;
  server_label: string;
  tools: { name: string; input_schema: unknown; annotations?: unknown; description?: string | null }[];
  error?: string | null;
}

/** A call of an MCP server that the API did. */
export interface OpenaiMcpCall {
  type: "mcp_call";
  id: string;
  server_label: string;
  name: string;
  arguments: string;
  approval_request_id?: string | null;
  error?:
    | { type: "mcp_protocol_error" | "http_error"; code: number; message: string }
    | { type: "mcp_tool_execution_error"; content: unknown }
    | null;
  output?: string | null;
  status?: "in_progress" | "completed" | "incomplete" | "calling" | "failed";
}

/** The earlier conversation, as the API compacted it. */
export interface OpenaiCompaction {
  type: "compaction";
  id?: string | null;
  encrypted_content: string;
}

/**
 * A search for tools: run by the API if `execution` is `server`, answered by the client if it is `client`.
 */
export interface OpenaiToolSearch {
  type: "tool_search_call";
  id?: string | null;
  call_id?: string | null;
  execution?: "server" | "client";
  arguments: unknown;
  status?: "in_progress" | "completed" | "incomplete" | null;
}

/** A tool that a search found. */
export interface OpenaiFoundTool {
  type: "function";
  name: string;
  description?: string | null;
  parameters: Record<string, unknown> | null;
  strict: boolean | null;
  defer_loading?: boolean;
}

/**
 * The tools that a search found, valid for the rest of the conversation. Tools of other types are sent
 * unchanged.
 */
export interface OpenaiFoundTools {
  type: "tool_search_output";
  id?: string | null;
  call_id?: string | null;
  execution?: "server" | "client";
  tools: OpenaiFoundTool[];
  status?: "in_progress" | "completed" | "incomplete" | null;
}

/** A program that the model wrote, which calls tools. */
export interface OpenaiProgram {
  type: "program";
  id: string;
  call_id: string;
  code: string;
  fingerprint: string;
}

/** The result of a program. */
export interface OpenaiProgramOutput {
  type: "program_output";
  id: string;
  call_id: string;
  result: string;
  status: "completed" | "incomplete";
}

/** An item of a tool that the API ran itself. It needs no answer and is sent back unchanged. */
export type OpenaiHostedItem =
  | OpenaiWebSearch
  | OpenaiFileSearch
  | OpenaiCodeInterpreter
  | OpenaiImageGeneration
  | OpenaiMcpTools
  | OpenaiMcpCall
  | OpenaiCompaction
  | OpenaiToolSearch
  | OpenaiFoundTools
  | OpenaiProgram
  | OpenaiProgramOutput;

/** Required members by type; other members are the API's own. */
const members = {
  web_search_call: { id: "string", status: "string", action: "object" },
  file_search_call: { id: "string", status: "string", queries: "object" },
  code_interpreter_call: { id: "string", status: "string", container_id: "string" },
  image_generation_call: { id: "string", status: "string" },
  mcp_list_tools: { id: "string", server_label: "string", tools: "object" },
  mcp_call: { id: "string", server_label: "string", name: "string", arguments: "string" },
  compaction: { encrypted_content: "string" },
  tool_search_call: { arguments: "object" },
  tool_search_output: { tools: "object" },
  program: { id: "string", call_id: "string", code: "string", fingerprint: "string" },
  program_output: { id: "string", call_id: "string", result: "string" },
} satisfies Record<OpenaiHostedItem["type"], Members>;

/**
 * Calls that need an answer, and the type of the answer. If a reply has both, the API answered the call
 * itself.
 */
const answers: Readonly<Record<string, string>> = {
  function_call: "function_call_output",
  custom_tool_call: "custom_tool_call_output",
  shell_call: "shell_call_output",
  local_shell_call: "local_shell_call_output",
  apply_patch_call: "apply_patch_call_output",
  computer_call: "computer_call_output",
  mcp_approval_request: "mcp_approval_response",
};

/** Those calls and their answers. */
const answeredMembers: Readonly<Record<string, Members>> = {
  ...clientMembers,
  function_call: { call_id: "string", name: "string", arguments: "string" },
  custom_tool_call: { call_id: "string", name: "string", input: "string" },
  function_call_output: { call_id: "string" },
  custom_tool_call_output: { call_id: "string" },
  shell_call_output: { call_id: "string", output: "object" },
  local_shell_call_output: { id: "string", output: "string" },
  apply_patch_call_output: { call_id: "string", status: "string" },
  computer_call_output: { call_id: "string", output: "object" },
  mcp_approval_response: { approval_request_id: "string" },
};

/** Whether an item is half of a pair of a call and its answer. */
export function wantsAnswer(data: unknown): boolean {
  return isRecord(data) && typeof data.type === "string" && Object.hasOwn(answeredMembers, data.type);
}

/** Among the items of one reply, the calls with a later answer, and these answers. */
export function answeredItems<T>(items: readonly T[], readData: (item: T) => unknown): ReadonlySet<T> {
  const calls = new Map<string, T>();
  const found = new Set<T>();
  for (const item of items) {
    const data = readData(item);
    if (!hasMembers(data, answeredMembers) || !isRecord(data)) continue;
    const { type, id, call_id, approval_request_id } = data;
    const own = type === "mcp_approval_request" ? id : (call_id ?? approval_request_id ?? id);
    const answer = answers[String(type)];
    if (answer !== undefined) {
      calls.set(`${answer} ${own}`, item);
      continue;
    }
    const call = calls.get(`${type} ${own}`);
    if (call !== undefined) found.add(call).add(item);
  }
  return found;
}

/**
 * Those members without an id, and without those that Codex leaves out too. It sends stored items as it reads
 * them (seen in requests of 0.58 to 0.169, 2026-11-23).
 */
const unnamedMembers: Readonly<Record<string, Members>> = {
  ...Object.fromEntries(
    Object.entries(members as Readonly<Record<string, Members>>).map(([type, { id: _id, ...rest }]) => [
      type,
      rest,
    ]),
  ),
  web_search_call: { status: "string" },
};

/** Whether an item came without an id. */
export function isUnnamed(data: unknown): boolean {
  return isRecord(data) && (data.id === undefined || data.id === null || data.id === "");
}

/** Types that are sent back in another way, or not at all. */
const otherTypes: ReadonlySet<string> = new Set(["reasoning", "item_reference", "function", "custom"]);

/**
 * Whether a stored block is an item that can be sent back on its own. OpenAI's own items must have their
 * members; other providers leave some out: xAI's searches have `arguments` in place of `action`. An item of
 * a type that this library does not know is sent back as it came.
 */
export function isHostedItem(data: unknown, isOpenai: boolean): data is OpenaiHostedItem {
  if (!isRecord(data) || typeof data.type !== "string" || otherTypes.has(data.type)) return false;
  const { type, role, content } = data;
  // A conversation that the API compacted has the user's messages as well.
  if (type === "message") return (role === "assistant" || role === "user") && Array.isArray(content);
  // Tools that a program of the API added; the official client's type allows only the role `developer`.
  if (type === "additional_tools") return role === "developer";
  if (Object.hasOwn(answeredMembers, type)) return hasMembers(data, answeredMembers);
  if (!Object.hasOwn(members, type)) return true;
  if (hasMembers(data, members) || (isUnnamed(data) && hasMembers(data, unnamedMembers))) return true;
  return !isOpenai && typeof data.id === "string";
}
