import { placeKey } from "./attach.js";
import type { AttachmentDraft, PairedResult, SaidDraft, ShownDraft, TurnDraft } from "./draft.js";
import type { LossList } from "./loss.js";
import { isTaken } from "./media-types.js";
import type { Target } from "./target.js";
import type { NeutralRequest, Origin, ResultPart, SaidPart, ShownPart, TextPart, Turn } from "./turns.js";
import { emptyText, noOutputText, nothingShownText } from "./words.js";
import { type AttachmentWork, descriptor } from "./work.js";

/** What settling puts together. */
export interface Unsettled {
  readonly system: readonly TextPart[];
  readonly turns: readonly TurnDraft[];
  readonly works: readonly AttachmentWork[];
  /** Places of which nothing may leave. */
  readonly omitted: ReadonlySet<string>;
}

/**
 * Puts each attachment's words and media in its place. Media that the target takes from a user only go from a tool's result
 * to behind the results. No turn and no result is left empty.
 */
export function settle(
  { system, turns, works, omitted }: Unsettled,
  target: Target<unknown>,
  losses: LossList,
): NeutralRequest {
  const settler = new Settler(works, target, losses);
  const settled = turns.map((turn): Turn => {
    if (turn.role === "assistant") {
      const parts = settler.said(turn.parts);
      return { role: "assistant", parts: parts.length > 0 ? parts : [nothingShown(turn.parts)] };
    }
    const moved: ShownPart[] = [];
    const results = turn.results.map((result) => settler.result(result, moved));
    const shown = settler.shown(turn.parts);
    const parts = moved.length === 0 ? shown : [...moved, ...shown];
    const empty = results.length === 0 && parts.length === 0;
    return { role: "user", results, parts: empty ? [nothingShown(turn.parts)] : parts };
  });
  const instructions =
    omitted.size === 0
      ? system
      : system.filter(({ origin }) => !omitted.has(placeKey(origin.item, origin.block)));
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

function nothingShown(parts: readonly (ShownDraft | SaidDraft)[]): TextPart {
  const origin: Origin = parts[0]?.origin ?? { entryId: "", item: -1 };
  return { type: "text", text: nothingShownText, origin };
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
    return parts.flatMap((part): readonly SaidPart[] => (isAttachment(part) ? words(part) : [part]));
  }

  shown(parts: readonly ShownDraft[]): readonly ShownPart[] {
    if (!parts.some(isAttachment)) return parts as readonly ShownPart[];
    return parts.flatMap((part): readonly ShownPart[] => {
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
