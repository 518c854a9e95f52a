import { encodeUtf8 } from "../internal/bytes.js";
import { type AttachmentWork, descriptor } from "./attachment-state.js";
import type { LossList } from "./losses.js";
import { isTaken } from "./media-part.js";
import { emptyText, noOutputText, nothingShownText } from "./placeholders.js";
import type {
  AttachmentDraft,
  NeutralRequest,
  Origin,
  PairedResult,
  ResultPart,
  SaidDraft,
  SaidPart,
  ShownDraft,
  ShownPart,
  TextPart,
  Turn,
  TurnDraft,
} from "./request.js";
import type { Target } from "./target.js";

/** What settling puts together. */
export interface Unsettled {
  readonly system: readonly ShownDraft[];
  readonly turns: readonly TurnDraft[];
  readonly works: readonly AttachmentWork[];
}

/**
 * Puts each attachment's words and media in its place. Media that the target takes from a user only go from a tool's result
 * to behind the results. Of no message, and of no result, nothing is left: that would depend on what comes after it.
 */
export function settle(
  { system, turns, works }: Unsettled,
  target: Target<unknown>,
  losses: LossList,
): NeutralRequest {
  const settler = new Settler(works, target, losses);
  const settled = turns.map((turn): Turn => {
    if (turn.role === "assistant") return { role: "assistant", parts: settler.said(turn.parts) };
    const moved: ShownPart[] = [];
    const results = turn.results.map((result) => settler.result(result, moved));
    const shown = settler.shown(turn.parts);
    return { role: "user", results, parts: moved.length === 0 ? shown : [...moved, ...shown] };
  });
  const instructions = system.flatMap((part) => (isAttachment(part) ? words(part) : [part]));
  return { system: instructions, turns: settled.length > 0 ? settled : [emptyTurn] };
}

const emptyTurn: Turn = {
  role: "user",
  results: [],
  parts: [{ type: "text", text: emptyText, origin: { entryId: "", item: -1 } }],
};

/** Whether a request says only that there is nothing. */
export function isEmptyRequest({ turns }: NeutralRequest): boolean {
  return turns[0] === emptyTurn;
}

/** Each message's parts as they are sent, or a word for all of them. */
function eachMessage<Draft extends { readonly origin: Origin }, Part>(
  drafts: readonly Draft[],
  partsOf: (draft: Draft) => readonly Part[],
): readonly (Part | TextPart)[] {
  const parts: (Part | TextPart)[] = [];
  let shown = 0;
  drafts.forEach((draft, at) => {
    for (const part of partsOf(draft)) parts.push(part);
    const { item } = draft.origin;
    if (drafts[at + 1]?.origin.item === item) return;
    if (parts.length === shown) parts.push({ type: "text", text: nothingShownText, origin: draft.origin });
    shown = parts.length;
  });
  return parts;
}

class Settler {
  readonly #works: ReadonlyMap<AttachmentDraft, AttachmentWork>;
  readonly #target: Target<unknown>;
  readonly #losses: LossList;

  constructor(works: readonly AttachmentWork[], target: Target<unknown>, losses: LossList) {
    this.#works = new Map(works.map((work) => [work.draft, work]));
    this.#target = target;
    this.#losses = losses;
  }

  said(parts: readonly SaidDraft[]): readonly SaidPart[] {
    if (!parts.some(isAttachment)) return parts as readonly SaidPart[];
    return eachMessage(parts, (part): readonly SaidPart[] => (isAttachment(part) ? words(part) : [part]));
  }

  shown(parts: readonly ShownDraft[]): readonly ShownPart[] {
    if (!parts.some(isAttachment)) return parts as readonly ShownPart[];
    return eachMessage(parts, (part): readonly ShownPart[] => {
      if (!isAttachment(part)) return [part];
      return part.media === undefined ? words(part) : [...words(part), part.media];
    });
  }

  result({ parts, ...facts }: PairedResult, moved: ShownPart[]): ResultPart {
    const kept = parts.some(isAttachment)
      ? parts.flatMap((part) => (isAttachment(part) ? this.#inResult(part, moved) : [part]))
      : (parts as readonly ShownPart[]);
    if (kept.length > 0) return { type: "result", ...facts, parts: kept };
    return { type: "result", ...facts, parts: [{ type: "text", text: noOutputText, origin: facts.origin }] };
  }

  #inResult(draft: AttachmentDraft, moved: ShownPart[]): readonly ShownPart[] {
    const { media, origin } = draft;
    if (media === undefined) return words(draft);
    if (isTaken(this.#target.accepts?.toolResult ?? [], media.mediaType)) return [...words(draft), media];
    const work = this.#works.get(draft);
    const name = work === undefined ? draft.text : descriptor(work);
    const text = `${name} (shown after the results)`;
    const reason = "the target takes no such thing in a tool's result";
    const resourceId = media.resource?.resourceId;
    const known = resourceId === undefined ? {} : { resourceId };
    this.#losses.add(origin, { code: "moved", by: "target", ...known, reason, instead: text });
    moved.push({ type: "text", text: name, origin }, media);
    return [{ type: "text", text, origin }];
  }
}

function isAttachment(part: ShownDraft | SaidDraft): part is AttachmentDraft {
  return part.type === "attachment";
}

function words({ text, link, origin }: AttachmentDraft): readonly TextPart[] {
  return text === "" ? [] : [{ type: "text", text, ...(link === undefined ? {} : { link }), origin }];
}

/** JSON writes a control character in six bytes; nothing takes more for one UTF-16 unit. */
const mostBytesPerUnit = 6;
/** Of these a quote, a backslash and a line break take two, and the rest one. */
const plainText = /^[\x20-\x7e\n\t\r]*$/;
const mostBytesPerPlainUnit = 2;
const quotes = 2;
/** What any target puts around a part or a result, its keys and an id among it. */
const bytesAround = 300;

/**
 * At least as many bytes as a request has besides its attachments. By lengths alone where that is no more than the room
 * there is, or by lengths and a look at the characters; by writing it out where both are.
 */
export function textBytes(system: readonly ShownDraft[], turns: readonly TurnDraft[], room: number): number {
  const texts = [...textsOf(system, turns)];
  const around = texts.length * bytesAround;
  const most = texts.reduce((sum, { length }) => sum + length * mostBytesPerUnit, around);
  if (most <= room) return most;
  const less = texts.reduce(
    (sum, text) => sum + text.length * (plainText.test(text) ? mostBytesPerPlainUnit : mostBytesPerUnit),
    around,
  );
  if (less <= room) return less;
  return texts.reduce((sum, text) => sum + encodeUtf8(JSON.stringify(text)).length - quotes, around);
}

function* textsOf(system: readonly ShownDraft[], turns: readonly TurnDraft[]): Iterable<string> {
  for (const part of system) yield textOf(part);
  for (const turn of turns) {
    const results = turn.role === "user" ? turn.results : [];
    for (const { name, parts } of results) {
      // Without parts it is sent all the same.
      yield name;
      for (const part of parts) yield textOf(part);
    }
    for (const part of turn.parts) yield textOf(part);
  }
}

function textOf(part: ShownDraft | SaidDraft): string {
  switch (part.type) {
    case "text":
    case "attachment":
      return part.text + ("signature" in part ? part.signature : "");
    case "reasoning":
      return part.text + part.signature;
    case "call":
      return (JSON.stringify(part.arguments) ?? "") + (part.signature ?? "");
    case "opaque":
      return JSON.stringify(part.data) ?? "";
  }
}
