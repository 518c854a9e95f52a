/** Logs of Gemini CLI by hand, and their imports. */

import { buildSessionContext, encodeEntry, memoryBlobStore, parseSession } from "sessile";
import { gemini } from "sessile/gemini-cli";
import { type ImportedSession, type ImportOptions, importSession } from "sessile/interop";

export const chatPath = "tmp/app/chats/session-2026-11-22T10-00-11111111.jsonl";
export const chatId = "11111111-2222-4333-8444-555555555555";
const time = (second: number) => new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString();

export const header = (more: object = {}) => ({
  sessionId: chatId,
  projectHash: "0".repeat(64),
  startTime: time(0),
  lastUpdated: time(0),
  kind: "main",
  ...more,
});
export const user = (id: string, content: unknown, more: object = {}) => ({
  id,
  timestamp: time(1),
  type: "user",
  content: typeof content === "string" ? [{ text: content }] : content,
  ...more,
});
export const reply = (id: string, content: unknown, more: object = {}) => ({
  id,
  timestamp: time(2),
  type: "gemini",
  content,
  thoughts: [],
  tokens: { input: 100, output: 20, cached: 40, thoughts: 5, tool: 0, total: 125 },
  model: "gemini-2.5-pro",
  ...more,
});
export const response = (id: string, output: string, name = "run_shell_command") => ({
  functionResponse: { id, name, response: { output } },
});
export const call = (id: string, result: unknown, more: object = {}) => ({
  id,
  name: "run_shell_command",
  args: { command: "ls" },
  result,
  status: "success",
  timestamp: time(3),
  resultDisplay: "shown",
  ...more,
});
export const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export const lines = (records: readonly unknown[]): Uint8Array =>
  new TextEncoder().encode(records.map((record) => `${JSON.stringify(record)}\n`).join(""));

/** Imports a log, or several files. */
export async function read(
  input: readonly unknown[] | Readonly<Record<string, Uint8Array>>,
  options: Partial<ImportOptions> = {},
): Promise<ImportedSession> {
  const files = Array.isArray(input) ? { [chatPath]: lines(input) } : (input as Record<string, Uint8Array>);
  return importSession(
    Object.entries(files).map(([path, bytes]) => ({ path, bytes })),
    { from: gemini, blobs: memoryBlobStore(), ...options },
  );
}

/** The context at the leaf of an import. */
export function contextFrom({ header: head, entries, leafId }: ImportedSession) {
  const text = [JSON.stringify(head), ...entries.map((entry) => encodeEntry(entry))].join("\n");
  return buildSessionContext(parseSession(`${text}\n`), leafId);
}

/** The context as short rows: role and text, or calls. */
export function rowsOf(imported: ImportedSession): readonly string[] {
  return contextFrom(imported).items.map(({ message }) => {
    if (message.role === "compactionSummary") return `summary: ${message.summary}`;
    if (message.role === "branchSummary" || message.role === "bashExecution") return message.role;
    const blocks =
      typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const words = (blocks as readonly { type: string; [name: string]: unknown }[]).map((block) => {
      if (block.type === "toolCall") return `call ${block.id}`;
      if (block.type === "thinking") return `(${block.thinking})`;
      if ("resource" in block) return "image";
      return block.type === "text" ? String(block.text) : block.type;
    });
    return `${message.role === "toolResult" ? `result ${message.toolCallId}` : message.role}: ${words.join(", ")}`;
  });
}
