/**
 * Calls of OpenAI's own tools that the client runs or approves. Each is read as a call with the tool's name.
 * It is sent back as its original item, and answered by an item of its own type.
 */

import type { ToolCall } from "../../content/index.js";
import { blockTexts } from "../../content/internal.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { CallPart, ResultPart, UserPart } from "../request.js";
import type { OpenaiClientAnswer, OpenaiClientCall } from "./responses-types.js";
import { type CallMetadata, hasMembers, type Members, printCallMetadata } from "./round-trip-metadata.js";

type ClientType = OpenaiClientCall["type"];

/** How an item becomes a call of the agent, and the members that the item must have. */
interface ClientTool {
  /** The name of the call: the tool's own. */
  readonly name: string;
  /** Members of the item that are the call's arguments. */
  readonly arguments: readonly string[];
  readonly members: Members;
}

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
export const clientMembers = Object.fromEntries(
  Object.entries(tools).map(([type, { members }]) => [type, members]),
) as Readonly<Record<ClientType, Members>>;

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
