import type { Context } from "../../content/index.js";
import { entryTypesWith } from "../format/entry-types.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { type BuiltContext, buildContext, type EntryRequests } from "./build-context.js";
import { itemOf } from "./context-items.js";

/** Entries that a context is extended by at most; beyond, it is built from its start. */
const maxTail = 256;

/** Entry types that rule out extending: after one, the context is built from its start. */
const changesEarlier = [...entryTypesWith("changesEarlier")];

const nothingRetained: ReadonlySet<string> = new Set();

/**
 * Extends the last context to a row if the row descends from its leaf and the entries between only add items.
 * An agent that appends a message then pays for the message, not for the history. Otherwise builds the whole;
 * the result is equal.
 */
export function* extendContext(
  rows: EntryTable,
  leaf: number,
  last: BuiltContext | undefined,
): EntryRequests<BuiltContext> {
  const tail = last?.rows === rows && last.extensible ? tailAfter(rows, last.leaf, leaf) : undefined;
  if (last === undefined || tail === undefined || rows.hasUnlinkedParents)
    return yield* buildContext(rows, leaf);
  const shown = [...last.shown, ...tail];
  const bodyOf = yield tail;
  const items = [...last.context.items];
  let { model, thinkingLevel } = last.context;
  for (const row of tail) {
    const entry = bodyOf(row);
    if (entry === undefined) continue;
    const item = itemOf(entry, nothingRetained);
    if (item !== undefined) items.push(item);
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant")
      model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  const context: Context = { ...last.context, items, model, thinkingLevel };
  return { context, rows, leaf, shown, extensible: true };
}

/** The rows after `from` up to `to`; undefined if `to` does not descend from it by plain entries alone. */
function tailAfter(rows: EntryTable, from: number, to: number): readonly number[] | undefined {
  const codes = new Set(changesEarlier.map((kind) => rows.kindCode(kind)));
  const tail: number[] = [];
  for (let row = to; row !== from; row = rows.parent(row)) {
    if (row === noRow || tail.length === maxTail || codes.has(rows.kindAt(row))) return undefined;
    tail.push(row);
  }
  return tail.reverse();
}
