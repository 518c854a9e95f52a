/** Makes turns that alternate, with one result per call and ids that the target accepts. */

import { type Context, type ToolResultMessage, toolPairs } from "../content/index.js";
import type { ToolPair } from "../content/internal.js";
import { describe, integerArgument } from "../core/arguments.js";
import { crc32, encodeUtf8 } from "../core/bytes.js";
import { isOf } from "../core/text.js";
import type { LossList } from "./losses.js";
import { interruptedText, openingText } from "./placeholders.js";
import type {
  CallPart,
  PairedResult,
  PendingMessage,
  PendingToolResult,
  PendingTurn,
  TextPart,
} from "./request.js";
import { ownSummaries } from "./select-messages.js";
import type { CallIdRule, TargetRules } from "./target.js";

/** Options of {@link pairTurns}. */
export interface PairOptions {
  readonly rules: TargetRules;
  readonly losses: LossList;
  /** The calls before the messages, if these are the end of a request. @default there are none */
  readonly earlier?: EarlierCalls | undefined;
}

/** The calls of items before others. */
export interface EarlierCalls {
  /** The first of the other items. */
  readonly to: number;
  readonly ids: CallIds;
  /** Stored ids in messages of the request, and in those that are left out. */
  readonly called: ReadonlySet<string>;
  readonly leftOut: ReadonlySet<string>;
}

/**
 * Makes alternating turns in which each tool call has its result in the next turn. Moves results forward to
 * their calls, adds a result that reports an interruption to a call without one, and drops orphaned results.
 * Makes the ids of calls valid for the target and unique in the request.
 *
 * The id of a call depends only on earlier messages, so that a longer history does not change it.
 */
export function pairTurns(
  items: Context["items"],
  messages: readonly PendingMessage[],
  { rules, losses, earlier }: PairOptions,
): PendingTurn[] {
  const results = new Map<number, PendingToolResult>();
  for (const message of messages) if (message.role === "toolResult") results.set(message.item, message);
  const pairs = pairsByItem(items, earlier?.to ?? 0);
  const ids = new CallIds(rules.callId, earlier?.ids);
  const turns: PendingTurn[] = [];
  for (const message of messages) {
    if (message.role === "user") addAll(userTurn(turns).parts, message.parts);
    else if (message.role === "assistant") {
      const calls: CallPart[] = [];
      const parts = message.parts.map((part) => {
        if (part.type !== "call") return part;
        const call = withId(part, ids, { rules, losses });
        calls.push(call);
        return call;
      });
      // The summary that a provider made comes first in its requests.
      const isAfter = earlier !== undefined || ownSummaries(message).length > 0;
      const turn = assistantTurn(turns, isAfter ? { ...rules, userFirst: false } : rules);
      addAll(turn.parts, parts);
      if (message.providerFields !== undefined) turn.providerFields = message.providerFields;
      if (calls.length === 0) continue;
      const { results: answered } = userTurn(turns);
      const answers = answersInOrder(pairs.get(message.item) ?? []);
      for (const call of calls) answered.push(answer(call, answers(call.storedId), results, losses));
    }
  }
  dropOrphans(items, new Set(messages.map(({ item }) => item)), results, { losses, earlier });
  return turns;
}

/** Adds one by one: a spread of a long list exceeds the maximum number of arguments. */
function addAll<T>(list: T[], added: readonly T[]): void {
  for (const one of added) list.push(one);
}

/** The pairs by the item of the call. */
function pairsByItem(items: Context["items"], from: number): ReadonlyMap<number, readonly ToolPair[]> {
  const { pairs } = toolPairs(items.slice(from).map(({ message }) => message));
  const byItem = new Map<number, ToolPair[]>();
  for (const found of pairs) {
    const { callAt, resultAt } = found;
    const pair = {
      ...found,
      callAt: callAt + from,
      ...(resultAt === undefined ? {} : { resultAt: resultAt + from }),
    };
    const same = byItem.get(pair.callAt);
    if (same === undefined) byItem.set(pair.callAt, [pair]);
    else same.push(pair);
  }
  return byItem;
}

/** Returns a lookup of a message's results, to call in the order of its calls. */
function answersInOrder(pairs: readonly ToolPair[]): (id: string) => number | undefined {
  let at = 0;
  return (id) => {
    // If calls of a message share an id, the first one and its result stay.
    while (at < pairs.length && pairs[at]?.call.id !== id) at++;
    return pairs[at]?.resultAt;
  };
}

function withId(
  call: CallPart,
  ids: CallIds,
  { rules, losses }: Pick<PairOptions, "rules" | "losses">,
): CallPart {
  const id = ids.idFor(call.storedId);
  const sent = call.own || rules.callId?.ownOnly !== true;
  if (sent && id !== call.storedId && !ids.isWithin(call.storedId, id)) {
    const reason = ids.differenceReason(call.storedId, id);
    losses.add(call.origin, { code: "callId", by: "target", reason, instead: id });
  }
  return { ...call, id };
}

function answer(
  call: CallPart,
  resultAt: number | undefined,
  results: Map<number, PendingToolResult>,
  losses: LossList,
): PairedResult {
  const { id: callId, storedId: storedCallId, name, origin } = call;
  const result = resultAt === undefined ? undefined : results.get(resultAt);
  if (resultAt === undefined || result === undefined) {
    const reason = "a call without a result";
    losses.add(origin, { code: "interrupted", by: "history", reason, instead: interruptedText });
    const parts: readonly TextPart[] = [{ type: "text", text: interruptedText, origin }];
    return { callId, storedCallId, name, isError: true, parts, origin };
  }
  results.delete(resultAt);
  const { isError, parts, origin: at } = result;
  return { callId, storedCallId, name, isError, parts, origin: at };
}

/** Reports the remaining results: they have no call. */
function dropOrphans(
  items: Context["items"],
  sent: ReadonlySet<number>,
  results: ReadonlyMap<number, PendingToolResult>,
  { losses, earlier }: Pick<PairOptions, "losses"> & { readonly earlier: EarlierCalls | undefined },
): void {
  if (results.size === 0) return;
  const called = new Set(earlier?.called);
  const leftOut = new Set(earlier?.leftOut);
  for (let item = earlier?.to ?? 0; item < items.length; item++) {
    const { entryId, message } = items[item] as Context["items"][number];
    if (message.role === "assistant") {
      const calls = sent.has(item) ? called : leftOut;
      for (const block of message.content) if (block.type === "toolCall") calls.add(block.id);
    }
    if (!results.has(item)) continue;
    const { toolCallId } = message as ToolResultMessage;
    const known = called.has(toolCallId);
    const reason = known
      ? `a second result for the call ${describe(toolCallId)}`
      : `a result for ${describe(toolCallId)}, which ${leftOut.has(toolCallId) ? "a message called that is left out" : "nothing before it called"}`;
    losses.add(
      { entryId, item },
      { code: known ? "duplicateResult" : "orphanResult", by: "history", reason },
    );
  }
}

function userTurn(turns: PendingTurn[]): PendingTurn & { readonly role: "user" } {
  const last = turns.at(-1);
  if (last?.role === "user") return last;
  const turn = { role: "user" as const, results: [], parts: [] };
  turns.push(turn);
  return turn;
}

/** Assistant messages without results between them share a turn. */
function assistantTurn(
  turns: PendingTurn[],
  { userFirst = true }: TargetRules,
): PendingTurn & { readonly role: "assistant" } {
  const last = turns.at(-1);
  if (last?.role === "assistant") return last;
  if (last === undefined && userFirst) {
    userTurn(turns).parts.push({ type: "text", text: openingText, origin: opening });
  }
  const turn: PendingTurn & { readonly role: "assistant" } = { role: "assistant", parts: [] };
  turns.push(turn);
  return turn;
}

const opening = { entryId: "", item: -1 };

/** The rule of most providers: letters, digits, `_` and `-`, at most 64. */
const defaultRule: CallIdRule = { character: /[A-Za-z0-9_-]/, maxLength: 64 };

const lettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * Assigns each call of a request an id that is valid for its target: the stored id if it is valid, otherwise
 * its valid characters and a checksum of the whole, so that the same stored id always gives the same id. A
 * duplicate gets a number.
 */
export class CallIds {
  readonly #maxLength: number;
  readonly #minLength: number;
  readonly #of: ((storedId: string) => string) | undefined;
  readonly #character: RegExp;
  /** Replaces invalid characters, and separates a suffix. */
  readonly #filler: string;
  /** The digits of checksums and numbers. */
  readonly #digits: string;
  readonly #sumLength: number;
  readonly #used = new Set<string>();
  /** The next number for a base. */
  readonly #next = new Map<string, number>();
  readonly #earlier: CallIds | undefined;

  /**
   * @param earlier ids of the calls before these, which stay as they are
   * @throws RangeError for a rule that cannot give distinct ids
   */
  constructor({ character, maxLength, minLength = 1, of }: CallIdRule = defaultRule, earlier?: CallIds) {
    this.#earlier = earlier;
    // A global or sticky pattern keeps state between tests.
    const flags = character.flags.replace(/[gy]/g, "");
    this.#of = of;
    this.#character = new RegExp(character.source, flags);
    this.#filler = ["_", "-"].find((one) => this.#character.test(one)) ?? "";
    const allowed = Array.from(lettersAndDigits).filter((one) => this.#character.test(one));
    if (allowed.length < 2) {
      const expected = "a pattern that takes two letters or digits of ASCII";
      throw new RangeError(`target.rules.callId.character: expected ${expected}, got ${String(character)}`);
    }
    this.#digits = allowed.slice(0, 16).join("");
    this.#sumLength = Math.ceil(32 / Math.log2(this.#digits.length));
    this.#maxLength = integerArgument("target.rules.callId.maxLength", maxLength, this.#sumLength + 1);
    this.#minLength = integerArgument("target.rules.callId.minLength", minLength, 1);
    if (this.#minLength > this.#maxLength) {
      throw new RangeError(`target.rules.callId.minLength: expected at most ${maxLength}, got ${minLength}`);
    }
  }

  /** Assigns the id of the next call. */
  idFor(storedId: string): string {
    const base = this.#fitting(this.#own(storedId));
    let id = base;
    let n = this.nextNumber(base) ?? 2;
    for (; this.isUsed(id); n++) id = this.#ending(base, this.#written(n));
    this.#next.set(base, n);
    this.#used.add(id);
    return id;
  }

  /** Whether a call of the request has this id. */
  isUsed(id: string): boolean {
    return this.#used.has(id) || this.#earlier?.isUsed(id) === true;
  }

  /** The number for the next call with this base; undefined for the first one. */
  nextNumber(base: string): number | undefined {
    return this.#next.get(base) ?? this.#earlier?.nextNumber(base);
  }

  /** All reasons why the assigned id differs from the stored one. */
  differenceReason(storedId: string, id: string): string {
    const own = this.#own(storedId);
    const reasons: string[] = [];
    if (own === "") reasons.push("it is empty");
    else if (own === "" || !isOf(own, this.#character) || !own.isWellFormed())
      reasons.push("it has characters that the target does not take");
    if (own.length > this.#maxLength)
      reasons.push(`it is longer than the target's ${this.#maxLength} characters`);
    else if (own !== "" && own.length < this.#minLength)
      reasons.push(`it is shorter than the target's ${this.#minLength} characters`);
    if (id !== this.#fitting(own)) reasons.push("an earlier call of the request has it");
    return reasons.join("; ");
  }

  /** Whether an id is the part of the stored id that the target's rule extracts. */
  isWithin(storedId: string, id: string): boolean {
    return this.#of !== undefined && this.#own(storedId) === id;
  }

  #own(storedId: string): string {
    return this.#of?.(storedId) ?? storedId;
  }

  #fitting(id: string): string {
    const { length } = id;
    if (
      length >= this.#minLength &&
      length <= this.#maxLength &&
      isOf(id, this.#character) &&
      id.isWellFormed()
    )
      return id;
    const formed = id.toWellFormed();
    const kept = Array.from(formed, (c) => (this.#character.test(c) ? c : this.#filler)).join("");
    const sum = this.#written(crc32(encodeUtf8(formed))).padStart(this.#sumLength, this.#digits[0]);
    const fitting = this.#ending(kept, sum);
    return fitting.padEnd(this.#minLength, this.#digits[0]);
  }

  /** Truncates a text so that it fits before a suffix. */
  #ending(text: string, end: string): string {
    const room = this.#maxLength - end.length;
    if (room < this.#filler.length) return end;
    // Removes half of a surrogate pair at the cut.
    const kept = text.slice(0, room - this.#filler.length).replace(/[\ud800-\udbff]$/, "");
    return kept + this.#filler + end;
  }

  #written(n: number): string {
    const base = this.#digits.length;
    let text = "";
    for (let rest = n; rest > 0 || text === ""; rest = Math.floor(rest / base)) {
      text = this.#digits.charAt(rest % base) + text;
    }
    return text;
  }
}
