/**
 * Which of several attachments a provider refuses, if it does not say: found by halves, over requests refused
 * and accepted.
 */
import type { Context } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft, Session } from "../session/index.js";
import { isRefused } from "./quarantine.js";

/** A block that a search leaves out or puts back. */
interface SearchedPlace {
  readonly entryId: string;
  /** Index among the blocks of the message. */
  readonly block: number;
}

/** An attachment with every place that shows it. */
export interface Suspect {
  /** The resource's id, or the place of an image that is inline. */
  readonly key: string;
  readonly places: readonly SearchedPlace[];
}

/**
 * The search for what a provider refuses without naming it. Give the same one to each `explain` of a
 * conversation, and append the drafts of `accepted` after each request that was accepted. It lives in memory:
 * after a restart, {@link resumeRefusalSearch} reads from the session what is out; with a new search that
 * stays out.
 *
 * @see {@link refusalSearch}
 */
export interface RefusalSearch {
  /**
   * Puts back what was left out and is no longer suspected, or is to be tried next. Empty if there is nothing
   * to put back.
   *
   * @param context that of the session now
   */
  accepted(context: Pick<Context, "items">): readonly EntryDraft[];
}

/**
 * A new search. Of n attachments of which one is refused, it is found within about log2(n) + 3 requests, each
 * other one is back, and nothing else was lost; each further one that is refused costs about log2(n) requests
 * more.
 *
 * @example
 * ```ts
 * const search = refusalSearch();
 * const sent = await project(await session.context(), openaiResponses({ model }), { blobs });
 * try {
 *   const reply = await client.responses.create({ model, store: false, ...sent.value });
 *   await session.append(search.accepted(await session.context()));
 *   await session.appendMessage(readOpenaiResponsesReply(reply, { model }));
 * } catch (error) {
 *   const fault = sent.explain(error, search);
 *   if (fault === undefined) throw error;
 *   await session.append(fault.drafts); // and send again
 * }
 * ```
 */
export function refusalSearch(): RefusalSearch {
  return new HalvingSearch();
}

/**
 * The search that a session is in the middle of, from the context edits and the replies on its path. What
 * `explain` left out and no acceptance proved refused is put back in time. What was proven innocent is not in
 * the session: a refusal after a restart searches all that is sent, which costs a few requests more.
 *
 * @example
 * ```ts
 * const search = await resumeRefusalSearch(session); // a new one if nothing is left out
 * await session.append(search.accepted(await session.context()));
 * ```
 */
export async function resumeRefusalSearch(
  session: Pick<Session, "leafId" | "tree" | "entry" | "context">,
): Promise<RefusalSearch> {
  const history = new SearchHistory();
  const path = session.tree.path(session.leafId);
  const order = new Map(path.map(({ id }, at) => [id, at]));
  const first = path.findIndex(({ type }) => type === "context_edit");
  const rest = first < 0 ? [] : path.slice(first);
  for (const [at, { id, type }] of rest.entries()) {
    if (type !== "context_edit" && type !== "message") continue;
    const { targetId, replacement, message } = ((await session.entry(id)) ?? {}) as EditOrMessage;
    if (isAnswer(message)) history.answered();
    const content = isRecord(replacement) ? replacement.content : undefined;
    if (typeof targetId !== "string" || !Array.isArray(content)) continue;
    history.putBack(targetId, content);
    if (!content.some(isRefused)) continue;
    const { items } = await session.context(path[first + at - 1]?.id ?? null);
    const before = items.find(({ entryId }) => entryId === targetId)?.message;
    history.leftOut(targetId, order.get(targetId) ?? 0, contentOf(before ?? {}) ?? [], content);
  }
  return history.search();
}

interface EditOrMessage {
  readonly targetId?: unknown;
  readonly replacement?: unknown;
  readonly message?: unknown;
}

function isAnswer(message: unknown): boolean {
  if (!isRecord(message) || message.role !== "assistant") return false;
  return message.stopReason !== "error" && message.stopReason !== "aborted";
}

/** A suspect that is out, with what was left out. */
interface OutSuspect extends Suspect {
  readonly order: number;
  readonly originals: ReadonlyMap<string, unknown>;
}

/**
 * What is out, by the edits of a session. Two refusals in a row count as one, whose group holds that of the
 * second.
 */
class SearchHistory {
  #sibling = new Map<string, OutSuspect>();
  #unknown = new Map<string, OutSuspect>();
  #last: "out" | "back" | "answer" = "answer";

  leftOut(entryId: string, order: number, before: readonly unknown[], after: readonly unknown[]): void {
    for (const [block, original] of before.entries()) {
      if (!isRefused(after[block]) || isRefused(original)) continue;
      if (this.#last !== "out") {
        this.#unknown = new Map([...this.#unknown, ...this.#sibling]);
        this.#sibling = new Map();
      }
      this.#last = "out";
      const resource = isRecord(original) && isRecord(original.resource) ? original.resource : {};
      const key = typeof resource.resourceId === "string" ? resource.resourceId : placeKey(entryId, block);
      const known = this.#sibling.get(key) ?? { key, order, places: [], originals: new Map() };
      const places = [...known.places, { entryId, block }];
      const originals = new Map([...known.originals, [placeKey(entryId, block), original]]);
      this.#sibling.set(key, { ...known, places, originals });
    }
  }

  putBack(entryId: string, content: readonly unknown[]): void {
    for (const group of [this.#sibling, this.#unknown]) {
      for (const [key, { places }] of group) {
        if (!places.some((place) => place.entryId === entryId && !isRefused(content[place.block]))) continue;
        group.delete(key);
        // The unknown ones go back once all that was tested is accepted: what is out beside them is refused.
        if (group === this.#unknown) this.#sibling.clear();
        this.#last = "back";
      }
    }
  }

  /** A reply beside what it puts back is the same acceptance. */
  answered(): void {
    if (this.#last !== "back" && this.#sibling.size === 1) this.#sibling.clear();
    this.#last = "answer";
  }

  search(): HalvingSearch {
    const [sibling, unknown] = [this.#sibling, this.#unknown].map((group) =>
      [...group.values()].sort((a, b) => a.order - b.order),
    ) as [OutSuspect[], OutSuspect[]];
    const originals = [...sibling, ...unknown].flatMap((one) => [...one.originals]);
    return new HalvingSearch({ sibling, unknown, originals: new Map(originals) });
  }
}

/** What a search knows of what is out. */
interface SearchState {
  readonly sibling: readonly Suspect[];
  readonly unknown: readonly Suspect[];
  readonly originals: Map<string, unknown>;
}

/** Binary splitting of groups, of which each holds one that is refused at least, or may hold one. */
export class HalvingSearch implements RefusalSearch {
  /** In the request, and not known to be accepted. */
  #tested: readonly Suspect[] = [];
  /** Out, and holds one that is refused if all of `#tested` are accepted. */
  #sibling: readonly Suspect[];
  /** Out, of which nothing is known. */
  #unknown: readonly Suspect[];
  readonly #innocent = new Set<string>();
  /** Blocks that were left out, by entry and index. */
  readonly #originals: Map<string, unknown>;

  constructor(
    { sibling, unknown, originals }: SearchState = { sibling: [], unknown: [], originals: new Map() },
  ) {
    this.#sibling = sibling;
    this.#unknown = unknown;
    this.#originals = originals;
  }

  /**
   * Which of the attachments of a refused request go out.
   *
   * @param sent all that can be meant, the oldest first
   */
  refused(sent: readonly Suspect[]): readonly Suspect[] {
    const suspects = sent.filter(({ key }) => !this.#innocent.has(key));
    // All that is there was accepted once: what is refused has changed.
    if (suspects.length === 0) this.#innocent.clear();
    const tested = suspects.length > 0 ? suspects : sent;
    this.#unknown = [...this.#unknown, ...this.#sibling];
    const kept = tested.slice(0, tested.length >> 1);
    const out = tested.slice(kept.length);
    this.#tested = kept;
    // One alone is the one that is refused, and stays out.
    this.#sibling = kept.length === 0 ? [] : out;
    return out;
  }

  /** Keeps the blocks that are about to be left out. */
  keep({ items }: Pick<Context, "items">, suspects: readonly Suspect[]): void {
    const contents = new Map(items.map(({ entryId, message }) => [entryId, contentOf(message)]));
    for (const { entryId, block } of suspects.flatMap(({ places }) => places)) {
      const original = contents.get(entryId)?.[block];
      if (original !== undefined) this.#originals.set(placeKey(entryId, block), original);
    }
  }

  accepted(context: Pick<Context, "items">): readonly EntryDraft[] {
    for (const { key } of this.#tested) this.#innocent.add(key);
    this.#tested = [];
    let back: readonly Suspect[] = [];
    if (this.#sibling.length > 1) {
      back = this.#sibling.slice(0, this.#sibling.length >> 1);
      this.#sibling = this.#sibling.slice(back.length);
    } else {
      this.#sibling = [];
      back = this.#unknown;
      this.#unknown = [];
    }
    this.#tested = back;
    return this.#restored(context, back);
  }

  #restored({ items }: Pick<Context, "items">, suspects: readonly Suspect[]): readonly EntryDraft[] {
    const wanted = new Map<string, Set<number>>();
    for (const { entryId, block } of suspects.flatMap(({ places }) => places)) {
      wanted.set(entryId, (wanted.get(entryId) ?? new Set()).add(block));
    }
    return items.flatMap(({ entryId, message }): EntryDraft[] => {
      const blocks = wanted.get(entryId);
      const content = contentOf(message);
      if (blocks === undefined || content === undefined) return [];
      const whole = content.map((block, index) =>
        blocks.has(index) ? (this.#originals.get(placeKey(entryId, index)) ?? block) : block,
      );
      return [{ type: "context_edit", targetId: entryId, replacement: { content: whole } }];
    });
  }
}

function contentOf(message: object): readonly unknown[] | undefined {
  return "content" in message && Array.isArray(message.content) ? message.content : undefined;
}

function placeKey(entryId: string, block: number): string {
  return `${entryId} ${block}`;
}
