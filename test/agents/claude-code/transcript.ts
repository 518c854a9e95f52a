/** Transcripts for tests: lines of Claude Code with only what a test is about. */

import { buildSessionContext, type ContextItem, memoryBlobStore, parseSession } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { type ImportedSession, type ImportOptions, importSession } from "sessile/interop";
import { encodeUtf8 } from "../../support/plain-values.js";

export type Fields = Readonly<Record<string, unknown>>;

export const sessionId = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";
export const mainPath = `projects/-work/${sessionId}.jsonl`;

/** A line with a uuid and its parent. */
export function line(type: string, uuid: string, parentUuid: string | null, fields: Fields = {}): Fields {
  const timestamp = "2026-11-23T08:00:00.000Z";
  return {
    parentUuid,
    isSidechain: false,
    cwd: "/work",
    sessionId,
    version: "2.1.330",
    type,
    uuid,
    timestamp,
    ...fields,
  };
}

export function user(uuid: string, parent: string | null, content: unknown, fields: Fields = {}): Fields {
  return line("user", uuid, parent, { message: { role: "user", content }, ...fields });
}

/** One block of a reply. */
export function reply(
  uuid: string,
  parent: string | null,
  id: string,
  block: Fields,
  fields: Fields = {},
): Fields {
  const usage = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 };
  const message = {
    id,
    role: "assistant",
    model: "claude-opus-5-5",
    content: [block],
    stop_reason: "tool_use",
    usage,
  };
  return line("assistant", uuid, parent, {
    message: { ...message, ...(fields.message as Fields) },
    requestId: `req_${id}`,
  });
}

export const text = (value: string): Fields => ({ type: "text", text: value });
export const call = (id: string, name = "Bash"): Fields => ({
  type: "tool_use",
  id,
  name,
  input: { command: "ls" },
});
export const result = (id: string, content: unknown = `out ${id}`, more: Fields = {}): Fields => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...more,
});

export function bytesOf(lines: readonly Fields[]): Uint8Array {
  return encodeUtf8(lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
}

export async function read(
  lines: readonly Fields[],
  options: Partial<ImportOptions> & { readonly more?: Readonly<Record<string, Uint8Array>> } = {},
): Promise<ImportedSession> {
  const { more = {}, ...rest } = options;
  const files = Object.entries({ [mainPath]: bytesOf(lines), ...more }).map(([path, bytes]) => ({
    path,
    bytes,
  }));
  return importSession(files, { from: claudeCode, blobs: memoryBlobStore(), ...rest });
}

/** The context of an import: a role and a text a message. */
export function shown(imported: Pick<ImportedSession, "header" | "entries" | "leafId">): readonly string[] {
  return itemsOf(imported).map(({ message }) => {
    if (message.role === "compactionSummary") return `summary: ${message.summary}`;
    const { content } = message as unknown as { readonly content: string | readonly Fields[] };
    const parts = typeof content === "string" ? [text(content)] : content;
    const said = parts
      .map((part) => part.text ?? part.thinking ?? part.id ?? part.mimeType ?? part.type)
      .join(" | ");
    return `${message.role}: ${said}`;
  });
}

export function itemsOf(
  imported: Pick<ImportedSession, "header" | "entries" | "leafId">,
): readonly ContextItem[] {
  const stored = [imported.header, ...imported.entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
  return buildSessionContext(parseSession(stored), imported.leafId).items;
}
