import type { AttachmentDraft, PairedResult, SaidDraft, ShownDraft, TurnDraft } from "./draft.js";
import type { LossList } from "./loss.js";
import { isTaken } from "./media-types.js";
import type { Target } from "./target.js";
import type { NeutralRequest, Origin, ResultPart, SaidPart, ShownPart, TextPart, Turn } from "./turns.js";
import { emptyText, noOutputText, nothingShownText } from "./words.js";
import { type AttachmentWork, descriptor } from "./work.js";

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
