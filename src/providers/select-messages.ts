/** Selects the messages of a context that a target gets, and its system text. */

import type {
  AssistantMessage,
  Context,
  ContextMessage,
  CustomMessage,
  SystemMessage,
  ToolResultMessage,
} from "../content/index.js";
import { isProviderSummary } from "../content/internal.js";
import { unreachable } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { assistantParts, replyFields, type SelectOptions } from "./assistant-turn.js";
import { BlockReader } from "./block-reader.js";
import { LossList } from "./losses.js";
import {
  bashText,
  branchSummaryText,
  laterInstructionsText,
  namePrefix,
  summaryText,
  toolChangeText,
} from "./placeholders.js";
import type { MediaPart, NamedTool, Origin, PendingMessage, PendingUserPart, Turn } from "./request.js";
import { isOwn, type ModelRef, type TargetRules } from "./target.js";

/** A context as messages of a request, in order, and the system text. */
export interface Selection {
  readonly system: readonly PendingUserPart[];
  readonly messages: readonly PendingMessage[];
}

/**
 * Converts each item of a context to a message of a request. Summaries, commands and custom messages become
 * user text. Cleans text, and keeps the parts of an assistant message that the target's model accepts back.
 * Attachments become pending parts. A turn that the target's model declined is left out.
 *
 * @param options `from`: the first item whose message is wanted; the system text is that of all
 */
export function selectMessages(
  items: Context["items"],
  options: SelectOptions & { readonly from?: number },
): Selection {
  const { from = 0 } = options;
  const reader = new BlockReader(options);
  const messages: PendingMessage[] = [];
  const refused = refusedItems(items, options.model, from);
  const { rules } = options;
  // Instructions that came later stay at their place, if a change before reasoning would make it invalid.
  const start =
    rules.bindsReasoning === true ? items.findIndex(({ message }) => message.role !== "system") : -1;
  const isLater = (item: number) => start >= 0 && item > start;
  for (let item = from; item < items.length; item++) {
    const { entryId, message } = items[item] as Context["items"][number];
    if (message.role === "system" && isLater(item)) {
      const parts = laterInstructions(message, { entryId, item }, reader, rules);
      if (parts.length > 0) messages.push({ role: "user", item, parts });
      continue;
    }
    const reason = refused.get(item);
    if (reason !== undefined) {
      options.losses.add({ entryId, item }, { code: "refused", by: "policy", reason });
      continue;
    }
    const draft = messageDraft(message, { entryId, item }, reader, options);
    if (draft !== undefined) messages.push(draft);
  }
  // Their losses are those of the items before.
  const systemReader = from === 0 ? reader : new BlockReader({ ...options, losses: new LossList() });
  const system = systemParts(start < 0 ? items : items.slice(0, start), systemReader);
  return { system, messages: fromOwnSummary(items, messages, options.losses) };
}

/**
 * The messages from the target's newest summary of its own on, if a compaction records it or the API signed it: a
 * signed one is refused at another place than the first. The provider reads nothing before any of them; without a
 * compaction the request only grows.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/compaction-background and
 *   https://openrouter.ai/docs/api_reference/responses/compaction (stored copies, 2026-11-28)
 */
function fromOwnSummary(
  items: Context["items"],
  messages: readonly PendingMessage[],
  losses: LossList,
): readonly PendingMessage[] {
  const start = messages.findLastIndex((message) => ownSummaries(message).length > 0);
  if (start <= 0) return messages;
  const message = messages[start] as PendingMessage;
  const isRecorded = messages.slice(0, start).some(({ item }) => items[item]?.origin === "summary");
  const isSigned = ownSummaries(message).some((data) => "signature" in data && isFilled(data.signature));
  if (!isRecorded && !isSigned) return messages;
  const isSystem = ({ item }: PendingMessage) => items[item]?.message.role === "system";
  losses.forget((item) => item < message.item);
  for (const { item } of messages.slice(0, start).filter((one) => !isSystem(one))) {
    const { entryId } = items[item] as Context["items"][number];
    const reason = "the summary that the provider made stands for it";
    losses.add({ entryId, item }, { code: "notRepeated", by: "policy", reason });
  }
  // Instructions of mid-conversation stay in force, and the provider reads nothing before its summary.
  return [message, ...messages.slice(0, start).filter(isSystem), ...messages.slice(start + 1)];
}

/** The summaries in a message that the target's provider made and takes back. */
export function ownSummaries(message: PendingMessage): readonly object[] {
  if (message.role !== "assistant") return [];
  return message.parts.flatMap((part) =>
    part.type === "opaque" && isProviderSummary(part.data) ? [part.data] : [],
  );
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/**
 * The items that are left out after a refusal, with the reason. A turn goes from a user message up to the next.
 * The model declines each request with the turn again; another model gets the question, and not the reply.
 *
 * @see https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals and
 *   https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback (stored copies, 2026-11-28)
 */
function refusedItems(items: Context["items"], model: ModelRef, from: number): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let start: number | undefined;
  let isRefused = false;
  for (let item = from; item < items.length; item++) {
    const { message } = items[item] as Context["items"][number];
    if (message.role === "user") {
      start = item;
      isRefused = false;
    }
    if (message.role === "assistant" && message.refused === true) {
      found.set(item, "a reply in which the model declined to answer");
      if (isOwn(message, model) && !isRefused) {
        isRefused = true;
        for (let at = start ?? item; at < item; at++) if (isOfTurn(items[at])) found.set(at, ofRefusedTurn);
      }
    }
    if (isRefused && isOfTurn(items[item])) found.set(item, ofRefusedTurn);
  }
  return found;
}

const ofRefusedTurn = "of a turn that the model declined, and would decline again";

/** Summaries and instructions are of the whole conversation. */
function isOfTurn(item: Context["items"][number] | undefined): boolean {
  const role = item?.message.role;
  return role !== "system" && role !== "compactionSummary" && role !== "branchSummary";
}

function messageDraft(
  message: ContextMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): PendingMessage | undefined {
  const { item } = origin;
  const user = (parts: readonly PendingUserPart[]): PendingMessage | undefined =>
    parts.length === 0 ? undefined : { role: "user", item, parts };
  switch (message.role) {
    case "user":
      return user(named(reader.userParts(message.content, origin, "user"), message.name, origin));
    case "custom":
      return user(custom(message, origin, reader, options.rules));
    case "assistant":
      return assistant(message, origin, reader, options);
    case "toolResult":
      return result(message, origin, reader);
    case "bashExecution":
      return message.excludeFromContext === true ? undefined : user(reader.text(bashText(message), origin));
    case "compactionSummary":
      return user(reader.text(summaryText(message), origin));
    case "branchSummary":
      return user(reader.text(branchSummaryText(message), origin));
    case "system":
      return undefined;
    default:
      return unreachable(message);
  }
}

function custom(
  { customType, content }: CustomMessage,
  origin: Origin,
  reader: BlockReader,
  { turnOnly = [] }: TargetRules,
): readonly PendingUserPart[] {
  const parts = reader.userParts(content, origin, "user");
  if (!turnOnly.includes(customType)) return parts;
  return parts.map((part) => (part.type === "text" ? { ...part, turnOnly: customType } : part));
}

function named(
  parts: readonly PendingUserPart[],
  name: string | undefined,
  origin: Origin,
): readonly PendingUserPart[] {
  const prefix = name === undefined || parts.length === 0 ? "" : namePrefix(name);
  if (prefix === "") return parts;
  const [first, ...rest] = parts;
  if (first?.type === "text") return [{ ...first, text: prefix + first.text }, ...rest];
  return [{ type: "text", text: prefix.trimEnd(), origin }, ...parts];
}

function assistant(
  message: AssistantMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): PendingMessage | undefined {
  const parts = assistantParts(message, origin, reader, options);
  if (parts.length === 0) return undefined;
  const providerFields = replyFields(message, options);
  return {
    role: "assistant",
    item: origin.item,
    parts,
    ...(providerFields === undefined ? {} : { providerFields }),
  };
}

function result(message: ToolResultMessage, origin: Origin, reader: BlockReader): PendingMessage {
  const parts = reader.userParts(message.content, origin, "toolResult");
  return { role: "toolResult", item: origin.item, origin, isError: message.isError, parts };
}

/**
 * The instructions in force: the texts of system messages, in order, and their sections where each was first
 * named, as the latest message that names it has it. Tools that a system message declares are the request's
 * parameters, which a harness gives beside the projection.
 */
export function systemParts(items: Context["items"], reader: BlockReader): readonly PendingUserPart[] {
  const parts: PendingUserPart[][] = [];
  const sections = new Map<string, PendingUserPart[]>();
  items.forEach(({ entryId, message }, item) => {
    if (message.role !== "system") return;
    const origin = { entryId, item };
    parts.push([...reader.userParts(message.content, origin, "textOnly")]);
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      const known = sections.get(name);
      const slot = known ?? [];
      slot.length = 0;
      if (text !== null) for (const draft of reader.text(text, origin)) slot.push(draft);
      if (known === undefined) {
        sections.set(name, slot);
        parts.push(slot);
      }
    }
  });
  return parts.flat();
}

/** Instructions of mid-conversation: their text, and what becomes of each section that they name. */
function laterInstructions(
  { content, sections = {}, toolsAdded = [], toolsRemoved = [] }: SystemMessage,
  origin: Origin,
  reader: BlockReader,
  { toolChanges }: TargetRules,
): readonly PendingUserPart[] {
  const named = Object.entries(sections).map(([name, text]) =>
    text === null
      ? `The section "${name}" of the instructions no longer applies.`
      : `The section "${name}" of the instructions is now:\n\n${text}`,
  );
  const added = toolChanges === undefined ? [] : toolsAdded.filter(isNamedTool);
  const removed = toolChanges === undefined ? [] : toolsRemoved.flatMap(toolName);
  const words = [
    ...named,
    ...(toolChanges === "additions"
      ? removed.map((name) => `The tool "${name}" is no longer available.`)
      : []),
  ];
  const parts = [
    ...reader.userParts(content, origin, "textOnly"),
    ...words.flatMap((text) => reader.text(text, origin)),
  ];
  const given = parts.map((part) =>
    part.type === "text"
      ? { ...part, text: laterInstructionsText(part.text), instructions: part.text }
      : part,
  );
  const toolChange = { added, removed: toolChanges === "all" ? removed : [] };
  if (toolChange.added.length + toolChange.removed.length === 0) return given;
  const text = toolChangeText(
    added.map(({ name }) => name),
    toolChange.removed,
  );
  return [...given, { type: "text", text, instructions: text, toolChange, origin }];
}

function isNamedTool(tool: unknown): tool is NamedTool {
  return isRecord(tool) && typeof tool.name === "string";
}

/** The name of a removed tool: a text, or a declaration. */
function toolName(tool: unknown): readonly string[] {
  if (typeof tool === "string") return [tool];
  return isNamedTool(tool) ? [tool.name] : [];
}

/** The bytes that a turn shows, those of its results first. */
export function mediaIn(turn: Turn): readonly MediaPart[] {
  if (turn.role === "assistant")
    return turn.parts.flatMap((part) => (part.type === "opaque" ? (part.media ?? []) : []));
  const userParts = [...turn.results.flatMap(({ parts }) => parts), ...turn.parts];
  return userParts.filter((part): part is MediaPart => part.type === "media");
}

/**
 * Keeps the user messages since the last assistant message. The target has the rest, including instructions:
 * it is reported as `notRepeated`.
 */
export function latestOnly(items: Context["items"], { messages }: Selection, losses: LossList): Selection {
  const latest = latestMessages(items, messages);
  const kept = new Set(latest.map(({ item }) => item));
  losses.forget((item) => !kept.has(item));
  items.forEach(({ entryId, message }, item) => {
    if (kept.has(item) || isHidden(message)) return;
    const reason = "the target keeps its own history";
    losses.add({ entryId, item }, { code: "notRepeated", by: "policy", reason });
  });
  return { system: [], messages: latest };
}

/** Tool results between user messages belong to the assistant's turn. */
function latestMessages(
  items: Context["items"],
  messages: readonly PendingMessage[],
): readonly PendingMessage[] {
  const last = messages.findLast(({ role }) => role === "user")?.item ?? -1;
  const answered = items.findLastIndex(({ message }, item) => item < last && message.role === "assistant");
  return messages.filter(({ role, item }) => role === "user" && item > answered && item <= last);
}

function isHidden(message: ContextMessage): boolean {
  return message.role === "bashExecution" && message.excludeFromContext === true;
}
