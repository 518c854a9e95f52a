/**
 * Finds which of several attachments a provider refuses if its error does not name it: a bisection over
 * refused and accepted requests.
 */
import type { Context } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft, Session } from "../session/index.js";
import { isRefused } from "./quarantine.js";

/** A block that a search excludes or restores. */
interface SearchedPlace {
  readonly entryId: string;
  /** Index among the blocks of the message. */
  readonly block: number;
}

/** An attachment with all its occurrences. */
export interface Suspect {
  /** The resource's id, or the position of an inline image. */
  readonly key: string;
  readonly places: readonly SearchedPlace[];
}

/**
 * The search for attachments that a provider refuses without naming them. Pass the same search to each
 * `explain` of a conversation, and append the drafts of `accepted` after each accepted request. If there are
 * any, drop the reply and ask again. The state is in memory: after a restart, {@link resumeRefusalSearch}
 * reads it from the session.
 * @see {@link refusalSearch}
 */
export interface RefusalSearch {
  /**
   * Drafts that restore excluded blocks which are proven innocent or are tested next. Empty if there is
   * nothing to restore. The accepted reply did not see these blocks: append the drafts, not the reply, and
   * send again. After an appended reply they belong to an earlier turn, which the default replay sends as
   * descriptors.
   * @param context the current context of the session
   */
  accepted(context: Pick<Context, "items">): readonly EntryDraft[];
}

/**
 * Starts a search. Finds one refused attachment among n within about log2(n) + 3 requests and restores all
 * others. Each further refused attachment costs about log2(n) requests.
 * @example
 * ```ts
 * const search = refusalSearch();
 * const sent = await project(await session.context(), openaiResponses({ model }), { blobs });
 * try {
 *   const reply = await client.responses.create({ model, store: false, ...sent.value });
 *   const innocent = search.accepted(await session.context());
 *   if (innocent.length > 0) await session.append(innocent); // and send again, without this reply
 *   else await session.appendMessage(readOpenaiResponsesReply(reply, { model }));
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
 * Resumes the search of a session, from the context edits and the replies on its path. Blocks that `explain`
 * excluded and that no acceptance proved guilty are restored in time. The session does not record which
 * attachments are innocent, so a refusal after a restart searches all of them, in a few more requests.
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

/** An excluded suspect, with its original content. */
interface OmittedSuspect extends Suspect {
  readonly order: number;
  readonly originals: ReadonlyMap<string, unknown>;
}

/**
 * The excluded blocks, by the context edits of a session. Two consecutive refusals count as one, because the
 * group of the first contains that of the second.
 */
class SearchHistory {
  #sibling = new Map<string, OmittedSuspect>();
  #unknown = new Map<string, OmittedSuspect>();
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
        // Unknown blocks are restored once all tested blocks are accepted: then the remaining group is
        // guilty.
        if (group === this.#unknown) this.#sibling.clear();
        this.#last = "back";
      }
    }
  }

  /** A reply beside the restored blocks is the same acceptance. */
  answered(): void {
    if (this.#last !== "back" && this.#sibling.size === 1) this.#sibling.clear();
    this.#last = "answer";
  }

  search(): HalvingSearch {
    const [sibling, unknown] = [this.#sibling, this.#unknown].map((group) =>
      [...group.values()].sort((a, b) => a.order - b.order),
    ) as [OmittedSuspect[], OmittedSuspect[]];
    const originals = [...sibling, ...unknown].flatMap((one) => [...one.originals]);
    return new HalvingSearch({ sibling, unknown, originals: new Map(originals) });
  }
}

/** The state of a search. */
interface SearchState {
  readonly sibling: readonly Suspect[];
  readonly unknown: readonly Suspect[];
  readonly originals: Map<string, unknown>;
}

/** Binary splitting of groups, each of which holds or may hold a refused attachment. */
export class HalvingSearch implements RefusalSearch {
  /** In the request, and not yet proven innocent. */
  #tested: readonly Suspect[] = [];
  /** Excluded, and guilty if all of `#tested` are accepted. */
  #sibling: readonly Suspect[];
  /** Excluded, without any knowledge. */
  #unknown: readonly Suspect[];
  readonly #innocent = new Set<string>();
  /** The original content of excluded blocks, by entry and index. */
  readonly #originals: Map<string, unknown>;

  constructor(
    { sibling, unknown, originals }: SearchState = { sibling: [], unknown: [], originals: new Map() },
  ) {
    this.#sibling = sibling;
    this.#unknown = unknown;
    this.#originals = originals;
  }

  /**
   * Chooses the attachments to exclude after a refusal.
   * @param sent all candidates, oldest first
   */
  refused(sent: readonly Suspect[]): readonly Suspect[] {
    const suspects = sent.filter(({ key }) => !this.#innocent.has(key));
    // All candidates were accepted once: the cause of the refusal has changed.
    if (suspects.length === 0) this.#innocent.clear();
    const tested = suspects.length > 0 ? suspects : sent;
    this.#unknown = [...this.#unknown, ...this.#sibling];
    const kept = tested.slice(0, tested.length >> 1);
    const out = tested.slice(kept.length);
    this.#tested = kept;
    // A single suspect is guilty, and stays excluded.
    this.#sibling = kept.length === 0 ? [] : out;
    return out;
  }

  /** Saves the blocks that the search is about to exclude. */
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
