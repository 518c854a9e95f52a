import { type Context, type ContextItem, toolCalls } from "sessile/content";
import type { Diagnostic, Session } from "sessile/session";
import { messageText } from "./message-text.js";
import { treeLines } from "./print-tree.js";
import { headAndTail, oneLine, terminalWidth } from "./terminal.js";

/** How much of a long session is printed. */
export interface PrintSessionOptions {
  /** Default all. */
  readonly maxEntries?: number;
  /** Default all. */
  readonly maxMessages?: number;
}

/** Prints a session: its tree, the context that a model would be sent next, what is wrong with it, and where it is. */
export async function printSession(session: Session, options: PrintSessionOptions = {}): Promise<void> {
  const width = terminalWidth();
  const { maxEntries = Number.POSITIVE_INFINITY, maxMessages = Number.POSITIVE_INFINITY } = options;
  const context = await session.context();
  const messages = headAndTail(context.items, maxMessages).map((item) => {
    if (typeof item === "string") return item;
    return `${item.message.role.padEnd(18)}${oneLine(wordsOf(item), width - 20)}`;
  });
  const lines = [
    "tree",
    ...(await treeLines(session, { width: width - 2, maxEntries })).map((line) => `  ${line}`),
    "context",
    ...messages.map((line) => `  ${line}`),
    ...(await factLines(session, context)),
  ];
  console.log(lines.join("\n"));
}

function wordsOf({ message }: ContextItem): string {
  const calls = message.role === "assistant" ? toolCalls(message).map((call) => `<${call.name}>`) : [];
  return [...calls, messageText(message)].join(" ");
}

async function factLines(session: Session, context: Context): Promise<readonly string[]> {
  const { model } = context;
  return [
    `name         ${oneLine(session.info.name ?? session.info.title ?? "none", 80)}`,
    `entries      ${session.tree.size}`,
    `in context   ${context.items.length} messages`,
    `model        ${model === null ? "none" : oneLine(`${model.provider}/${model.modelId}`, 80)}`,
    `thinking     ${oneLine(context.thinkingLevel, 80)}`,
    `tip          ${oneLine(session.leafId ?? "none", 80)}`,
    `file         ${oneLine(session.location ?? "none", Number.POSITIVE_INFINITY)}`,
    ...diagnosticLines(await session.diagnose()),
  ];
}

const maxExamples = 3;

function diagnosticLines(diagnostics: readonly Diagnostic[]): readonly string[] {
  const byCode = new Map<string, Diagnostic[]>();
  for (const diagnostic of diagnostics) {
    const same = byCode.get(diagnostic.code);
    if (same === undefined) byCode.set(diagnostic.code, [diagnostic]);
    else same.push(diagnostic);
  }
  const groups = [...byCode].flatMap(([code, same]) => [
    `  ${same.length} x ${code}`,
    ...same.slice(0, maxExamples).map(({ line, message }) => `    line ${line}: ${oneLine(message, 90)}`),
  ]);
  return [`diagnostics  ${diagnostics.length === 0 ? "none" : diagnostics.length}`, ...groups];
}
