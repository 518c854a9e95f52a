/**
 * Finds which of several attachments a provider refuses if its error does not name it: a bisection over
 * refused and accepted requests.
 */
import type { Context } from "../content/index.js";
import { isRecord } from "../core/shape.js";
import type { EntryDraft, Session } from "../session/index.js";
import { isRefused, type QuarantinePlace } from "./quarantine.js";

/** Content that a refusal may be about, with all its occurrences. */
export interface Suspect {
  /** The resource's id, or the position of other content. */
  readonly key: string;
  readonly places: readonly QuarantinePlace[];
}

/**
 * The search for content that a provider refuses. Pass the same search to each `explain` of a conversation,
 * and append the drafts of `accepted` after each accepted request. If there are any, drop the reply and ask
 * again. An exclusion counts as right only after an acceptance: if the provider still refuses and nothing is
 * left to exclude, `explain` gives drafts that restore all, with the code `unsolved`, and undefined until the
 * next message. The state is in memory: after a restart, {@link resumeRefusalSearch} reads it from the
 * session.
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
 *   if (fault !== undefined) await session.append(fault.drafts);
 *   if (fault?.code !== "excluded") throw error; // else send again
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
  const path = (await session.tree()).path(session.leafId);
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
    const blocks = messageContent(before ?? {});
    history.leftOut(targetId, order.get(targetId) ?? 0, Array.isArray(blocks) ? blocks : [], content);
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
        const isBack = ({ entryId: at, block }: QuarantinePlace) =>
          at === entryId && block !== undefined && !isRefused(content[block]);
        if (!places.some(isBack)) continue;
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

/** An exclusion that no bisection tests. */
interface DirectExclusion {
  readonly suspects: readonly Suspect[];
  /** The provider's message. */
  readonly message: string;
  /** Whether the message named it by a path or an id. */
  readonly isNamed: boolean;
}

/** Binary splitting of groups, each of which holds or may hold a refused attachment. */
export class HalvingSearch implements RefusalSearch {
  /** In the request, and not yet proven innocent. */
  #tested: readonly Suspect[] = [];
  /** Excluded, and guilty if all of `#tested` are accepted. */
  #sibling: readonly Suspect[];
  /** Excluded, without any knowledge. */
  #unknown: readonly Suspect[];
  /** Excluded since the last acceptance, as the last of their groups. */
  #last: readonly Suspect[] = [];
  /** Excluded since the last acceptance, without a bisection. */
  #direct: readonly DirectExclusion[] = [];
  readonly #innocent = new Set<string>();
  /** The original content of excluded blocks, by entry and index. */
  readonly #originals: Map<string, unknown>;
  /** The content of messages that are excluded whole, by entry. */
  readonly #wholes = new Map<string, Content>();
  /** The entries of the context in which the search gave up. */
  #endedIn: ReadonlySet<string> | undefined;

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
    // A single suspect is guilty, and stays excluded if the next request is accepted.
    this.#sibling = kept.length === 0 ? [] : out;
    if (kept.length === 0) this.#last = [...this.#last, ...out];
    return out;
  }

  /**
   * Saves the content that drafts exclude.
   * @param direct the refusal, if it was no bisection that chose the suspects
   */
  keep(
    { items }: Pick<Context, "items">,
    suspects: readonly Suspect[],
    drafts: readonly EntryDraft[],
    direct?: Omit<DirectExclusion, "suspects">,
  ): void {
    const contents = new Map(items.map(({ entryId, message }) => [entryId, messageContent(message)]));
    for (const { entryId, block } of suspects.flatMap(({ places }) => places)) {
      const content = contents.get(entryId);
      if (block === undefined || !Array.isArray(content)) continue;
      const key = placeKey(entryId, block);
      // What stands for an excluded block is no original.
      if (content[block] !== undefined && !this.#originals.has(key)) this.#originals.set(key, content[block]);
    }
    for (const draft of drafts) {
      if (draft.type !== "context_edit" || draft.replacement !== null) continue;
      const content = contents.get(draft.targetId);
      if (content !== undefined) this.#wholes.set(draft.targetId, content);
    }
    if (direct !== undefined) this.#direct = [...this.#direct, { suspects, ...direct }];
  }

  accepted(context: Pick<Context, "items">): readonly EntryDraft[] {
    for (const { key } of this.#tested) this.#innocent.add(key);
    [this.#tested, this.#last, this.#direct, this.#endedIn] = [[], [], [], undefined];
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

  /** Drafts that restore what the same message named before: its exclusion did not help. */
  undoNamed(context: Pick<Context, "items">, message: string): readonly EntryDraft[] {
    const inVain = this.#direct.filter((one) => one.isNamed && one.message === message);
    this.#direct = this.#direct.filter((one) => !inVain.includes(one));
    const suspects = inVain.flatMap((one) => one.suspects);
    for (const { key } of suspects) this.#innocent.add(key);
    return this.#restored(context, suspects);
  }

  /** Drafts that restore all exclusions that no acceptance confirmed. Ends the search in this context. */
  giveUp(context: Pick<Context, "items">): readonly EntryDraft[] {
    const direct = this.#direct.flatMap(({ suspects }) => suspects);
    const drafts = this.#restored(context, [...this.#unknown, ...this.#sibling, ...this.#last, ...direct]);
    [this.#tested, this.#sibling, this.#unknown, this.#last, this.#direct] = [[], [], [], [], []];
    this.#innocent.clear();
    if (drafts.length === 0) return [];
    const restored = drafts.flatMap((draft) => (draft.type === "context_edit" ? [draft.targetId] : []));
    this.#endedIn = new Set([...context.items.map(({ entryId }) => entryId), ...restored]);
    return drafts;
  }

  /** Whether the search gave up, and no message came since. */
  hasEnded({ items }: Pick<Context, "items">): boolean {
    const ended = this.#endedIn;
    return ended !== undefined && items.every(({ entryId }) => ended.has(entryId));
  }

  #restored({ items }: Pick<Context, "items">, suspects: readonly Suspect[]): readonly EntryDraft[] {
    const wanted = new Map<string, Set<number | undefined>>();
    for (const { entryId, block } of suspects.flatMap(({ places }) => places)) {
      wanted.set(entryId, (wanted.get(entryId) ?? new Set()).add(block));
    }
    const contents = new Map(items.map(({ entryId, message }) => [entryId, messageContent(message)]));
    return [...wanted].flatMap(([entryId, blocks]): EntryDraft[] => {
      const content = contents.get(entryId) ?? this.#wholes.get(entryId);
      this.#wholes.delete(entryId);
      if (content === undefined) return [];
      if (!Array.isArray(content))
        return [{ type: "context_edit", targetId: entryId, replacement: { content } }];
      const whole = content.map((block, index) => {
        const key = placeKey(entryId, index);
        const original = blocks.has(index) ? this.#originals.get(key) : undefined;
        if (original !== undefined) this.#originals.delete(key);
        return original ?? block;
      });
      return [{ type: "context_edit", targetId: entryId, replacement: { content: whole } }];
    });
  }
}

type Content = string | readonly unknown[];

function messageContent(message: object): Content | undefined {
  if (!("content" in message)) return undefined;
  const { content } = message;
  return typeof content === "string" || Array.isArray(content) ? content : undefined;
}

function placeKey(entryId: string, block: number): string {
  return `${entryId} ${block}`;
}
