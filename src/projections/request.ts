import type { LinkResource, StoredResource } from "../content/index.js";
import type { ProviderReference } from "./references.js";

/** The place in a context that a piece of a request comes from. */
export interface Origin {
  readonly entryId: string;
  /** Index among the context's items; -1 for what the projection itself put in. */
  readonly item: number;
  /** Index among the blocks of the item's message; absent where the whole message is meant. */
  readonly block?: number;
}

/** Text: never blank, well-formed, and without what the target refuses. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  /** The mark that the target's own model left on it; only there on text of its own. */
  readonly signature?: string;
  /** The link that the text describes, for targets that can point to one. */
  readonly link?: LinkResource;
  readonly origin: Origin;
}

/** Bytes of a type that the target takes at this place, as they are to be sent. */
export interface MediaPart {
  readonly type: "media";
  readonly kind: "image" | "document";
  /** As sniffed, such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** RFC 4648 section 4; made when first read, and one string from then on. */
  readonly base64: string;
  /** `data:<mediaType>;base64,` and the base64; made when first read, and one string from then on. */
  readonly dataUrl: string;
  /** The text of a document of type `text/…`, well-formed; empty for all else. */
  readonly text: string;
  /** Untrusted text, such as a file's base name. */
  readonly name?: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** More than one frame. */
  readonly animated?: boolean;
  /** Absent for an image that was inline in its message. */
  readonly resource?: StoredResource;
  readonly origin: Origin;
}

/** What the provider has already, by its own name or address. */
export interface ReferencePart {
  readonly type: "reference";
  readonly kind: "image" | "document";
  readonly mediaType: string;
  readonly reference: ProviderReference;
  readonly name?: string;
  readonly resource: StoredResource;
  readonly origin: Origin;
}

/** What a user turn shows. */
export type UserPart = TextPart | MediaPart | ReferencePart;

/** Reasoning of the target's own model, with its signature; never without, never of another maker. */
export interface ReasoningPart {
  readonly type: "reasoning";
  /** As it was, since the signature covers it; may be empty. */
  readonly text: string;
  readonly signature: string;
  /** The provider withheld the text. */
  readonly redacted: boolean;
  readonly origin: Origin;
}

/** A tool call. Its result is in the next turn. */
export interface CallPart {
  readonly type: "call";
  /** Unique in the request, and of characters and a length that the target takes. */
  readonly id: string;
  /** The id in the session. */
  readonly storedId: string;
  readonly name: string;
  /** An object where the target asks for one, well-formed all through. */
  readonly arguments: unknown;
  /** Only there on calls of the target's own model. */
  readonly signature?: string;
  /** The same. */
  readonly namespace?: string;
  /** The target's own model made it, in a message that was not cut off. */
  readonly own: boolean;
  /** The first call of its message. */
  readonly first: boolean;
  readonly origin: Origin;
}

/** A block that only the target's own provider understands, as it made it. */
export interface OpaquePart {
  readonly type: "opaque";
  readonly data: unknown;
  readonly origin: Origin;
}

/** What an assistant turn says. */
export type AssistantPart = TextPart | ReasoningPart | CallPart | OpaquePart;

/** The answer to a call of the turn before. */
export interface ResultPart {
  readonly type: "result";
  /** The id that the call has in this request. */
  readonly callId: string;
  readonly storedCallId: string;
  readonly name: string;
  readonly isError: boolean;
  /** At least one. */
  readonly parts: readonly UserPart[];
  readonly origin: Origin;
}

/**
 * What the user's side says: the results of the calls before it, one each in their order, and what is shown
 * after them.
 */
export interface UserTurn {
  readonly role: "user";
  readonly results: readonly ResultPart[];
  readonly parts: readonly UserPart[];
}

/** What the model said; never empty. */
export interface AssistantTurn {
  readonly role: "assistant";
  readonly parts: readonly AssistantPart[];
}

/** Turns alternate. */
export type Turn = UserTurn | AssistantTurn;

/** A request that no target has rendered yet: valid in every way that is common to them. */
export interface NeutralRequest {
  readonly system: readonly TextPart[];
  /** At least one. */
  readonly turns: readonly Turn[];
}

/** Any part of a request. */
export type Part = UserPart | AssistantPart | ResultPart;

/** Where an attachment stands, which decides on what a target takes of it. */
export type AttachmentPlace = "user" | "toolResult" | "textOnly";

/** An attachment that is still being decided on: words, and behind them what is sent, if anything is. */
export interface PendingAttachment {
  readonly type: "attachment";
  readonly place: AttachmentPlace;
  readonly origin: Origin;
  /** Stands before the media, or for it; empty for nothing. */
  text: string;
  /** What the words are about, where it is a link that may be told. */
  link?: LinkResource;
  media?: MediaPart | ReferencePart;
}

/** A part of what is shown, before attachments are settled. */
export type PendingUserPart = TextPart | PendingAttachment;

/** A part of what is said, before attachments are settled. */
export type PendingAssistantPart = AssistantPart | PendingAttachment;

/** A message of the user's side. */
export interface PendingUserMessage {
  readonly role: "user";
  readonly item: number;
  readonly parts: readonly PendingUserPart[];
}

/** A message of the model, whose calls have their stored ids still. */
export interface PendingAssistantMessage {
  readonly role: "assistant";
  readonly item: number;
  readonly parts: readonly PendingAssistantPart[];
}

/** What a tool gave back, wherever in the context it stands. */
export interface PendingToolResult {
  readonly role: "toolResult";
  readonly item: number;
  readonly origin: Origin;
  readonly isError: boolean;
  readonly parts: readonly PendingUserPart[];
}

/** A message of a context as a request sees it. */
export type PendingMessage = PendingUserMessage | PendingAssistantMessage | PendingToolResult;

/** The answer to a call, before attachments are settled. */
export interface PairedResult {
  readonly callId: string;
  readonly storedCallId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly parts: readonly PendingUserPart[];
  readonly origin: Origin;
}

/** Turns that alternate, before attachments are settled. */
export type PendingTurn =
  | { readonly role: "user"; readonly results: PairedResult[]; readonly parts: PendingUserPart[] }
  | { readonly role: "assistant"; readonly parts: PendingAssistantPart[] };
