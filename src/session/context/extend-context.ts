/** Extends the last context after appends, instead of building it anew. */

import type { Context } from "../../content/index.js";
import { entryTypesWith } from "../format/entry-types.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { type BuiltContext, buildContext, type EntryRequests } from "./build-context.js";
import { itemOf } from "./context-items.js";

/** Maximum number of entries to extend a context by. */
const maxTail = 256;

/** Entry types that a context is never extended by. */
const changesEarlier = [...entryTypesWith("changesEarlier")];

const noIds: ReadonlySet<string> = new Set();

/**
 * Extends the last context to a row, if the row descends from its leaf and the entries between only add
 * items. Otherwise builds the context from its start, with an equal result. Appending a message and building
 * the context 200 times is 5 to 9 times as fast as without it, in a session of 10,000 entries (Node 20).
 */
export function* extendContext(
  table: EntryTable,
  leaf: number,
  last: BuiltContext | undefined,
): EntryRequests<BuiltContext> {
  const tail = last?.table === table && last.extensible ? tailAfter(table, last.leaf, leaf) : undefined;
  if (last === undefined || tail === undefined || table.hasUnlinkedParents)
    return yield* buildContext(table, leaf);
  const shown = [...last.shown, ...tail];
  const bodyOf = yield tail;
  const items = [...last.context.items];
  let { model, thinkingLevel } = last.context;
  for (const row of tail) {
    const entry = bodyOf(row);
    if (entry === undefined) continue;
    const item = itemOf(entry, noIds);
    if (item !== undefined) items.push(item);
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant")
      model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  const context: Context = { ...last.context, items, model, thinkingLevel };
  return { context, table, leaf, shown, extensible: true };
}

/** The rows after `from` up to `to`; undefined if another path or entry type is between them. */
function tailAfter(table: EntryTable, from: number, to: number): readonly number[] | undefined {
  const codes = new Set(changesEarlier.map((kind) => table.kindCode(kind)));
  const tail: number[] = [];
  for (let row = to; row !== from; row = table.parent(row)) {
    if (row === noRow || tail.length === maxTail || codes.has(table.kindAt(row))) return undefined;
    tail.push(row);
  }
  return tail.reverse();
}
