/** Metadata that a session stores beside texts and calls, so that both protocols send them back unchanged. */
import { copyJson, copyJsonObject, type JsonObject, parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type {
  OpenaiAnnotation,
  OpenaiCaller,
  OpenaiOutputMessage,
  OpenaiOutputPart,
  OpenaiPhase,
  OpenaiStatus,
} from "./responses-types.js";

/**
 * Metadata of a text, stored beside it so that its item is sent back unchanged. The form is pi's: the bare
 * id, or JSON with `v`, `id` and `phase`. Each program thus continues the other's sessions. Members that pi
 * does not have are in `sessile`.
 */
export interface TextMetadata {
  /** Empty if the message came without one. */
  readonly id: string;
  readonly phase?: OpenaiPhase;
  readonly status: OpenaiStatus;
  /** No reasoning preceded it, so its id can be sent without reasoning. */
  readonly alone: boolean;
  /** How the text divides into parts; absent for one text without annotations. */
  readonly parts?: readonly PartMetadata[];
}

/** A part of a message. One of a type that this library does not know has no length, and is in the fields. */
interface PartMetadata {
  readonly type: "output_text" | "refusal" | "other";
  readonly length: number;
  /** Only in sessions of earlier versions. */
  readonly annotations?: OpenaiAnnotation[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Members of a message's parts beside their text, one object for each part. */
const contentField = "content";

/** Metadata of a call beyond its id, name and arguments. */
export interface CallMetadata {
  readonly alone: boolean;
  /**
   * A call of a custom tool, whose text is the argument `input`: the id of its item, or an empty text. It is
   * not part of the stored id, as pi would read it there as the id of a function call.
   */
  readonly custom?: string;
  /** A search for tools that the client answers: the id of its item, or an empty text. */
  readonly search?: string;
  /**
   * A call of a tool of OpenAI's own that the client answers: its item without the call's id and arguments.
   */
  readonly item?: Readonly<Record<string, unknown>>;
  /** The arguments as the model wrote them. */
  readonly arguments?: string;
  readonly namespace?: string;
  readonly caller?: OpenaiCaller;
  readonly status: OpenaiStatus;
}

/** A message of the model while it is read. Its parts have any members. */
export interface ReadMessage extends Pick<OpenaiOutputMessage, "id" | "phase" | "status"> {
  readonly content: readonly Fields[];
}

/** Prints the metadata of an assistant message; undefined if it has no id and nothing else to keep. */
export function printTextMetadata(
  { id, phase, status, content }: ReadMessage,
  alone: boolean,
): string | undefined {
  const isPlain = content.length === 1 && content[0]?.type === "output_text";
  const more = {
    ...(alone ? { alone } : {}),
    ...(status === "completed" ? {} : { status }),
    ...(isPlain ? {} : { parts: content.map(partMetadata) }),
  };
  if (id === "" && phase === undefined && Object.keys(more).length === 0) return undefined;
  const known = { v: 1, id, ...(phase === undefined ? {} : { phase }) };
  return JSON.stringify(Object.keys(more).length === 0 ? known : { ...known, sessile: more });
}

function partMetadata(part: Fields): PartMetadata {
  const type = part.type === "output_text" || part.type === "refusal" ? part.type : "other";
  return { type, length: partText(part).length };
}

/** The text of a part; empty for a part of an unknown type. */
export function partText({ type, text, refusal }: Fields): string {
  const said = type === "output_text" ? text : type === "refusal" ? refusal : "";
  return typeof said === "string" ? said : "";
}

/** The members of parts beside their texts, as a member of the block; nothing if there are none. */
export function contentFields(content: readonly Fields[]): Fields {
  const fields = content.map((part) => {
    const { type } = part;
    if (type !== "output_text" && type !== "refusal") return copyJsonObject(part);
    return unknownMembers(part, (name) => textMembers.has(name));
  });
  return fields.some((one) => Object.keys(one).length > 0) ? { [contentField]: fields } : {};
}

/**
 * Members of a text, the member that the official client adds, and log probabilities, which are large and not
 * for the model.
 */
const textMembers: ReadonlySet<string> = new Set(["type", "text", "refusal", "parsed", "logprobs"]);

/** Reads the metadata of a text, pi's or this library's. */
export function readTextMetadata(metadata: string): TextMetadata {
  const data = metadata.startsWith("{") ? parseJson(metadata) : undefined;
  if (!isRecord(data) || data.v !== 1 || typeof data.id !== "string") {
    return { id: metadata, status: "completed", alone: false };
  }
  const more = isRecord(data.sessile) ? data.sessile : {};
  const parts = Array.isArray(more.parts) && more.parts.every(isPartMetadata) ? { parts: more.parts } : {};
  return {
    id: data.id,
    ...(isPhase(data.phase) ? { phase: data.phase } : {}),
    status: isStatus(more.status) ? more.status : "completed",
    alone: more.alone === true,
    ...parts,
  };
}

/**
 * Splits a text into the parts of its metadata, each with its other members; one part if the lengths do not
 * match.
 */
export function textParts(
  text: string,
  { parts: known }: Pick<TextMetadata, "parts">,
  fields: Fields = {},
): OpenaiOutputPart[] {
  const whole: readonly PartMetadata[] = [{ type: "output_text", length: text.length }];
  const length = known?.reduce((sum, part) => sum + part.length, 0);
  const parts = known !== undefined && length === text.length ? known : whole;
  const content = fields[contentField];
  const others = Array.isArray(content) && content.length === parts.length ? (content as unknown[]) : [];
  let at = 0;
  return parts.map(({ type, length, annotations = [] }, index) => {
    const piece = text.slice(at, at + length);
    at += length;
    const more = others[index];
    const members = isRecord(more) ? structuredClone(more) : {};
    if (type === "other") return members as unknown as OpenaiOutputPart;
    return type === "refusal"
      ? { ...members, type, refusal: piece }
      : { annotations: structuredClone(annotations), ...members, type, text: piece };
  });
}

/** Members of a block that its item has beside those of its parts. */
export function itemFields({ [contentField]: _content, ...fields }: Fields = {}): Fields {
  return structuredClone(fields);
}

/** Prints the metadata of a call; undefined if there is nothing to keep. */
export function printCallMetadata(metadata: CallMetadata): string | undefined {
  const { alone, custom, search, item, status, arguments: text, namespace, caller } = metadata;
  const members = {
    ...(alone ? { alone } : {}),
    ...(custom === undefined ? {} : { custom }),
    ...(search === undefined ? {} : { search }),
    ...(item === undefined ? {} : { item }),
    ...(text === undefined ? {} : { arguments: text }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(caller === undefined ? {} : { caller }),
    ...(status === "completed" ? {} : { status }),
  };
  return Object.keys(members).length === 0 ? undefined : JSON.stringify({ v: 1, ...members });
}

/** Reads the metadata of a call. */
export function readCallMetadata(metadata: string | undefined): CallMetadata {
  const data = metadata === undefined ? undefined : parseJson(metadata);
  if (!isRecord(data) || data.v !== 1) return { alone: false, status: "completed" };
  return {
    alone: data.alone === true,
    ...(typeof data.custom === "string" ? { custom: data.custom } : {}),
    ...(typeof data.search === "string" ? { search: data.search } : {}),
    ...(isRecord(data.item) ? { item: data.item } : {}),
    ...(typeof data.arguments === "string" ? { arguments: data.arguments } : {}),
    ...(typeof data.namespace === "string" ? { namespace: data.namespace } : {}),
    ...(isCaller(data.caller) ? { caller: data.caller } : {}),
    status: isStatus(data.status) ? data.status : "completed",
  };
}

/** Whether a value is a known phase. */
export function isPhase(value: unknown): value is OpenaiPhase {
  return value === "commentary" || value === "final_answer";
}

/** Whether a value is a status of an item. */
export function isStatus(value: unknown): value is OpenaiStatus {
  return value === "in_progress" || value === "completed" || value === "incomplete";
}

/** Whether a value is a caller. */
export function isCaller(value: unknown): value is OpenaiCaller {
  if (!isRecord(value)) return false;
  return value.type === "direct" || (value.type === "program" && typeof value.caller_id === "string");
}

function isPartMetadata(value: unknown): value is PartMetadata {
  if (!isRecord(value) || !Number.isSafeInteger(value.length) || Number(value.length) < 0) return false;
  const { type, annotations = [] } = value;
  if (!Array.isArray(annotations) || !annotations.every(isRecord)) return false;
  return type === "output_text" || type === "refusal" || type === "other";
}

// Chat Completions: a call's metadata is never JSON, which pi would send along with the request.

/** Signature of a text that is a refusal. */
export const refusalSignature = "refusal";

/** Signature of a call of a custom tool, whose text is the argument `input`. */
export const customCallSignature = "custom";

const rawPrefix = "arguments:";
const membersPrefix = "members:";

/** Signature of a call with its arguments as the model wrote them. */
export function printRawArguments(text: string): string {
  return rawPrefix + text;
}

/** Adds a call's members beyond the protocol in front of its other metadata. */
export function printCallMembers(members: JsonObject, metadata: string | undefined): string | undefined {
  if (Object.keys(members).length === 0) return metadata;
  const text = membersPrefix + JSON.stringify(members);
  return metadata === undefined ? text : `${text}\n${metadata}`;
}

/** The metadata of a call. */
export interface ChatCallMetadata {
  readonly isCustom: boolean;
  /** Its arguments as the model wrote them. */
  readonly raw: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  /** A piece of reasoning that pi keeps there, for `reasoning_details`. */
  readonly detail: unknown;
}

/** The inverse of {@link printRawArguments} and {@link printCallMembers}; nothing in any other text. */
export function readChatCallMetadata(metadata: string | undefined): ChatCallMetadata {
  const text = metadata ?? "";
  const hasMembers = text.startsWith(membersPrefix);
  const end = hasMembers && text.includes("\n") ? text.indexOf("\n") : text.length;
  const members = hasMembers ? parseJson(text.slice(membersPrefix.length, end)) : undefined;
  const rest = hasMembers ? text.slice(end + 1) : text;
  const detail = rest.startsWith("{") ? parseJson(rest) : undefined;
  const isDetail =
    isRecord(detail) && typeof detail.type === "string" && detail.type.startsWith("reasoning.");
  return {
    isCustom: rest === customCallSignature,
    raw: rest.startsWith(rawPrefix) ? rest.slice(rawPrefix.length) : undefined,
    members: isRecord(members) ? members : {},
    detail: isDetail ? detail : undefined,
  };
}

/** Unknown members that are not empty. */
export function unknownMembers(
  fields: Readonly<Record<string, unknown>>,
  isKnown: (name: string) => boolean,
): JsonObject {
  const members: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!isKnown(name) && name !== "__proto__" && !isEmpty(value)) members[name] = copyJson(value);
  }
  return members;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The data of the opaque block that keeps a message's members. */
export function messageData(members: JsonObject): JsonObject {
  return { message: members };
}

/** The inverse of {@link messageData}; undefined for any other data. */
export function membersOfMessage(data: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(data) && isRecord(data.message) && Object.keys(data).length === 1
    ? data.message
    : undefined;
}

/** The arguments of a call as a value; text that is no JSON stays text. */
export function textArguments(text: string): unknown {
  return text.trim() === "" ? {} : (parseJson(text) ?? text);
}

/** The text of a call's arguments if this library would print them differently, else undefined. */
export function rawArguments(text: string): string | undefined {
  return JSON.stringify(parseJson(text)) === text ? undefined : text;
}

/** A call's arguments as JSON: the model's own text, if it is known and the value is unchanged. */
export function argumentsText(value: unknown, raw: string | undefined): string {
  const json = JSON.stringify(value) ?? "{}";
  return raw !== undefined && JSON.stringify(parseJson(raw)) === json ? raw : json;
}

/** Required members, and the `typeof` of each. */
export type Members = Readonly<Record<string, "string" | "number" | "object">>;

/** Whether a value names a `type` of the table and has that type's members. Others may be there. */
export function hasMembers(value: unknown, byType: Readonly<Record<string, Members>>): boolean {
  if (!isRecord(value) || typeof value.type !== "string" || !Object.hasOwn(byType, value.type)) return false;
  const members = Object.entries(byType[value.type] ?? {});
  return members.every(([key, type]) => typeof value[key] === type && value[key] !== null);
}
