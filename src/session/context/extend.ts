import type { Context } from "../../content/index.js";
import { typesThat } from "../entry-types.js";
import { noRow, type TreeRows } from "../tree/rows.js";
import { itemOf } from "./items.js";
import { type BodySteps, type BuiltContext, builtSteps } from "./steps.js";

/** Further from the last context than this, and it is built from its start. */
const maxTail = 256;

/** An entry of these types between two contexts: the second is built from its start. */
const changesEarlier = [...typesThat("changesEarlier")];

const nothingRetained: ReadonlySet<string> = new Set();

/**
 * Builds the context at a row from the one that was built last, where the row follows its leaf and what lies between
 * adds to it and changes nothing in it: so an agent that appends a message and asks for the context pays for the message,
 * not for the history. Otherwise the whole. The result is the same either way.
 */
export function* extendedSteps(
  rows: TreeRows,
  leaf: number,
  last: BuiltContext | undefined,
): BodySteps<BuiltContext> {
  const tail = last?.rows === rows && last.extensible ? tailAfter(rows, last.leaf, leaf) : undefined;
  if (last === undefined || tail === undefined || rows.isUnsettled) return yield* builtSteps(rows, leaf);
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

/** The rows that follow `from` up to `to`; undefined where `to` does not follow it, or not by plain entries alone. */
function tailAfter(rows: TreeRows, from: number, to: number): readonly number[] | undefined {
  const codes = new Set(changesEarlier.map((kind) => rows.kindCode(kind)));
  const tail: number[] = [];
  for (let row = to; row !== from; row = rows.parent(row)) {
    if (row === noRow || tail.length === maxTail || codes.has(rows.kindAt(row))) return undefined;
    tail.push(row);
  }
  return tail.reverse();
}
