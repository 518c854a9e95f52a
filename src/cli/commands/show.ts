/** `show`: the tree of a session, the context of a model, one entry, or one turn. */

import { estimateMessageTokens } from "../../content/estimate/index.js";
import type { ContextItem } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import { entryTypesWith, isFrameworkState } from "../../log/internal.js";
import type { Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { type CommandBody, type CommandContext, numberOption, textOption, UsageError } from "../command.js";
import { headline, messageLines } from "../entry-text.js";
import type { OpenedSession } from "../named-session.js";
import { type Output, truncated } from "../output.js";
import { openNamed, sourceOptions } from "../sources.js";

const show: CommandBody = {
  description: [
    "The tree has a line for each entry, indented at branches, with `*` at the leaf. What a framework keeps beside",
    "messages is counted at the end; `--json` has it too.",
    "`--context` shows the messages that a model gets at the leaf, or at the entry of `--at`. Before them it names",
    "each compaction with the messages that it dropped, and each edit in force.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions,
    { name: "tree", description: "Show the tree. The default." },
    { name: "context", description: "Show the context of a model." },
    { name: "at", value: "ID", description: "The entry at which the context is built. Default: the leaf." },
    { name: "entry", value: "ID", description: "Show one entry in whole." },
    { name: "turn", value: "N", description: "Show the Nth turn of the leaf's branch, from 1." },
  ],
  examples: [
    { line: "sessile show latest", does: "the tree of the newest session" },
    { line: "sessile show latest --context", does: "the messages that a model gets next" },
    { line: "sessile show 0190c1de --turn 3", does: "the third turn in whole" },
  ],
  async run(parsed, context) {
    const [name = ""] = parsed.positionals;
    const views = ["tree", "context", "entry", "turn"].filter((each) => parsed.options[each] !== undefined);
    if (views.length > 1) throw new UsageError(`show: --${views.join(" and --")} exclude each other`);
    const turn = numberOption(parsed, "turn", 1);
    const at = textOption(parsed, "at");
    if (at !== undefined && parsed.options.context !== true)
      throw new UsageError("show: --at needs --context");
    const opened = await openNamed(name, parsed, context);
    try {
      const { session } = opened;
      const entryId = textOption(parsed, "entry");
      if (entryId !== undefined) await showEntry(session, await sessionId(session, entryId), context.out);
      else if (turn !== undefined) await showTurn(session, turn, context.out);
      else if (parsed.options.context === true)
        await showContext(
          opened,
          at === undefined ? session.leafId : await sessionId(session, at),
          context.out,
        );
      else await showTree(session, context);
      return 0;
    } finally {
      await opened.close();
    }
  },
};

/**
 * The entry that an id or a unique start of one names.
 * @throws SessileError ENTRY_NOT_FOUND
 */
export async function sessionId(session: Session, name: string): Promise<string> {
  const tree = await session.tree();
  if (tree.has(name)) return name;
  const matches: string[] = [];
  for (const { node } of tree.walk()) {
    if (name !== "" && node.id.startsWith(name)) matches.push(node.id);
    if (matches.length > 1) break;
  }
  const [match] = matches;
  if (match !== undefined && matches.length === 1) return match;
  const reason = match === undefined ? "no entry has" : "several entries have";
  throw new SessileError("ENTRY_NOT_FOUND", `${reason} the id ${JSON.stringify(name)}`, {
    details: { entryId: name },
  });
}

async function showTree(session: Session, { out, signal }: CommandContext): Promise<void> {
  const { leafId, header, info } = session;
  const tree = await session.tree();
  if (!out.json) {
    const title = info.title ?? info.name;
    const words = [session.id, header.cwd, title].filter((word) => word !== undefined && word !== "");
    await out.line(out.style("bold", truncated(out.clean(words.join("  ")), out.columns)));
  }
  const labels = new Map([...tree.labels()].map(({ targetId, label }) => [targetId, label]));
  // The indentation grows at branches only: a conversation is a long chain.
  const depths = new Map<string | null, number>();
  const leaf = out.json ? leafId : await shownLeaf(session);
  let hidden = 0;
  for (const { node } of tree.walk()) {
    signal.throwIfAborted();
    const depth = (depths.get(node.parentId) ?? 0) + (tree.children(node.parentId).length > 1 ? 1 : 0);
    depths.set(node.id, depth);
    const entry = await session.entry(node.id);
    if (!out.json && isHidden(entry)) {
      hidden++;
      continue;
    }
    const { kind, text } = headline(entry);
    const label = labels.get(node.id);
    const isLeaf = node.id === leaf;
    if (out.json) {
      const { id, parentId, type, timestamp } = node;
      await out.value({
        id,
        parentId,
        type,
        timestamp,
        depth,
        kind,
        text,
        ...(label && { label }),
        leaf: isLeaf,
      });
      continue;
    }
    const start = `${isLeaf ? "*" : " "} ${"  ".repeat(depth)}${out.clean(node.id)} `;
    const words = `${out.clean(kind)}${label === undefined ? "" : ` [${out.clean(label)}]`}`;
    const rest = truncated(
      out.clean(text),
      Math.max(10, Math.min(out.columns, 200) - start.length - words.length - 2),
    );
    await out.line(
      `${out.style("dim", start)}${out.style(kindColor(kind), words)}${rest === "" ? "" : `: ${rest}`}`,
    );
  }
  if (hidden > 0)
    await out.line(out.style("dim", `${hidden} entries of frameworks are not shown; --json has them`));
}

function isHidden(entry: SessionEntry | UnknownEntry | undefined): boolean {
  return entry?.type === "custom" && isFrameworkState(entry.customType);
}

/** The last entry up to the leaf that the tree shows. */
async function shownLeaf(session: Session): Promise<string | null> {
  let id = session.leafId;
  while (id !== null) {
    const entry = await session.entry(id);
    if (!isHidden(entry)) return id;
    id = entry?.parentId ?? null;
  }
  return null;
}

function kindColor(kind: string): Parameters<Output["style"]>[0] {
  if (kind === "user") return "green";
  if (kind === "assistant") return "cyan";
  if (kind === "compaction" || kind === "branch summary") return "magenta";
  return kind === "damaged" ? "red" : "dim";
}

async function showContext(
  { session, damaged }: OpenedSession,
  at: string | null,
  out: Output,
): Promise<void> {
  const view = await contextViewAt(session, at);
  if (out.json) await out.value({ ...view, damaged });
  else await printContext(view, session, out);
}

async function showEntry(session: Session, id: string, out: Output): Promise<void> {
  const entry = await session.entry(id);
  if (entry === undefined)
    throw new SessileError("ENTRY_NOT_FOUND", `the body of entry ${id} is damaged`, {
      details: { entryId: id },
    });
  if (out.json) await out.value(entry);
  else await printEntry(entry, out);
}

async function printEntry(entry: SessionEntry | UnknownEntry, out: Output): Promise<void> {
  if (entry.type !== "message") {
    await out.line(...out.cleanLines(JSON.stringify(entry, null, 2)));
    return;
  }
  await out.line(out.style("dim", out.clean(`${entry.timestamp}  parent ${entry.parentId ?? "none"}`)));
  await printMessage(entry.message.role, entry.id, messageLines(entry.message), out);
}

/** A turn: a user message and all entries up to the next one. */
async function showTurn(session: Session, turn: number, out: Output): Promise<void> {
  const turns: (SessionEntry | UnknownEntry)[][] = [];
  for (const entry of await session.path()) {
    if (entry.type === "message" && entry.message.role === "user") turns.push([]);
    turns.at(-1)?.push(entry);
  }
  const entries = turns[turn - 1];
  if (entries === undefined)
    throw new UsageError(`--turn: the branch has ${turns.length} turns, got ${turn}`);
  for (const entry of entries) {
    if (out.json) await out.value(entry);
    else if (entry.type === "message") await printEntry(entry, out);
    else await out.line(out.style("dim", `${out.clean(headline(entry).kind)} ${out.clean(entry.id)}`), "");
  }
}

export const bodies = { show };

// The context of a model, with the reason why a message of the branch is not in it.

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
