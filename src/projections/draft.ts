import type { LinkResource } from "../content/index.js";
import type { MediaPart, Origin, ReferencePart, SaidPart, TextPart } from "./turns.js";

/** Where an attachment stands, which decides on what a target takes of it. */
export type AttachmentPlace = "user" | "toolResult" | "textOnly";

/** An attachment that is still being decided on: words, and behind them what is sent, if anything is. */
export interface AttachmentDraft {
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
export type ShownDraft = TextPart | AttachmentDraft;

/** A part of what is said, before attachments are settled. */
export type SaidDraft = SaidPart | AttachmentDraft;

/** A message of the user's side. */
export interface UserDraft {
  readonly role: "user";
  readonly item: number;
  readonly parts: readonly ShownDraft[];
}

/** A message of the model, whose calls have their stored ids still. */
export interface AssistantDraft {
  readonly role: "assistant";
  readonly item: number;
  readonly parts: readonly SaidDraft[];
}

/** What a tool gave back, wherever in the context it stands. */
export interface ResultDraft {
  readonly role: "toolResult";
  readonly item: number;
  readonly origin: Origin;
  readonly isError: boolean;
  readonly parts: readonly ShownDraft[];
}

/** A message of a context as a request sees it. */
export type MessageDraft = UserDraft | AssistantDraft | ResultDraft;

/** The answer to a call, before attachments are settled. */
export interface PairedResult {
  readonly callId: string;
  readonly storedCallId: string;
  readonly name: string;
  readonly isError: boolean;
  readonly parts: readonly ShownDraft[];
  readonly origin: Origin;
}

/** Turns that alternate, before attachments are settled. */
export type TurnDraft =
  | { readonly role: "user"; readonly results: PairedResult[]; readonly parts: ShownDraft[] }
  | { readonly role: "assistant"; readonly parts: SaidDraft[] };
