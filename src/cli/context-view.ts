/** The context of a model, with the reason why a message of the branch is not in it. */

import { estimateMessageTokens } from "../content/estimate/index.js";
import type { ContextItem } from "../content/index.js";
import { entryTypesWith } from "../log/internal.js";
import type { Session, SessionEntry, UnknownEntry } from "../session/index.js";
import { headline, messageLines } from "./entry-text.js";
import { type Output, truncated } from "./output.js";

/** The context at an entry. Ids are those of entries. */
export interface ContextView {
  readonly at: string | null;
  readonly model: { readonly provider: string; readonly modelId: string } | null;
  /** Estimated. */
  readonly tokens: number;
  /** All compactions of the branch, oldest first; the last one is in force. */
  readonly compactions: readonly CompactionView[];
  /** Edits in force, of messages before the entry. */
  readonly edits: readonly { readonly id: string; readonly targetId: string; readonly omits: boolean }[];
  /** Messages that are not in the context for another reason, such as results of calls that were left out. */
  readonly others: readonly string[];
  readonly items: readonly (Pick<ContextItem, "entryId" | "origin" | "message"> & {
    readonly kept: boolean;
    readonly edited: boolean;
    readonly pinned: boolean;
    readonly tokens: number;
  })[];
}

interface CompactionView {
  readonly id: string;
  readonly tokensBefore: number;
  /** Messages that its summary replaces, without those that an earlier compaction dropped. */
  readonly dropped: readonly string[];
  /** Messages before it that it leaves in the context. */
  readonly kept: readonly string[];
}

type Entry = SessionEntry | UnknownEntry;

const shownTypes = entryTypesWith("inContext");

/** Builds the view of the context at an entry; by default at the leaf. */
export async function contextViewAt(session: Session, at: string | null): Promise<ContextView> {
  const [path, context] = await Promise.all([session.path(at), session.context(at)]);
  const edits = new Map<
    string,
    { readonly id: string; readonly targetId: string; readonly omits: boolean }
  >();
  const messages: string[] = [];
  // A later compaction may bring a message back that an earlier one dropped.
  const droppedBy = new Map<string, string>();
  const made: { readonly id: string; readonly tokensBefore: number; readonly kept: readonly string[] }[] = [];
  for (const entry of path) {
    if (shownTypes.has(entry.type)) messages.push(entry.id);
    if (entry.type === "context_edit") {
      const { id, targetId, replacement } = entry;
      edits.set(targetId, { id, targetId, omits: replacement === null });
    }
    if (entry.type !== "compaction") continue;
    const { id, tokensBefore } = entry;
    const after = new Set((await session.context(id)).items.map(({ entryId }) => entryId));
    for (const message of messages) {
      if (after.has(message)) droppedBy.delete(message);
      else if (!droppedBy.has(message)) droppedBy.set(message, id);
    }
    made.push({ id, tokensBefore, kept: messages.filter((message) => after.has(message)) });
  }
  const shown = new Set(context.items.map(({ entryId }) => entryId));
  const isOmitted = (id: string) => edits.get(id)?.omits === true;
  const compactions = made.map(({ id, tokensBefore, kept }) => ({
    ...{ id, tokensBefore, kept },
    dropped: messages.filter(
      (message) => droppedBy.get(message) === id && !shown.has(message) && !isOmitted(message),
    ),
  }));
  const kept = new Set(compactions.at(-1)?.kept);
  const pins = new Set(context.pins);
  const items = context.items.map(({ entryId, origin, message, edited = false }) => ({
    ...{ entryId, origin, message, edited, kept: kept.has(entryId), pinned: pins.has(entryId) },
    tokens: estimateMessageTokens(message),
  }));
  return {
    ...{ at, model: context.model, compactions, items },
    tokens: items.reduce((sum, { tokens }) => sum + tokens, 0),
    edits: [...edits.values()].filter(({ targetId, omits }) => omits || shown.has(targetId)),
    others: messages.filter((id) => !shown.has(id) && !droppedBy.has(id) && !isOmitted(id)),
  };
}

/** Prints the entries that are not in the context and why, then the messages in full. */
export async function printContext(view: ContextView, session: Session, out: Output): Promise<void> {
  const { at, model, tokens, compactions, edits, others, items } = view;
  const name = model === null ? "" : `, ${out.clean(`${model.provider} ${model.modelId}`)}`;
  const count = `${items.length} messages, about ${tokens.toLocaleString("en")} tokens${name}`;
  await out.line(out.style("bold", `Context at ${at === null ? "the start" : out.clean(at)}: ${count}`));
  const list = async (title: string, ids: readonly string[]) => {
    await out.line(out.style("magenta", title));
    for (const id of ids) await out.line(`  ${readLine(id, await session.entry(id), out)}`);
  };
  for (const { id, tokensBefore, dropped, kept } of compactions) {
    const before = tokensBefore > 0 ? ` of ${tokensBefore.toLocaleString("en")} tokens` : "";
    await list(
      `Compaction ${out.clean(id)}${before}: keeps ${kept.length} messages, and drops ${dropped.length}:`,
      dropped,
    );
  }
  for (const { id, targetId, omits } of edits)
    await list(`Edit ${out.clean(id)} ${omits ? "leaves out" : "replaces the content of"}:`, [targetId]);
  if (others.length > 0) await list("Left out with their calls, or by a rule of the context:", others);
  await out.line("");
  for (const { entryId, origin, message, kept, edited, pinned } of items) {
    const marks = [
      origin === "retained" || kept ? "kept" : "",
      edited ? "edited" : "",
      pinned ? "pinned" : "",
    ];
    const words = marks.filter(Boolean).map((mark) => ` [${mark}]`);
    await printMessage(`${message.role}${words.join("")}`, entryId, messageLines(message), out);
  }
}

function readLine(id: string, entry: Entry | undefined, out: Output): string {
  const { kind, text } = headline(entry);
  return truncated(out.clean(`${id} ${kind}: ${text}`), Math.min(out.columns, 200) - 2);
}

/** A message in full, block by block. */
export async function printMessage(
  kind: string,
  id: string | undefined,
  blocks: ReturnType<typeof messageLines>,
  out: Output,
): Promise<void> {
  await out.line(`${out.style("bold", kind)} ${out.style("dim", out.clean(id ?? ""))}`);
  for (const { title, text } of blocks) {
    if (title !== undefined) await out.line(`  ${out.style("dim", `[${out.clean(title)}]`)}`);
    await out.line(...out.cleanLines(text).map((line) => `  ${line}`));
  }
  await out.line("");
}
