/** What a projection keeps of a request for the next one, which then renders only what the session added. */

import type { Context } from "../content/index.js";
import type { AttachmentState } from "./attachment-state.js";
import type { FoundLoss } from "./losses.js";
import { CallIds, type EarlierCalls } from "./pair-tool-calls.js";
import type { ComparedTurns } from "./prefix.js";
import type { ProjectOptions } from "./projection.js";
import type { NeutralRequest, Part, PendingTurn, Turn } from "./request.js";
import type { CallIdRule, Target } from "./target.js";

/** The turns of a request that later messages of its session do not change, and how they were made. */
export interface EarlierRequest {
  readonly items: Context["items"];
  /** The items before this one are in the turns. */
  readonly to: number;
  readonly turns: readonly Turn[];
  readonly system: string;
  readonly losses: readonly FoundLoss[];
  readonly states: readonly AttachmentState[];
  readonly calls: EarlierCalls;
  /** Stored ids of calls without a result, which would change the turns. */
  readonly pending: ReadonlySet<string>;
  /** Names of items of the provider's, which a request has once. */
  readonly names: ReadonlySet<string>;
  /** Upper bound of the bytes of all texts. */
  readonly textBytes: number;
  readonly compared: ComparedTurns;
  readonly key: string;
  readonly blobs: ProjectOptions["blobs"];
}

/** By the first message of a session's contexts, which a context keeps that adds messages to another. */
const requestsOf = new WeakMap<object, readonly EarlierRequest[]>();

/** Models that a session alternates between. */
const maxRequests = 3;
/** Bytes of attachments that are kept in memory. A session with more is rendered whole. */
const maxMediaBytes = 2 ** 23;

/** The options and the context by which turns can be kept; undefined if other requests can have other ones. */
export function requestKey(
  { views, observations = [], usageSince }: Pick<Context, "views" | "observations"> & Partial<Context>,
  { name, renderKey, rules = {} }: Target<unknown>,
  { boundary, references, viewTool }: ProjectOptions,
  tools: unknown,
): string | undefined {
  const canKeep =
    renderKey !== undefined &&
    rules.history === undefined &&
    rules.takesReasoning === undefined &&
    views.length + observations.length === 0 &&
    boundary === undefined &&
    references === undefined &&
    viewTool !== true;
  if (!canKeep || typeof tools === "symbol") return undefined;
  try {
    return JSON.stringify([name, renderKey, tools ?? null, usageSince]);
  } catch {
    return undefined;
  }
}

/** The request that a context continues. */
export function earlierRequest(
  items: Context["items"],
  key: string,
  { blobs }: ProjectOptions,
): EarlierRequest | undefined {
  const known = requestsOf.get(items[0]?.message ?? items);
  const found = known?.find((one) => one.key === key && (one.states.length === 0 || one.blobs === blobs));
  return found !== undefined && continues(items, found) ? found : undefined;
}

function continues(items: Context["items"], { items: before, to, pending }: EarlierRequest): boolean {
  if (items.length < to) return false;
  for (let at = 0; at < to; at++) {
    const [one, other] = [items[at], before[at]];
    if (one === other) continue;
    if (one?.entryId !== other?.entryId || one?.message !== other?.message) return false;
    if (one?.origin !== other?.origin || one?.edited !== other?.edited) return false;
  }
  if (pending.size === 0) return true;
  for (let at = to; at < items.length; at++) {
    const message = items[at]?.message;
    if (message?.role === "toolResult" && pending.has(message.toolCallId)) return false;
  }
  return true;
}

/** Whether messages have what can change turns before them, or be changed by later ones. */
export function dependsOnOthers(
  items: Context["items"],
  turns: readonly PendingTurn[],
  { from, names }: { readonly from: number; readonly names?: ReadonlySet<string> | undefined },
): boolean {
  for (let at = from; at < items.length; at++) {
    const message = items[at]?.message;
    if (message?.role === "assistant" && message.refused === true) return true;
  }
  const parts = turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []));
  const said = new Set<string>();
  for (const part of parts) {
    if (part.type === "opaque" || part.type === "opaqueMedia" || part.type === "attachment") return true;
    for (const name of namesOf(part)) {
      if (names?.has(name) === true || said.has(name)) return true;
      said.add(name);
    }
  }
  return false;
}

/** The ids of a provider's items in a part. */
function namesOf(part: Part | { readonly type: "attachment" | "opaqueMedia" }): readonly string[] {
  if (part.type !== "call" && part.type !== "text" && part.type !== "reasoning") return [];
  const { signature = "" } = part;
  const ids = Array.from(signature.matchAll(/"id":"([^"]{1,1000})"/g), ([, id = ""]) => id);
  // A text of OpenAI's is signed by its id alone.
  const own = part.type === "text" && ids.length === 0 && signature !== "" ? [signature] : ids;
  return part.type === "call" ? [...part.storedId.split("|"), ...own] : own;
}

/**
 * The turn of the model from which a later request may be rendered, and its first item: the last one, and none after
 * an attachment that a later request can have in another form.
 */
export function lastStart(
  turns: readonly Turn[],
  states: readonly AttachmentState[],
  { replay, resize }: ProjectOptions,
  { rules = {} }: Target<unknown>,
): { readonly turn: number; readonly item: number } | undefined {
  const isFixed = rules.bindsReasoning === true && replay === undefined && resize === undefined;
  let bytes = 0;
  const changeable = states.find(({ draft: { media }, reason }) => {
    if (!isFixed || media?.type !== "media" || reason !== "replayed") return true;
    bytes += media.bytes.length;
    return bytes > maxMediaBytes;
  });
  const end = changeable?.decided.item ?? Number.POSITIVE_INFINITY;
  for (let turn = turns.length - 1; turn > 0; turn--) {
    const { role, parts } = turns[turn] as Turn;
    const item = parts[0]?.origin.item ?? -1;
    if (role === "assistant" && item > 0 && item <= end) return { turn, item };
  }
  return undefined;
}

/** Keeps the turns of a request up to {@link lastStart}. */
export function keepRequest(
  made: Omit<EarlierRequest, "turns" | "calls" | "pending" | "names"> & {
    readonly request: NeutralRequest;
    readonly callId: CallIdRule | undefined;
  },
  before: EarlierRequest | undefined,
): void {
  const { items, to, key, compared, request, callId, ...kept } = made;
  const first = items[0]?.message;
  const known = (first && requestsOf.get(first)) ?? [];
  // The ids of another projection that came first include those of its calls.
  const isCurrent = before === undefined || (known.includes(before) && before.to < to);
  if (first === undefined || !isCurrent) return;
  const turns = request.turns.slice(0, compared.turns);
  const added = turns.slice(before?.turns.length ?? 0);
  const ids = before?.calls.ids ?? new CallIds(callId);
  const called = new Set(before?.calls.called);
  const leftOut = new Set(before?.calls.leftOut);
  const pending = new Set(before?.pending);
  const names = new Set(before?.names);
  const sent = new Set<number>();
  for (const { role, parts } of added) {
    if (role !== "assistant") continue;
    for (const part of parts) {
      sent.add(part.origin.item);
      for (const name of namesOf(part)) names.add(name);
      if (part.type === "call") ids.idFor(part.storedId);
    }
  }
  for (let at = before?.to ?? 0; at < to; at++) {
    const message = items[at]?.message;
    if (message?.role === "toolResult") pending.delete(message.toolCallId);
    if (message?.role !== "assistant") continue;
    for (const block of message.content) {
      if (block.type !== "toolCall") continue;
      (sent.has(at) ? called : leftOut).add(block.id);
      pending.add(block.id);
    }
  }
  const calls = { to, ids, called, leftOut };
  const one: EarlierRequest = { ...kept, items, to, key, compared, turns, calls, pending, names };
  requestsOf.set(first, [one, ...known.filter((other) => other.key !== key)].slice(0, maxRequests));
}

/** Forgets a request whose attachments a later one has in another form. */
export function forgetRequest(request: EarlierRequest): void {
  const first = request.items[0]?.message;
  const known = first && requestsOf.get(first);
  if (first !== undefined && known !== undefined)
    requestsOf.set(
      first,
      known.filter((one) => one !== request),
    );
}
