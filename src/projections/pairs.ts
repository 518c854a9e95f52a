import { type Context, type ToolPair, type ToolResultMessage, toolPairs } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { CallIds } from "./call-ids.js";
import type { MessageDraft, PairedResult, ResultDraft, SaidDraft, TurnDraft } from "./draft.js";
import type { LossList } from "./loss.js";
import type { TargetRules } from "./target.js";
import type { CallPart, TextPart } from "./turns.js";
import { interruptedText, openingText } from "./words.js";

/** What pairing needs to know besides the messages. */
export interface PairOptions {
  readonly rules: TargetRules;
  readonly losses: LossList;
}

/**
 * Makes turns that alternate, in which each call is answered in the turn right after it: results are brought forward to their
 * calls, a call that has none gets one that says so, and a result without a call is dropped. Ids of calls become what the
 * target takes, each once in the request.
 *
 * What a call's id becomes depends on what stands before it alone, so that a longer history does not change it.
 */
export function pairTurns(
  items: Context["items"],
  messages: readonly MessageDraft[],
  { rules, losses }: PairOptions,
): TurnDraft[] {
  const results = new Map<number, ResultDraft>();
  for (const message of messages) if (message.role === "toolResult") results.set(message.item, message);
  const pairs = pairsByItem(items);
  const ids = new CallIds(rules.callId);
  const turns: TurnDraft[] = [];
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
      addAll(assistantTurn(turns, rules).parts, parts);
      if (calls.length === 0) continue;
      const { results: answered } = userTurn(turns);
      const answers = answersInOrder(pairs.get(message.item) ?? []);
      for (const call of calls) answered.push(answer(call, answers(call.storedId), results, losses));
    }
  }
  dropOrphans(items, results, losses);
  return turns;
}

/** One by one, since a call takes only so many arguments. */
function addAll<T>(list: T[], added: readonly T[]): void {
  for (const one of added) list.push(one);
}

/** The pairs of each item that has calls. */
function pairsByItem(items: Context["items"]): ReadonlyMap<number, readonly ToolPair[]> {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const byItem = new Map<number, ToolPair[]>();
  for (const pair of pairs) {
    const same = byItem.get(pair.callAt);
    if (same === undefined) byItem.set(pair.callAt, [pair]);
    else same.push(pair);
  }
  return byItem;
}

/** Finds the results of a message's calls, asked for in the order of these. */
function answersInOrder(pairs: readonly ToolPair[]): (id: string) => number | undefined {
  let at = 0;
  return (id) => {
    // Of calls with one id in one message the first stays, and its result with it.
    while (at < pairs.length && pairs[at]?.call.id !== id) at++;
    return pairs[at]?.resultAt;
  };
}

function withId(call: CallPart, ids: CallIds, { rules, losses }: PairOptions): CallPart {
  const id = ids.idFor(call.storedId);
  const sent = call.own || rules.callId?.ownOnly !== true;
  if (sent && id !== call.storedId && !ids.isWithin(call.storedId, id)) {
    const reason = ids.whyNot(call.storedId, id);
    losses.add(call.origin, { code: "callId", by: "target", reason, instead: id });
  }
  return { ...call, id };
}

function answer(
  call: CallPart,
  resultAt: number | undefined,
  results: Map<number, ResultDraft>,
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

/** What is left was nobody's answer. */
function dropOrphans(
  items: Context["items"],
  results: ReadonlyMap<number, ResultDraft>,
  losses: LossList,
): void {
  if (results.size === 0) return;
  const called = new Set<string>();
  items.forEach(({ entryId, message }, item) => {
    if (message.role === "assistant") {
      for (const block of message.content) if (block.type === "toolCall") called.add(block.id);
    }
    if (!results.has(item)) return;
    const { toolCallId } = message as ToolResultMessage;
    const known = called.has(toolCallId);
    const reason = known
      ? `a second result for the call ${describe(toolCallId)}`
      : `a result for ${describe(toolCallId)}, which nothing before it called`;
    losses.add(
      { entryId, item },
      { code: known ? "duplicateResult" : "orphanResult", by: "history", reason },
    );
  });
}

function userTurn(turns: TurnDraft[]): TurnDraft & { readonly role: "user" } {
  const last = turns.at(-1);
  if (last?.role === "user") return last;
  const turn = { role: "user" as const, results: [], parts: [] };
  turns.push(turn);
  return turn;
}

/** Results that were answered stand between two messages of the model; without them the two are one turn. */
function assistantTurn(
  turns: TurnDraft[],
  { userFirst = true }: TargetRules,
): { readonly parts: SaidDraft[] } {
  const last = turns.at(-1);
  if (last?.role === "assistant") return last;
  if (last === undefined && userFirst) {
    userTurn(turns).parts.push({ type: "text", text: openingText, origin: opening });
  }
  const turn = { role: "assistant" as const, parts: [] };
  turns.push(turn);
  return turn;
}

const opening = { entryId: "", item: -1 };
