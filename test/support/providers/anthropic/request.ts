import { isRecord } from "../../plain-values.js";

/** Where a block stands: in a turn of this role, in the system field, or within another block. */
export type Place = "user" | "assistant" | "system" | "tool_result" | "document" | "search_result";

/** One content block of a request. */
export interface Block {
  /** As the API names it, such as `messages.3.content.1` or `messages.3.content.1.tool_result.content.0`. */
  readonly path: string;
  /** Empty where there is none. */
  readonly type: string;
  readonly value: Readonly<Record<string, unknown>>;
  readonly place: Place;
}

/** One entry of `messages`; a string as content is one text block. */
export interface Turn {
  readonly path: string;
  readonly role: string;
  /** Of a system turn that the API clears. */
  readonly clearAt: unknown;
  readonly content: unknown;
  readonly blocks: readonly Block[];
}

/** A request body, read as far as it can be; what cannot be read is for the rules of fields to name. */
export interface AnthropicRequest {
  readonly json: Readonly<Record<string, unknown>>;
  /** Bytes of the body. */
  readonly bytes: number;
  /** Empty where there is none. */
  readonly model: string;
  readonly system: readonly Block[];
  readonly turns: readonly Turn[];
  /** All blocks of the system field and the turns, each before those within it. */
  readonly blocks: readonly Block[];
}

/** Reads a body; `bytes` as it came over the wire, else as JSON would have it. Never throws. */
export function readRequest(body: unknown, bytes?: number): AnthropicRequest {
  const json = isRecord(body) ? body : {};
  const system = readBlocks(json.system, "system", "system");
  const turns = (Array.isArray(json.messages) ? json.messages : []).map(readTurn);
  return {
    json,
    bytes: bytes ?? new TextEncoder().encode(JSON.stringify(body) ?? "").length,
    model: typeof json.model === "string" ? json.model : "",
    system,
    turns,
    blocks: [...system, ...turns.flatMap(({ blocks }) => blocks)].flatMap((block) => [
      block,
      ...within(block),
    ]),
  };
}

function readTurn(turn: unknown, index: number): Turn {
  const path = `messages.${index}`;
  const { role, content, clear_at: clearAt } = isRecord(turn) ? turn : {};
  const place = role === "assistant" || role === "system" ? role : "user";
  return {
    path,
    role: typeof role === "string" ? role : "",
    clearAt,
    content,
    blocks: readBlocks(content, `${path}.content`, place),
  };
}

function readBlocks(content: unknown, path: string, place: Place): readonly Block[] {
  if (typeof content === "string") {
    return [{ path: `${path}.0`, type: "text", value: { type: "text", text: content }, place }];
  }
  if (!Array.isArray(content)) return [];
  return content.map((value, index) => ({
    path: `${path}.${index}`,
    type: isRecord(value) && typeof value.type === "string" ? value.type : "",
    value: isRecord(value) ? value : {},
    place,
  }));
}

/** The blocks that stand in another one's content. An empty string there is nothing, and no blank text. */
function within({ path, type, value }: Block): readonly Block[] {
  const inside = (content: unknown, at: string, place: Place) =>
    content === "" ? [] : readBlocks(content, `${path}.${at}`, place);
  if (type === "tool_result")
    return inside(value.content, "tool_result.content", "tool_result").flatMap(deep);
  if (type === "search_result") return inside(value.content, "search_result.content", "search_result");
  if (type === "document" && isRecord(value.source) && value.source.type === "content") {
    return inside(value.source.content, "document.source.content.content", "document");
  }
  return [];
}

function deep(block: Block): readonly Block[] {
  return [block, ...within(block)];
}

/** The text of a block, where it is a text block. */
export function textOf({ type, value }: Block): string | undefined {
  return type === "text" && typeof value.text === "string" ? value.text : undefined;
}

/** A field that is a string; empty where it is none. */
export function stringField({ value }: Block, name: string): string {
  const field = value[name];
  return typeof field === "string" ? field : "";
}
