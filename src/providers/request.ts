/** The neutral request: turns and parts before a target renders them. */

import type { BlobRef, LinkResource, StoredResource } from "../content/index.js";

/** The place in a context that a part of a request comes from. */
export interface Origin {
  readonly entryId: string;
  /** Index among the context's items; -1 for text that the projection added. */
  readonly item: number;
  /** Index among the blocks of the item's message; absent for the whole message. */
  readonly block?: number;
}

/** Text: never blank, well-formed, and without characters that the target refuses. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  /** The signature of the target's own model; only on its own text. */
  readonly signature?: string;
  /** Further members of the block, such as citations. Only on blocks of the target's own model. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
  /** Whether the text describes the media of a block of the target's own model that is not sent back. */
  readonly replaces?: "opaque";
  /** The link that the text describes, for targets that can represent links. */
  readonly link?: LinkResource;
  /** The instructions that the text tells of, given in mid-conversation, for targets that have a role for them. */
  readonly instructions?: string;
  /** The change of tools that the text tells of, for targets that have blocks or items for it. */
  readonly toolChange?: ToolChange;
  /** The type of the custom message, if the text counts until the user's next message and the provider clears it. */
  readonly turnOnly?: string;
  readonly origin: Origin;
}

/** Tools that a system message of mid-conversation adds, as it has them, and the names of those that it removes. */
export interface ToolChange {
  readonly added: readonly NamedTool[];
  readonly removed: readonly string[];
}

/** A tool as a session declares it: in the form of any provider. */
export interface NamedTool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Bytes of a type that the target accepts here, ready to send. */
export interface MediaPart {
  readonly type: "media";
  readonly kind: "image" | "document";
  /** The sniffed type, such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** RFC 4648 section 4. Computed on first access; always the same string. */
  readonly base64: string;
  /** `data:<mediaType>;base64,` and the base64. Computed on first access; always the same string. */
  readonly dataUrl: string;
  /** The text of a document of type `text/…`, well-formed; empty for other types. */
  readonly text: string;
  /** Untrusted text, such as a file's base name. */
  readonly name?: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** More than one frame. */
  readonly animated?: boolean;
  /** Pages of a PDF, if they can be counted. */
  readonly pages?: number;
  /** A PDF is encrypted, and opens without a password. */
  readonly encrypted?: boolean;
  /** Absent for an inline image. */
  readonly resource?: StoredResource;
  readonly origin: Origin;
}

/** An attachment that the provider already has, by its id or address. */
export interface ReferencePart {
  readonly type: "reference";
  readonly kind: "image" | "document";
  readonly mediaType: string;
  readonly reference: ProviderReference;
  readonly name?: string;
  readonly resource: StoredResource;
  readonly origin: Origin;
}

/** A part of a user turn. */
export type UserPart = TextPart | MediaPart | ReferencePart;

/** Signed reasoning of the target's own model. */
export interface ReasoningPart {
  readonly type: "reasoning";
  /** Unchanged, because the signature covers it; can be empty. */
  readonly text: string;
  readonly signature: string;
  /** Whether the provider withheld the text. */
  readonly redacted: boolean;
  /** Further members of the block, such as citations. Only on blocks of the target's own model. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
  readonly origin: Origin;
}

/** A tool call. Its result is in the next turn. */
export interface CallPart {
  readonly type: "call";
  /** Unique in the request, and valid for the target. */
  readonly id: string;
  /** The id in the session. */
  readonly storedId: string;
  readonly name: string;
  /** Well-formed; an object if the target requires one. */
  readonly arguments: unknown;
  /** Only on calls of the target's own model. */
  readonly signature?: string;
  /** Further members of the block, such as citations. Only on blocks of the target's own model. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
  /** Only on calls of the target's own model. */
  readonly namespace?: string;
  /** Whether the target's own model made the call, in a complete message. */
  readonly own: boolean;
  /** Whether it is the first call of its message. */
  readonly first: boolean;
  readonly origin: Origin;
}

/** A block that only the target's own provider understands, unchanged. */
export interface OpaquePart {
  readonly type: "opaque";
  /** The block with the base64 of its media. */
  readonly data: unknown;
  /** The media in the block, such as an image that the model made. */
  readonly media?: readonly MediaPart[];
  readonly origin: Origin;
}

/** A part of an assistant turn. */
export type AssistantPart = TextPart | ReasoningPart | CallPart | OpaquePart;

/** The result of a call of the previous turn. */
export interface ResultPart {
  readonly type: "result";
  /** The id of the call in this request. */
  readonly callId: string;
  readonly storedCallId: string;
  readonly name: string;
  readonly isError: boolean;
  /** At least one. */
  readonly parts: readonly UserPart[];
  readonly origin: Origin;
}

/** A user turn: one result per call of the previous turn, in their order, then the user's parts. */
export interface UserTurn {
  readonly role: "user";
  readonly results: readonly ResultPart[];
  readonly parts: readonly UserPart[];
}

/** An assistant turn; never empty. */
export interface AssistantTurn {
  readonly role: "assistant";
  readonly parts: readonly AssistantPart[];
  /** Members of the last reply of the turn beside its content. Only of the target's own model. */
  readonly providerFields?: Readonly<Record<string, unknown>>;
}

/** A turn. Turns alternate. */
export type Turn = UserTurn | AssistantTurn;

/** A request before a target renders it: valid by all rules that targets have in common. */
export interface NeutralRequest {
  readonly system: readonly TextPart[];
  /** At least one. */
  readonly turns: readonly Turn[];
}

/** Any part of a request. */
export type Part = UserPart | AssistantPart | ResultPart;

/**
 * The position of an attachment, which determines the media that a target accepts. `own`: in a block of the
 * target's own model, which goes back as it came.
 */
export type AttachmentPlace = "user" | "toolResult" | "own" | "textOnly";

/** An attachment under decision: text, followed by media if it is sent. */
export interface PendingAttachment {
  readonly type: "attachment";
  readonly place: AttachmentPlace;
  readonly origin: Origin;
  /** Of a block with several resources, the id of the one that is meant. */
  readonly resourceId?: string;
  /** Whether the provider requires the bytes in every turn. */
  readonly required?: boolean;
  /** Whether the block has other resources too, and is sent only with all of them. */
  readonly shared?: boolean;
  /** Text before the media, or in its place; empty for none. */
  text: string;
  /** The link that the text describes, if the boundary allows it. */
  link?: LinkResource;
  media?: MediaPart | ReferencePart;
}

/** A block with media of the target's own model, before these attachments are final. */
export interface PendingOpaque {
  readonly type: "opaqueMedia";
  /** The block with references in place of its media. */
  readonly data: unknown;
  /** One for each of its resources. */
  readonly attachments: readonly PendingAttachment[];
  readonly origin: Origin;
}

/** A part of a user turn, before attachments are final. */
export type PendingUserPart = TextPart | PendingAttachment;

/** A part of an assistant turn, before attachments are final. */
export type PendingAssistantPart = AssistantPart | PendingAttachment | PendingOpaque;

/** A user message. */
interface PendingUserMessage {
  readonly role: "user";
  readonly item: number;
  readonly parts: readonly PendingUserPart[];
}

/** An assistant message; its calls still have their stored ids. */
interface PendingAssistantMessage {
  readonly role: "assistant";
  readonly item: number;
  readonly parts: readonly PendingAssistantPart[];
  /** {@link AssistantTurn.providerFields} */
  readonly providerFields?: Readonly<Record<string, unknown>>;
}

/** A tool result, anywhere in the context. */
export interface PendingToolResult {
  readonly role: "toolResult";
  readonly item: number;
  readonly origin: Origin;
  readonly isError: boolean;
  readonly parts: readonly PendingUserPart[];
}

/** A message of a context, before turns are paired. */
export type PendingMessage = PendingUserMessage | PendingAssistantMessage | PendingToolResult;

/** The result of a call, before attachments are final. */
export interface PairedResult {
  readonly callId: string;
  readonly storedCallId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly parts: readonly PendingUserPart[];
  readonly origin: Origin;
}

/** Alternating turns, before attachments are final. */
export type PendingTurn =
  | { readonly role: "user"; readonly results: PairedResult[]; readonly parts: PendingUserPart[] }
  | {
      readonly role: "assistant";
      readonly parts: PendingAssistantPart[];
      providerFields?: Readonly<Record<string, unknown>>;
    };

// References to bytes that a provider already has.

/** A reference to bytes that a provider already has or can fetch. */
export type ProviderReference =
  /** The id of an upload; for Gemini its URI. */
  | { readonly kind: "file"; readonly id: string; readonly expiresAt?: number }
  /** A URL that the provider fetches, such as a presigned one. */
  | { readonly kind: "url"; readonly url: string; readonly expiresAt?: number };

/** The key of a reference: an upload belongs to one account of one provider. */
export interface ReferenceKey {
  readonly blob: BlobRef;
  readonly provider: string;
  /** Absent if the harness has only one. */
  readonly account?: string;
}

/**
 * The uploads of a harness. A projection looks here before it reads bytes, and uses a reference if the target
 * accepts its kind and it does not expire soon.
 */
export interface ReferenceCache {
  /** Returns the reference of a key, or undefined. */
  get(key: ReferenceKey): ProviderReference | undefined | Promise<ProviderReference | undefined>;
}

/** A writable {@link ReferenceCache} in memory. */
interface MemoryReferenceCache extends ReferenceCache {
  /** Returns the reference of a key, or undefined. */
  get(key: ReferenceKey): ProviderReference | undefined;
  /** Stores a reference, and replaces an earlier one. */
  set(key: ReferenceKey, reference: ProviderReference): void;
  /**
   * Deletes a reference, such as that of a file which the provider no longer has. Returns whether it existed.
   */
  delete(key: ReferenceKey): boolean;
}

/**
 * Creates a cache in memory. `expiresAt` is in milliseconds since 1970; only the projection evaluates it.
 * @example
 * ```ts
 * const references = memoryReferenceCache();
 * references.set({ blob: screenshot.blob, provider: "anthropic" }, { kind: "file", id: "file_1" });
 * ```
 */
export function memoryReferenceCache(): MemoryReferenceCache {
  const known = new Map<string, ProviderReference>();
  return {
    get: (key) => known.get(keyText(key)),
    set: (key, reference) => void known.set(keyText(key), reference),
    delete: (key) => known.delete(keyText(key)),
  };
}

function keyText({ blob, provider, account }: ReferenceKey): string {
  return JSON.stringify([blob, provider, account ?? null]);
}
