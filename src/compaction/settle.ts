import { type Context, type ContextItem, toolCalls } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerArgument } from "../internal/arguments.js";
import type { CompactionPlan, SettledOptions } from "./compaction-plan.js";
import { everCovered } from "./covered.js";
import { coveredCalls } from "./covered-calls.js";
import { editedItem, editsByTarget, omission } from "./edited.js";
import { fittingEdits } from "./fit.js";
import { isInitialContext, isModelSwitch } from "./initial-context.js";
import { type Kept, keptItems } from "./keep.js";
import { type FileLedger, fileLedger } from "./ledger/index.js";
import { asCustomMessage, outdatedContext, reinjected } from "./reinjection.js";
import { limitOf, roomForSummary } from "./room.js";
import type { CompactionChoice, ContextEditDraft, SummaryPart } from "./strategy.js";
import { foldSystemMessages } from "./system-message.js";
import { contextTokens } from "./tokens.js";
import { newestUserMessage } from "./turns.js";

/** The plan that a choice comes to in this context, made safe; undefined where it leaves everything as it is. */
export function settlePlan(
  context: Context,
  choice: CompactionChoice,
  options: SettledOptions,
  isLeast: boolean,
): CompactionPlan | undefined {
  const { strategy, window, estimate = estimateMessageTokens } = options;
  const { items } = context;
  integerArgument("keepFrom", choice.keepFrom, 0, items.length);
  const common = {
    strategy: strategy.name,
    tokensBefore: contextTokens(context, { estimate }),
    limit: limitOf(strategy, window),
  };
  const parts = shownParts(choice.parts, options);
  if (parts.every((part) => part.items.length === 0)) {
    const edits = [...safeEdits(context, choice).values()];
    if (edits.length === 0) return undefined;
    return { ...common, parts: [], edits, keepFrom: 0, retain: [], ...nothingCovered };
  }
  const kept = keptItems(context, choice, isLeast);
  const systemMessage = foldSystemMessages(items);
  const initialContext = reinjected(items, kept.retained, options);
  const added =
    (systemMessage === undefined ? 0 : estimate(systemMessage)) +
    (initialContext === undefined ? 0 : estimate(asCustomMessage(initialContext.content)));
  const room = Math.floor(common.limit - roomForSummary(parts, common.limit) - added);
  const { edits, tokens } = editsOfKept(context, choice, kept, room, options);
  return {
    ...common,
    parts,
    edits,
    keepFrom: kept.from,
    retain: kept.retained.map((at) => (items[at] as ContextItem).entryId),
    ...(initialContext === undefined ? {} : { initialContext }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    files: filesOf(items, kept, options),
    resources: everCovered(items.slice(0, kept.from), context.observations),
    tokensKept: Math.ceil(tokens + added),
  };
}

const nothingCovered = { files: { files: [] }, resources: [], tokensKept: 0 } as const;

/** The parts without what no summary is to cover. */
function shownParts(
  parts: readonly SummaryPart[],
  { skip = isModelSwitch }: SettledOptions,
): readonly SummaryPart[] {
  return parts.map((part) => ({
    ...part,
    items: part.items.filter(
      (item) => item.message.role !== "system" && !isInitialContext(item) && !skip(item),
    ),
  }));
}

/** The choice's edits without those that could break a promise: of pinned entries, of calls, and those that take out what has to stay. */
function safeEdits(
  { items, pins }: Context,
  choice: CompactionChoice,
): ReadonlyMap<string, ContextEditDraft> {
  if (choice.edits === undefined || choice.edits.length === 0) return new Map();
  const refused = new Set(pins);
  const needed = new Set([items[newestUserMessage(items)]?.entryId]);
  for (const { entryId, message } of items) {
    if (message.role === "assistant" && toolCalls(message).length > 0) refused.add(entryId);
    if (message.role === "toolResult") needed.add(entryId);
  }
  return editsByTarget(
    choice.edits.filter(
      ({ targetId, replacement }) =>
        !refused.has(targetId) && (replacement !== null || !needed.has(targetId)),
    ),
  );
}

/** The choice's edits of what stays, and those that make it fit; and what stays comes to then. */
function editsOfKept(
  context: Context,
  choice: CompactionChoice,
  { from, retained }: Kept,
  room: number,
  options: SettledOptions,
): { readonly edits: readonly ContextEditDraft[]; readonly tokens: number } {
  const { estimate = estimateMessageTokens } = options;
  const { items, pins } = context;
  const staying = [...retained.map((at) => items[at] as ContextItem), ...items.slice(from)].filter(
    ({ message }) => message.role !== "system",
  );
  const ids = new Set(staying.map(({ entryId }) => entryId));
  const edits = new Map([...safeEdits(context, choice)].filter(([targetId]) => ids.has(targetId)));
  for (const targetId of outdatedContext(context, from, options)) edits.set(targetId, omission(targetId));
  const edited = () => staying.flatMap((item) => editedItem(item, edits.get(item.entryId)) ?? []);
  const tokensOf = (of: readonly ContextItem[]) =>
    of.reduce((sum, { message }) => sum + estimate(message), 0);
  const kept = edited();
  const tokens = tokensOf(kept);
  const fitting = fittingEdits(kept, new Set(pins), tokens, room, estimate);
  if (fitting.length === 0) return { edits: [...edits.values()], tokens };
  for (const edit of fitting) edits.set(edit.targetId, edit);
  return { edits: [...edits.values()], tokens: tokensOf(edited()) };
}

function filesOf(
  items: readonly ContextItem[],
  { from, retained }: Kept,
  { cwd, tools }: SettledOptions,
): FileLedger {
  const options = { ...(cwd === undefined ? {} : { cwd }), ...(tools === undefined ? {} : { tools }) };
  return fileLedger({ items: coveredCalls(items, from, retained) }, options);
}
