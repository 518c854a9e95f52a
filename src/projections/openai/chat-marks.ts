/**
 * Metadata that is stored beside the blocks of Chat Completions, so that they are sent back unchanged. A
 * call's metadata is never JSON: pi would send JSON there along with the request.
 */
import { copyJson, type JsonObject } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import { parsed } from "./json.js";

/** Signature of a text that is a refusal. */
export const refusalMark = "refusal";

/** Signature of a call of a custom tool, whose text is the argument `input`. */
export const customMark = "custom";

const rawPrefix = "arguments:";
const membersPrefix = "members:";

/** Signature of a call with its arguments as the model wrote them. */
export function rawMark(text: string): string {
  return rawPrefix + text;
}

/** Adds a call's members beyond the protocol in front of its other metadata. */
export function membersMark(members: JsonObject, mark: string | undefined): string | undefined {
  if (Object.keys(members).length === 0) return mark;
  const text = membersPrefix + JSON.stringify(members);
  return mark === undefined ? text : `${text}\n${mark}`;
}

/** The metadata of a call. */
export interface CallMark {
  readonly isCustom: boolean;
  /** Its arguments as the model wrote them. */
  readonly raw: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  /** A piece of reasoning that pi keeps there, for `reasoning_details`. */
  readonly detail: unknown;
}

/** The inverse of {@link rawMark} and {@link membersMark}; nothing in any other text. */
export function callMark(mark: string | undefined): CallMark {
  const text = mark ?? "";
  const hasMembers = text.startsWith(membersPrefix);
  const end = hasMembers && text.includes("\n") ? text.indexOf("\n") : text.length;
  const members = hasMembers ? parsed(text.slice(membersPrefix.length, end)) : undefined;
  const rest = hasMembers ? text.slice(end + 1) : text;
  const detail = rest.startsWith("{") ? parsed(rest) : undefined;
  const isDetail =
    isRecord(detail) && typeof detail.type === "string" && detail.type.startsWith("reasoning.");
  return {
    isCustom: rest === customMark,
    raw: rest.startsWith(rawPrefix) ? rest.slice(rawPrefix.length) : undefined,
    members: isRecord(members) ? members : {},
    detail: isDetail ? detail : undefined,
  };
}

/** Members that are not known, as far as they say anything. */
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
