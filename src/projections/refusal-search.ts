/** Which of several attachments a provider refuses, if it does not say: found by halves, over requests refused and accepted. */
import type { Context } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

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
 * The search for what a provider refuses without naming it. Give the same one to each `explain` of a conversation, and append
 * the drafts of `accepted` after each request that was accepted. It lives in memory: after a restart, what is out stays out.
 *
 * @see {@link refusalSearch}
 */
export interface RefusalSearch {
  /**
   * Puts back what was left out and is no longer suspected, or is to be tried next. Empty if there is nothing to put back.
   *
   * @param context that of the session now
   */
  accepted(context: Pick<Context, "items">): readonly EntryDraft[];
}

/**
 * A new search. Of n attachments of which one is refused, it is found within about log2(n) + 3 requests, each other one is
 * back, and nothing else was lost; each further one that is refused costs about log2(n) requests more.
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

/** Binary splitting of groups, of which each holds one that is refused at least, or may hold one. */
export class HalvingSearch implements RefusalSearch {
  /** In the request, and not known to be accepted. */
  #tested: readonly Suspect[] = [];
  /** Out, and holds one that is refused if all of `#tested` are accepted. */
  #sibling: readonly Suspect[] = [];
  /** Out, of which nothing is known. */
  #unknown: readonly Suspect[] = [];
  readonly #innocent = new Set<string>();
  /** Blocks that were left out, by entry and index. */
  readonly #originals = new Map<string, unknown>();

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
