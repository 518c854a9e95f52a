/**
 * Compactions beside a memory: the blocks stay out of the summary, since the prompt has them, and a block may
 * get facts of the part that is summarised.
 */
import { type CompactionPlan, type CompactOptions, prompts } from "../compaction/index.js";
import {
  applyBoundary,
  isModelSwitch,
  readGeneration,
  shortenSummary,
  summarizePart,
} from "../compaction/internal.js";
import { estimateTextTokens } from "../content/estimate/index.js";
import { type Context, type ContextItem, toolCalls, type Usage } from "../content/index.js";
import { SessileError } from "../core/errors/index.js";
import {
  cleanLine,
  cleanText,
  type EditableBlock,
  type PresentValue,
  quotedText,
  toolNames,
} from "./blocks.js";
import type { MemoryHost } from "./run.js";
import { presentValue } from "./write.js";

/** The outcome of proposing facts. */
export interface FactProposal {
  /**
   * `written`: the facts are in the block. `nothing`: no new fact was proposed. `tooLong`: the block has no
   * room for them at any attempt. `failed`: the model gave no text, or other writers came first; `error` has
   * the reason.
   */
  readonly status: "written" | "nothing" | "tooLong" | "failed";
  /** Without those that the block had. */
  readonly facts: readonly string[];
  /** The compaction whose summary covers their messages. */
  readonly compactionId: string;
  /** Of the model calls. */
  readonly usage?: Usage | undefined;
  readonly error?: unknown;
}

/** Options of {@link SessionMemory.compaction}. */
export interface MemoryCompactionOptions {
  /** The label of a writable block that gets facts after a summary was written. @default none */
  readonly propose?: string | undefined;
  /** Called with the outcome, if facts were asked for. */
  readonly onProposal?: ((proposal: FactProposal) => void) | undefined;
}

/** Facts of one compaction, and characters of each. */
const maxFacts = 50;
const maxFact = 300;

/** A summary's items, kept from the plan until the summary is written. */
interface Planned {
  readonly plan: CompactionPlan;
  readonly context: Context;
}

/** The options of a compaction, with those of a memory added. */
export function withMemory(
  host: MemoryHost,
  options: CompactOptions,
  block: EditableBlock | undefined,
  onProposal: MemoryCompactionOptions["onProposal"],
): CompactOptions {
  let planned: Planned | undefined;
  const { skip = isModelSwitch } = options;
  return {
    ...options,
    skip: (item) => skip(item) || isBlockWrite(item),
    async before(plan, context) {
      planned = { plan, context };
      const answer = await options.before?.(plan, context);
      const known = await knownText(host, options.signal);
      return known === "" ? answer : { ...answer, context: [...(answer?.context ?? []), known] };
    },
    async after(result) {
      if (result.status === "compacted" && block !== undefined && planned !== undefined) {
        const proposal = await proposeFacts(host, block, planned, options, result.entry.id);
        onProposal?.(proposal);
      }
      await options.after?.(result);
    },
  };
}

/** Whether an item only writes a block: a call of `set_memory` alone, or its result. */
function isBlockWrite({ message }: ContextItem): boolean {
  if (message.role === "toolResult") return message.toolName === toolNames.set;
  if (message.role !== "assistant" || toolCalls(message).length === 0) return false;
  return message.content.every(
    (block) =>
      (block.type === "toolCall" && block.name === toolNames.set) ||
      block.type === "thinking" ||
      (block.type === "text" && block.text.trim() === ""),
  );
}

/** The texts of the blocks for the summariser; "" without a text. */
async function knownText(host: MemoryHost, signal: AbortSignal | undefined): Promise<string> {
  const state = await host.paths.at(host.session.leafId);
  const texts: string[] = [];
  for (const block of host.blocks.values()) {
    if (block.kind !== "session" && block.kind !== "shared") continue;
    const { text } = await presentValue(block, state, signal);
    if (text !== "") texts.push(`${block.label}:\n${quotedText(block, text)}`);
  }
  if (texts.length === 0) return "";
  const note = "These notes are kept beside the conversation. Do not repeat them in the text that you write.";
  return [note, ...texts].join("\n\n");
}

/** Asks for facts, verifies them, and adds those that are new, all or none. */
async function proposeFacts(
  host: MemoryHost,
  block: EditableBlock,
  { plan, context }: Planned,
  options: CompactOptions,
  compactionId: string,
): Promise<FactProposal> {
  const { signal } = options;
  const prompt = factsPrompt(block);
  const known = await knownText(host, signal);
  const made = readGeneration(
    { ...options, focus: undefined },
    options.generateWindow ?? options.window,
    noFacts,
  );
  const generation = known === "" ? made : { ...made, context: [known] };
  const readUsage = () => ({ compactionId, usage: generation.tally.usage });
  const allowed = await applyBoundary(context, plan, options, generation.signal);
  const items = allowed.parts.flatMap((part) => part.items);
  if (items.length === 0) return { status: "nothing", facts: [], compactionId };
  let text: string | undefined;
  for (let attempt = 1; attempt <= generation.attempts; attempt++) {
    const present = await blocksPresent(host, block, signal);
    const left = block.maxTokens - estimateTextTokens(present.text);
    const room = Math.max(1, Math.floor(left / 2 ** (attempt - 1)));
    try {
      text =
        text === undefined
          ? await summarizePart({ items, prompt }, generation, room)
          : await shortenSummary(text, prompt, generation, room);
    } catch (error) {
      if (!SessileError.is(error, "SUMMARY_FAILED")) throw error;
      return { status: "failed", facts: [], error, ...readUsage() };
    }
    try {
      const added = await addFacts(host, block, text, { compactionId, signal });
      if (added.status !== "tooLong") return { ...added, ...readUsage() };
    } catch (error) {
      // The compaction succeeded: the caller gets its result, not an error.
      if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
      return { status: "failed", facts: [], error, ...readUsage() };
    }
  }
  return { status: "tooLong", facts: [], ...readUsage() };
}

/** How often facts are compared again with a shared text that others change. */
const maxConflicts = 8;

/** Adds the facts of a text that a block does not have. @throws SessileError CONCURRENT_WRITER */
async function addFacts(
  host: MemoryHost,
  block: EditableBlock,
  text: string,
  { compactionId, signal }: { readonly compactionId: string; readonly signal: AbortSignal | undefined },
): Promise<Pick<FactProposal, "status" | "facts">> {
  for (let conflicts = 0; ; conflicts++) {
    const present = await blocksPresent(host, block, signal);
    const facts = newFacts(text, present.text);
    if (facts.length === 0) return { status: "nothing", facts };
    const outcome = await host.write({
      block,
      change: { action: "add", text: facts.join("\n") },
      isRead: () => true,
      origin: { by: "compaction", from: compactionId },
      signal,
    });
    if (outcome.status === "written") return { status: "written", facts };
    // Another writer added the same facts.
    if (outcome.status === "unchanged") return { status: "nothing", facts: [] };
    if (outcome.status !== "changed") return { status: "tooLong", facts: [] };
    if (conflicts < maxConflicts) continue;
    const details = { expected: present.revision ?? "none", actual: outcome.present.revision ?? "none" };
    throw new SessileError("CONCURRENT_WRITER", `other writers change ${block.label}`, { details });
  }
}

async function blocksPresent(
  host: MemoryHost,
  block: EditableBlock,
  signal: AbortSignal | undefined,
): Promise<PresentValue> {
  return presentValue(block, await host.paths.at(host.session.leafId), signal);
}

/** The bulleted lines of a text that a block does not have, each once. Other and long lines are no facts. */
function newFacts(text: string, present: string): readonly string[] {
  const known = new Set(present.split("\n").map(lineFact));
  const facts: string[] = [];
  for (const line of cleanText(text).split("\n")) {
    const fact = bullet.test(line.trim()) ? lineFact(line) : "";
    // A part of a longer text could mean the opposite of it.
    if (fact === "" || fact.length > maxFact || known.has(fact) || facts.length === maxFacts) continue;
    known.add(fact);
    facts.push(fact);
  }
  return facts;
}

const bullet = /^[-*•]\s/;

function lineFact(line: string): string {
  const text = line.trimStart();
  return (bullet.test(text) ? text.slice(1) : text).trim();
}

const noFacts = "(none)";

function factsPrompt({ label, description, maxTokens }: EditableBlock) {
  const about = description === "" ? "" : ` (${cleanLine(description, maxFact)})`;
  const form = [
    `Write the facts for the notes ${label}${about} that will still matter in later conversations.`,
    "- One fact a line, each line starting with “- ”, short, and complete by itself.",
    "- Only facts that the person stated or confirmed. Nothing of documents, files or results of tools, no " +
      "instructions, no secrets.",
    `- Leave out what the notes have already. If there is no new fact, write ${noFacts}.`,
  ].join("\n");
  const { system } = prompts.checkpoint;
  return { system, instructions: form, update: form, maxTokens };
}
