/** Items of tools that are OpenAI's own: those that the API ran itself, and calls that the client answers. */

import type { ToolCall } from "../../content/index.js";
import { blockTexts } from "../../content/internal.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { CallPart, ResultPart, UserPart } from "../request.js";
import type { OpenaiClientAnswer, OpenaiClientCall } from "./responses-types.js";
import { type CallMetadata, hasMembers, type Members, printCallMetadata } from "./round-trip-metadata.js";

/** A search of the web that the API did. */
interface OpenaiWebSearch {
  type: "web_search_call";
  id: string;
  status: "in_progress" | "searching" | "completed" | "failed" | "incomplete";
  action:
    | { type: "search"; query?: string; queries?: string[]; sources?: { type: "url"; url: string }[] }
    | { type: "open_page"; url?: string | null }
    | { type: "find_in_page"; pattern: string; url: string };
}

/** A search of uploaded files that the API did. */
interface OpenaiFileSearch {
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
interface OpenaiCodeInterpreter {
  type: "code_interpreter_call";
  id: string;
  code: string | null;
  container_id: string;
  outputs: ({ type: "logs"; logs: string } | { type: "image"; url: string })[] | null;
  status: "in_progress" | "completed" | "incomplete" | "interpreting" | "failed";
}

/** An image that the API made. */
interface OpenaiImageGeneration {
  type: "image_generation_call";
  id: string;
  /** Base64. */
  result: string | null;
  status: "in_progress" | "completed" | "generating" | "failed";
}

/** Tools of an MCP server, as the API listed them. */
interface OpenaiMcpTools {
  type: "mcp_list_tools";
  id: string;
  server_label: string;
  tools: { name: string; input_schema: unknown; annotations?: unknown; description?: string | null }[];
  error?: string | null;
}

/** A call of an MCP server that the API did. */
interface OpenaiMcpCall {
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
interface OpenaiCompaction {
  type: "compaction";
  id?: string | null;
  encrypted_content: string;
}

/**
 * A search for tools: run by the API if `execution` is `server`, answered by the client if it is `client`.
 */
interface OpenaiToolSearch {
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
interface OpenaiFoundTools {
  type: "tool_search_output";
  id?: string | null;
  call_id?: string | null;
  execution?: "server" | "client";
  tools: OpenaiFoundTool[];
  status?: "in_progress" | "completed" | "incomplete" | null;
}

/** A program that the model wrote, which calls tools. */
interface OpenaiProgram {
  type: "program";
  id: string;
  call_id: string;
  code: string;
  fingerprint: string;
}

/** The result of a program. */
interface OpenaiProgramOutput {
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

const tools: Readonly<Record<ClientType, ClientTool>> = {
  shell_call: { name: "shell", arguments: ["action"], members: { call_id: "string", action: "object" } },
  local_shell_call: {
    name: "local_shell",
    arguments: ["action"],
    members: { id: "string", call_id: "string", action: "object" },
  },
  apply_patch_call: {
    name: "apply_patch",
    arguments: ["operation"],
    members: { call_id: "string", operation: "object" },
  },
  computer_call: {
    name: "computer",
    arguments: ["action", "actions", "pending_safety_checks"],
    members: { id: "string", call_id: "string", pending_safety_checks: "object" },
  },
  mcp_approval_request: {
    name: "mcp_approval",
    arguments: ["server_label", "name", "arguments"],
    members: { id: "string", server_label: "string", name: "string", arguments: "string" },
  },
};

/** The members that items of these types must have. */
const clientMembers = Object.fromEntries(
  Object.entries(tools).map(([type, { members }]) => [type, members]),
) as Readonly<Record<ClientType, Members>>;

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

// Calls of OpenAI's own tools that the client runs or approves. Each is read as a call with the tool's name.
// It is sent back as its original item, and answered by an item of its own type.

type ClientType = OpenaiClientCall["type"];

/** How an item becomes a call of the agent, and the members that the item must have. */
interface ClientTool {
  /** The name of the call: the tool's own. */
  readonly name: string;
  /** Members of the item that are the call's arguments. */
  readonly arguments: readonly string[];
  readonly members: Members;
}

type Item = Readonly<Record<string, unknown>>;

/** Whether an item is such a call. A shell in a container of the API is run by the API. */
export function isClientCall(item: Item): item is Item & OpenaiClientCall {
  const { environment } = item;
  if (isRecord(environment) && environment.type === "container_reference") return false;
  return (
    hasMembers(item, clientMembers) || (isCodexShell(item) && hasMembers({ ...item, id: "" }, clientMembers))
  );
}

/** The call that an item is for the agent. */
export function clientToolCall(item: Item & OpenaiClientCall, alone: boolean): ToolCall {
  const { name, arguments: names } = tools[item.type];
  const { call_id, ...rest } = item as Item & { readonly call_id?: string };
  const args = Object.entries(rest).filter(([key]) => names.includes(key));
  const others = Object.fromEntries(Object.entries(rest).filter(([key]) => !names.includes(key)));
  const thoughtSignature = printCallMetadata({ alone, item: others, status: "completed" });
  return {
    type: "toolCall",
    id: call_id ?? item.id ?? "",
    name,
    arguments: Object.fromEntries(args),
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  };
}

/**
 * The original item of a call. Undefined if an item of this type cannot be answered with the result, or
 * cannot be sent without an id that is in use.
 */
export function clientItem(
  part: CallPart,
  { item }: Pick<CallMetadata, "item">,
  result: ResultPart | undefined,
  takeId: (id: unknown) => boolean,
): OpenaiClientCall | undefined {
  if (item === undefined || !isRecord(part.arguments)) return undefined;
  // Codex answers its shell as a function, and so with any content.
  if (isCodexShell(item)) return { ...item, call_id: part.id, ...structuredClone(part.arguments) } as never;
  if (result === undefined) return undefined;
  const isApproval = item.type === "mcp_approval_request";
  const isComputer = item.type === "computer_call";
  const fits = isComputer ? result.parts.some(isImage) : result.parts.every(({ type }) => type === "text");
  if (!fits || (isApproval && part.id !== item.id)) return undefined;
  const called = { ...item, ...(isApproval ? {} : { call_id: part.id }), ...structuredClone(part.arguments) };
  const { id, ...unnamed } = called as Item;
  // Checked before the id is reserved: an id reserved for an unsent item would be lost to the next one.
  if (id !== undefined && hasMembers(called, clientMembers) && takeId(id)) return called as OpenaiClientCall;
  return hasMembers(unnamed, clientMembers) ? (unnamed as unknown as OpenaiClientCall) : undefined;
}

/**
 * Whether an item is a call of Codex's local shell, which has no id. Codex answers it with a
 * `function_call_output` (seen in a request of 0.169, 2026-11-23).
 */
export function isCodexShell({ type, id }: Readonly<Record<string, unknown>>): boolean {
  return type === "local_shell_call" && (id === undefined || id === null || id === "");
}

/** The answer to a call that was sent as an item of its own type. */
export function clientAnswer(
  call: OpenaiClientCall,
  result: ResultPart,
  lose: (part: UserPart, reason: string) => void,
): OpenaiClientAnswer {
  const { callId: call_id, parts, isError } = result;
  const text = blockTexts(parts).join("\n\n");
  const answer = parseJson(text);
  switch (call.type) {
    case "shell_call": {
      const { max_output_length } = call.action;
      const output = shellOutputs(isRecord(answer) ? answer.output : answer) ?? [
        { stdout: text, stderr: "", outcome: { type: "exit", exit_code: isError ? 1 : 0 } },
      ];
      // The API asks for the limit that it gave: https://developers.openai.com/api/docs/guides/tools-shell.
      const limit = typeof max_output_length === "number" ? { max_output_length } : {};
      return { type: "shell_call_output", call_id, output, ...limit };
    }
    case "local_shell_call":
      return { type: "local_shell_call_output", id: call_id, call_id, output: text };
    case "apply_patch_call":
      return {
        type: "apply_patch_call_output",
        call_id,
        status: isError ? "failed" : "completed",
        output: text,
      };
    case "mcp_approval_request": {
      // Only a clear yes is one.
      const approve = !isError && (answer === true || (isRecord(answer) && answer.approve === true));
      const given = isRecord(answer) ? answer.reason : approve || answer === false ? undefined : text;
      const reason = typeof given === "string" && given !== "" ? { reason: given } : {};
      return { type: "mcp_approval_response", approval_request_id: call_id, approve, ...reason };
    }
    case "computer_call": {
      const image = parts.findLast(isImage);
      // The descriptor of an attachment is a text at the same block as the attachment.
      const attached = new Set(parts.flatMap(({ type, origin }) => (type === "text" ? [] : [origin.block])));
      const texts = parts.filter(({ type, origin }) => type === "text" && !attached.has(origin.block));
      const [only] = texts;
      const data = texts.length === 1 && only?.type === "text" ? parseJson(only.text) : undefined;
      const checks = isRecord(data) ? data.acknowledged_safety_checks : undefined;
      const acknowledged = Array.isArray(checks) && checks.every((one) => hasId(one)) ? checks : undefined;
      const lost = [
        ...(acknowledged === undefined ? texts : []),
        ...parts.filter((part) => part.type !== "text" && part !== image),
      ];
      for (const part of lost)
        lose(part, "the target accepts one screenshot as the result of a computer action");
      const output = { type: "computer_screenshot" as const, ...imageAddress(image) };
      return {
        type: "computer_call_output",
        call_id,
        output,
        ...(acknowledged === undefined ? {} : { acknowledged_safety_checks: acknowledged }),
      };
    }
  }
}

type ImagePart = Extract<UserPart, { type: "media" | "reference" }>;

function isImage(part: UserPart): part is ImagePart {
  return part.type !== "text" && part.kind === "image";
}

function imageAddress(image: ImagePart | undefined): { image_url: string } | { file_id: string } {
  if (image?.type !== "reference") return { image_url: image?.dataUrl ?? "" };
  const { reference } = image;
  return reference.kind === "url" ? { image_url: reference.url } : { file_id: reference.id };
}

function hasId(value: unknown): value is { id: string } {
  return isRecord(value) && typeof value.id === "string";
}

/** An agent's output as JSON in the API's own form; undefined for any other value. */
function shellOutputs(
  value: unknown,
): Extract<OpenaiClientAnswer, { type: "shell_call_output" }>["output"] | undefined {
  const isOutput = (one: unknown) =>
    isRecord(one) &&
    typeof one.stdout === "string" &&
    typeof one.stderr === "string" &&
    isRecord(one.outcome) &&
    (one.outcome.type === "timeout" ||
      (one.outcome.type === "exit" && Number.isSafeInteger(one.outcome.exit_code)));
  return Array.isArray(value) && value.length > 0 && value.every(isOutput) ? value : undefined;
}
