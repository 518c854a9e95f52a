/** A provider's own blocks, of which only their JSON is known: their media, moved out and put back, and their words. */

import { isRecord } from "../core/shape.js";
import {
  blockResource,
  describeResource,
  type ImageBlock,
  type OpaqueBlock,
  type Resource,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
} from "./message.js";

/** Base64 in the JSON of a provider's block. */
export interface OpaqueMedium {
  /** The base64, without the prefix of a data URL. */
  readonly base64: string;
  /** The media type that the block or the data URL declares. */
  readonly declared: string | undefined;
  /** The type of an image that models make, by the beginning of the base64; undefined for other media. */
  readonly imageType: string | undefined;
}

/** Base64 of an unknown type is a medium from this length on. A shorter value stays in its block. */
const minUnknown = 1025;
/** No medium is shorter: a GIF of one pixel has 35 bytes. */
const minKnown = 16;

/**
 * Base64 that begins as PNG, JPEG, GIF, RIFF (WebP, WAV), PDF, Ogg, FLAC, MP3, WebM, or ISO media (MP4, HEIC,
 * AVIF).
 */
const knownStart =
  /^(?:iVBORw0KGgo|\/9j\/|R0lGODdh|R0lGODlh|UklGR|JVBERi0|T2dnUw|ZkxhQw|SUQz|GkXfo|AAAA..Z0eX[A-D])/;

/** The images among them. */
const imageStarts: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGODdh|^R0lGODlh/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
];
const base64Start = /^[A-Za-z0-9+/_-]{16}/;
/** A data URL has a media type of at most 127 characters and few parameters before its base64. */
const dataUrlStart = /^data:([^,]{0,255}?);base64,/i;
const longestDataUrlStart = 280;

/** Members that hold base64 beside a media type. */
const payloadMembers: ReadonlySet<string> = new Set(["data", "blob", "bytes", "base64", "b64_json"]);
const typeMembers = ["mediaType", "mimeType", "media_type", "mime_type"] as const;
/** The only member of an object that stands for bytes. */
const bytesMember = "$base64";

/** The key of a reference to a resource, which replaces base64. */
const referenceKey = "$resource";

/** A reference to a resource in place of its base64. */
interface Reference {
  readonly [referenceKey]: string;
  /** The beginning of a data URL, up to the base64. */
  readonly prefix?: string;
}

/**
 * The media in a provider's block: base64 that begins as a known format, and long base64 that a media type, a
 * data URL or a known member declares. Reads only the beginning of each string.
 */
export function opaqueMedia(data: unknown): readonly OpaqueMedium[] {
  const found: OpaqueMedium[] = [];
  mapMedia(data, (medium) => {
    found.push(medium);
    return undefined;
  });
  return found;
}

/**
 * Replaces media by references, in the order of {@link opaqueMedia}. Returns the same value if none is
 * replaced.
 *
 * @param readId the resource's id for a medium; undefined leaves it in place
 */
export function withReferences(data: unknown, readId: (index: number) => string | undefined): unknown {
  let index = 0;
  return mapMedia(data, (_, prefix): Reference | undefined => {
    const id = readId(index++);
    return id === undefined ? undefined : { [referenceKey]: id, ...(prefix === "" ? {} : { prefix }) };
  });
}

/** The block again, with base64 in place of each reference. Undefined if one of them is unknown. */
export function withMedia(
  data: unknown,
  base64ByResourceId: (resourceId: string) => string | undefined,
): unknown {
  let isWhole = true;
  const filled = mapReferences(data, ({ [referenceKey]: id, prefix = "" }) => {
    const base64 = base64ByResourceId(id);
    isWhole &&= base64 !== undefined;
    return prefix + base64;
  });
  return isWhole ? filled : undefined;
}

/** The reference to a resource, for a block made by hand. */
export function referenceTo(resourceId: string): object {
  return { [referenceKey]: resourceId };
}

/** The block with an address in place of each reference, for readers that do not take base64. */
export function withAddresses(data: unknown, addressByResourceId: (resourceId: string) => string): unknown {
  return mapReferences(data, (reference) => addressByResourceId(reference[referenceKey]));
}

/** The block with other ids in its references. Returns the same value if none changes. */
export function withNewIds(data: unknown, newId: (resourceId: string) => string): unknown {
  return mapReferences(data, (reference) => {
    const id = newId(reference[referenceKey]);
    return id === reference[referenceKey] ? reference : { ...reference, [referenceKey]: id };
  });
}

/** The ids of the resources that a block refers to. */
export function referencesIn(data: unknown): ReadonlySet<string> {
  const ids = new Set<string>();
  mapReferences(data, (reference) => {
    ids.add(reference[referenceKey]);
    return reference;
  });
  return ids;
}

type ContentBlock = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;

/** The resources of a block: that of an attachment, or the media of a provider's block. */
export function blockResources(block: ContentBlock): readonly Resource[] {
  if (block?.type === "opaque") return Array.isArray(block.resources) ? block.resources : [];
  const resource = blockResource(block);
  return resource === undefined ? [] : [resource];
}

/** A provider's block for readers to which it says nothing: its words, and its media as attachments. */
export function shownBlocks(block: OpaqueBlock): readonly (TextBlock | ImageBlock)[] {
  const text = opaqueWords(block.data);
  return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...blockAttachments(block)];
}

/** The media of a provider's block as attachments: its resources, and its inline images. */
export function blockAttachments(block: OpaqueBlock): readonly (TextBlock | ImageBlock)[] {
  const stored = blockResources(block).map(
    (resource): TextBlock => ({ type: "text", text: describeResource(resource), resource }),
  );
  const inline = opaqueMedia(block.data).flatMap(({ base64, imageType }): readonly ImageBlock[] =>
    imageType === undefined ? [] : [{ type: "image", data: base64, mimeType: imageType }],
  );
  return [...stored, ...inline];
}

type Replace = (medium: OpaqueMedium, prefix: string) => unknown;

/** Applies a function to each medium, and keeps those for which it returns undefined. */
function mapMedia(value: unknown, replace: Replace): unknown {
  return mapJson(value, (member, key, holder) => {
    if (typeof member !== "string" || member.length < minKnown) return undefined;
    const url = member.startsWith("data:") ? dataUrlStart.exec(member.slice(0, longestDataUrlStart)) : null;
    const prefix = url?.[0] ?? "";
    const base64 = prefix === "" ? member : member.slice(prefix.length);
    const declared = url?.[1] ?? declaredType(key, holder);
    if (!isMedium(base64, declared)) return undefined;
    const start = base64.slice(0, minKnown);
    const imageType = imageStarts.find(([pattern]) => pattern.test(start))?.[1];
    return replace({ base64, declared, imageType }, prefix);
  });
}

function isMedium(base64: string, declared: string | undefined): boolean {
  const start = base64.slice(0, minKnown);
  if (knownStart.test(start)) return base64Start.test(start);
  if (declared === undefined || base64.length < minUnknown || !base64Start.test(start)) return false;
  // Some put the text itself beside its type. Words are base64 but for the spaces between them.
  return !/^text\//i.test(declared) || !/\s/.test(base64.slice(0, minUnknown));
}

/** The media type of a member that holds base64; "" for one of unknown type, undefined for any other. */
function declaredType(key: string, holder: object): string | undefined {
  const members = holder as Readonly<Record<string, unknown>>;
  if (key === bytesMember) return "";
  if (key === "result" && members.type === "image_generation_call") {
    return typeof members.output_format === "string" ? `image/${members.output_format}` : "";
  }
  // OpenAI's audio of Chat Completions, which has no type.
  if (key === "data" && typeof members.expires_at === "number") return "";
  // Anthropic's source of plain text.
  if (!payloadMembers.has(key) || members.type === "text") return undefined;
  return typeMembers.map((name) => members[name]).find((type) => typeof type === "string");
}

function mapReferences(value: unknown, replace: (reference: Reference) => unknown): unknown {
  return mapJson(value, (member) => (isReference(member) ? replace(member) : undefined));
}

function isReference(value: unknown): value is Reference {
  if (!isRecord(value) || typeof value[referenceKey] !== "string") return false;
  const { prefix } = value;
  return prefix === undefined || typeof prefix === "string";
}

type Visit = (member: unknown, key: string, holder: object) => unknown;

/** Providers nest media at most ten levels deep. */
const maxMediaDepth = 64;

/** Copies a JSON value where `visit` returns another member. Returns the same value if nothing changes. */
function mapJson(value: unknown, visit: Visit, depth = maxMediaDepth): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    const mapped = visit(member, key, value) ?? mapJson(member, visit, depth - 1);
    if (mapped === member) continue;
    copy ??= (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
    Object.defineProperty(copy, key, { value: mapped, enumerable: true, writable: true, configurable: true });
  }
  return copy ?? value;
}

// The words in a provider's own block, for readers to which the block itself says nothing.

/** Members that hold words of a model or of a person. */
const spoken = ["text", "refusal", "transcript"] as const;
/** Members that hold parts with words. */
const nested = ["content", "parts", "source", "document"] as const;
/** Blocks whose text is no answer: reasoning, calls and their results. */
const unspoken = /reason|think|thought|tool|call|function|redacted/i;
/** Providers nest the text of a block at most five levels deep. */
const maxWordDepth = 16;

/**
 * The text of a provider's block that people read, with a line feed between its pieces: that of a cited
 * answer, of a document, of a part of an unknown type. Not reasoning, calls, results of tools, addresses and
 * names. Empty for none.
 */
export function opaqueWords(data: unknown): string {
  const words: string[] = [];
  collect(data, words, maxWordDepth);
  return words.join("\n");
}

/**
 * Whether a provider's own block is a summary that its API made of all before it: a `compaction` of Anthropic or of
 * OpenAI. One without content failed, and stands for nothing.
 */
export function isProviderSummary(data: unknown): data is { readonly type: "compaction" } {
  if (!isRecord(data) || data.type !== "compaction") return false;
  return [data.content, data.encrypted_content].some((part) => typeof part === "string" && part !== "");
}

function collect(value: unknown, words: string[], depth: number): void {
  if (depth === 0) return;
  if (Array.isArray(value)) {
    for (const each of value) add(each, words, depth);
    return;
  }
  if (!isRecord(value) || value.thought === true) return;
  const { type, content } = value;
  if (typeof type === "string" && unspoken.test(type)) return;
  for (const name of spoken) add(value[name], words, depth);
  for (const name of nested) if (typeof value[name] !== "string") collect(value[name], words, depth - 1);
  // A summary by Anthropic's API; text in place of parts.
  if (typeof content === "string") add(content, words, depth);
  // Anthropic's source of plain text.
  if (type === "text") add(value.data, words, depth);
  // A part that is named by its only member, as those of Gemini and Bedrock are.
  const [[name, only] = [], ...others] = Object.entries(value);
  const isUnion = name !== undefined && others.length === 0 && isRecord(only) && !apart.has(name);
  if (isUnion && !unspoken.test(name)) collect(only, words, depth - 1);
}

/** Members that are looked at already, and `message`: it is of fields beside those that are blocks. */
const apart: ReadonlySet<string> = new Set([...spoken, ...nested, "message"]);

function add(value: unknown, words: string[], depth: number): void {
  if (typeof value !== "string") collect(value, words, depth - 1);
  else if (/\S/.test(value)) words.push(value);
}
