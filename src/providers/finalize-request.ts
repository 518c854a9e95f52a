/** Completes a request: placeholders for empty messages, media moved out of tool results; the messages of its turns. */

import { encodeUtf8 } from "../core/bytes.js";
import { type AttachmentState, descriptor } from "./attachment-state.js";
import type { LossList } from "./losses.js";
import { acceptsMedia, opaqueWithMedia } from "./media-part.js";
import { emptyText, noOutputText, nothingShownText } from "./placeholders.js";
import type {
  AssistantPart,
  NeutralRequest,
  Origin,
  PairedResult,
  Part,
  PendingAssistantPart,
  PendingAttachment,
  PendingOpaque,
  PendingTurn,
  PendingUserPart,
  ResultPart,
  TextPart,
  Turn,
  UserPart,
} from "./request.js";
import type { Target } from "./target.js";

/** The input of {@link finalizeRequest}. */
export interface UnfinishedRequest {
  readonly system: readonly PendingUserPart[];
  readonly turns: readonly PendingTurn[];
  readonly states: readonly AttachmentState[];
}

/**
 * Inserts the text and the media of each attachment. Media that the target accepts only in user messages move
 * from a tool result to after the results. A message or result without parts gets a placeholder: its removal
 * would depend on later messages and break the prompt's prefix.
 */
export function finalizeRequest(
  { system, turns, states }: UnfinishedRequest,
  target: Target<unknown>,
  losses: LossList,
): NeutralRequest {
  const finalizer = new RequestFinalizer(states, target, losses);
  const finalTurns = turns.map((turn): Turn => {
    if (turn.role === "assistant") return { ...turn, parts: finalizer.assistantParts(turn.parts) };
    const moved: UserPart[] = [];
    const results = turn.results.map((result) => finalizer.resultPart(result, moved));
    const own = finalizer.userParts(turn.parts);
    return { role: "user", results, parts: moved.length === 0 ? own : [...moved, ...own] };
  });
  const instructions = system.flatMap((part) => (isAttachment(part) ? textParts(part) : [part]));
  return { system: instructions, turns: finalTurns.length > 0 ? finalTurns : [emptyTurn] };
}

const emptyTurn: Turn = {
  role: "user",
  results: [],
  parts: [{ type: "text", text: emptyText, origin: { entryId: "", item: -1 } }],
};

/** Whether a request has only the placeholder for an empty context. */
export function isEmptyRequest({ turns }: NeutralRequest): boolean {
  return turns[0] === emptyTurn;
}

/** The final parts of each message, or one placeholder per message without parts. */
function eachMessage<Draft extends { readonly origin: Origin }, Part>(
  drafts: readonly Draft[],
  draftParts: (draft: Draft) => readonly Part[],
): readonly (Part | TextPart)[] {
  const parts: (Part | TextPart)[] = [];
  let partsBefore = 0;
  drafts.forEach((draft, at) => {
    for (const part of draftParts(draft)) parts.push(part);
    const { item } = draft.origin;
    if (drafts[at + 1]?.origin.item === item) return;
    if (parts.length === partsBefore)
      parts.push({ type: "text", text: nothingShownText, origin: draft.origin });
    partsBefore = parts.length;
  });
  return parts;
}

class RequestFinalizer {
  readonly #states: ReadonlyMap<PendingAttachment, AttachmentState>;
  readonly #target: Target<unknown>;
  readonly #losses: LossList;

  constructor(states: readonly AttachmentState[], target: Target<unknown>, losses: LossList) {
    this.#states = new Map(states.map((state) => [state.draft, state]));
    this.#target = target;
    this.#losses = losses;
  }

  assistantParts(parts: readonly PendingAssistantPart[]): readonly AssistantPart[] {
    if (!parts.some((part) => isAttachment(part) || part.type === "opaqueMedia"))
      return parts as readonly AssistantPart[];
    return eachMessage(parts, (part): readonly AssistantPart[] => {
      if (part.type === "opaqueMedia") return ownBlock(part);
      return isAttachment(part) ? textParts(part) : [part];
    });
  }

  userParts(parts: readonly PendingUserPart[]): readonly UserPart[] {
    if (!parts.some(isAttachment)) return parts as readonly UserPart[];
    return eachMessage(parts, (part): readonly UserPart[] => {
      if (!isAttachment(part)) return [part];
      return part.media === undefined ? textParts(part) : [...textParts(part), part.media];
    });
  }

  resultPart({ parts, ...facts }: PairedResult, moved: UserPart[]): ResultPart {
    const kept = parts.some(isAttachment)
      ? parts.flatMap((part) => (isAttachment(part) ? this.#inResult(part, moved) : [part]))
      : (parts as readonly UserPart[]);
    if (kept.length > 0) return { type: "result", ...facts, parts: kept };
    return { type: "result", ...facts, parts: [{ type: "text", text: noOutputText, origin: facts.origin }] };
  }

  #inResult(draft: PendingAttachment, moved: UserPart[]): readonly UserPart[] {
    const { media, origin } = draft;
    if (media === undefined) return textParts(draft);
    if (acceptsMedia(this.#target.accepts?.toolResult ?? [], media.mediaType))
      return [...textParts(draft), media];
    const state = this.#states.get(draft);
    const name = state === undefined ? draft.text : descriptor(state);
    const text = `${name} (shown after the results)`;
    const reason = "the target takes no such thing in a tool's result";
    const resourceId = media.resource?.resourceId;
    const known = resourceId === undefined ? {} : { resourceId };
    this.#losses.add(origin, { code: "moved", by: "target", ...known, reason, instead: text });
    moved.push({ type: "text", text: name, origin }, media);
    return [{ type: "text", text, origin }];
  }
}

/** A block of the target's own model, or the texts of its media if one of them is not sent. */
function ownBlock(block: PendingOpaque): readonly AssistantPart[] {
  const part = opaqueWithMedia(block);
  if (part !== undefined) return [part];
  return block.attachments.flatMap((draft) => {
    delete draft.media;
    return textParts(draft).map((text) => ({ ...text, replaces: "opaque" as const }));
  });
}

function isAttachment(part: PendingUserPart | PendingAssistantPart): part is PendingAttachment {
  return part.type === "attachment";
}

function textParts({ text, link, origin }: PendingAttachment): readonly TextPart[] {
  return text === "" ? [] : [{ type: "text", text, ...(link === undefined ? {} : { link }), origin }];
}

/** JSON escapes a control character in six bytes, the maximum for one UTF-16 unit. */
const mostBytesPerUnit = 6;
/** All but these; of these, JSON escapes quotes, backslashes and line breaks in two bytes. */
const notPlain = /[^\x20-\x7e\n\t\r]/;
const mostBytesPerPlainUnit = 2;
const quotes = 2;
/** An upper bound for the keys and ids that a target puts around a part or a result. */
const bytesAround = 300;

/**
 * An upper bound for the bytes of a request without its attachments. Uses lengths alone if that bound fits
 * into the room, then lengths and character classes, and encodes the texts only if neither fits.
 */
export function textBytes(
  system: readonly PendingUserPart[],
  turns: readonly PendingTurn[],
  room: number,
): number {
  const texts = [...systemTexts(system, turns)];
  const around = texts.length * bytesAround;
  const most = texts.reduce((sum, { length }) => sum + length * mostBytesPerUnit, around);
  if (most <= room) return most;
  const less = texts.reduce((sum, text) => sum + boundOf(text), around);
  if (less <= room) return less;
  return texts.reduce((sum, text) => sum + encodeUtf8(JSON.stringify(text)).length - quotes, around);
}

function boundOf(text: string): number {
  return text.length * (notPlain.test(text) ? mostBytesPerUnit : mostBytesPerPlainUnit);
}

/** The bound by lengths and character classes alone. */
export function plainTextBytes(turns: readonly PendingTurn[]): number {
  let sum = 0;
  for (const text of systemTexts([], turns)) sum += boundOf(text) + bytesAround;
  return sum;
}

function* systemTexts(system: readonly PendingUserPart[], turns: readonly PendingTurn[]): Iterable<string> {
  for (const part of system) yield partText(part);
  for (const turn of turns) {
    const results = turn.role === "user" ? turn.results : [];
    for (const { name, parts } of results) {
      // A result without parts is sent too.
      yield name;
      for (const part of parts) yield partText(part);
    }
    for (const part of turn.parts) yield partText(part);
  }
}

function partText(part: PendingUserPart | PendingAssistantPart): string {
  switch (part.type) {
    case "opaqueMedia":
      return (JSON.stringify(part.data) ?? "") + part.attachments.map(({ text }) => text).join("");
    case "attachment":
      return part.text;
    case "text":
    case "reasoning":
      return part.text + (part.signature ?? "") + fieldsText(part);
    case "call":
      return (JSON.stringify(part.arguments) ?? "") + (part.signature ?? "") + fieldsText(part);
    case "opaque":
      return JSON.stringify(part.data) ?? "";
  }
}

function fieldsText({ providerFields }: Pick<TextPart, "providerFields">): string {
  return providerFields === undefined ? "" : JSON.stringify(providerFields);
}

/**
 * Groups the parts of a turn by their messages. For protocols that accept several messages of one role
 * in a row: an appended message then does not change the bytes before it.
 */
export function messagesIn<P extends Part>(parts: readonly P[]): readonly (readonly P[])[] {
  const messages: P[][] = [];
  for (const part of parts) {
    const last = messages.at(-1);
    if (last?.[0]?.origin.item === part.origin.item) last.push(part);
    else messages.push([part]);
  }
  return messages;
}
