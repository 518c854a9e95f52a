/** Rollouts that Codex wrote, its requests after a resume, and what the import of the first says to the second. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AssistantMessage, buildSessionContext, project, type SessionEntry, SessionTree } from "sessile";
import { codex } from "sessile/codex";
import { type ForeignFile, type ImportedSession, type ImportOptions, importSession } from "sessile/interop";
import { openaiResponses } from "sessile/openai";
import { root } from "../../../scripts/entries.mjs";
import { type ReducedMessage, reduceRequest } from "../support/reduced.js";

const folder = join(root, "test/agents/codex/files");

/** Requests of Codex, reduced, by the name of the sample and the text of its last message. */
export const requests = JSON.parse(readFileSync(join(folder, "requests.json"), "utf8")) as Readonly<
  Record<string, readonly ReducedMessage[]>
>;

/** A file of the samples. */
export function sample(name: string): ForeignFile {
  return { path: `sessions/2026/11/23/${name}`, bytes: new Uint8Array(readFileSync(join(folder, name))) };
}

/** The files of a folder of the samples. */
export function samplesIn(name: string): readonly ForeignFile[] {
  return readdirSync(join(folder, name))
    .sort()
    .map((file) => sample(`${name}/${file}`));
}

/** A rollout up to the message of a user, as it was when Codex sent the request. */
export function upTo(file: ForeignFile, text: string): ForeignFile {
  const lines = textOf(file).split("\n");
  const at = lines.findLastIndex(
    (line) => line.includes('"type":"response_item"') && line.includes(`"text":"${text}"`),
  );
  return { ...file, bytes: new TextEncoder().encode(`${lines.slice(0, at + 1).join("\n")}\n`) };
}

export function textOf({ bytes }: Pick<ForeignFile, "bytes">): string {
  return new TextDecoder().decode(bytes as Uint8Array);
}

/** Imports rollouts. */
export function read(
  files: ForeignFile | readonly ForeignFile[],
  options: Partial<ImportOptions> = {},
): Promise<ImportedSession> {
  return importSession([files].flat(), { from: codex, ...options });
}

/** A rollout of lines, by their types and payloads. */
export function rollout(
  lines: readonly (readonly [type: string, payload: object, more?: object])[],
  meta: object = {},
): ForeignFile {
  const id = "01a20773-0000-7000-8000-000000000000";
  const first = { id, cwd: "/srv/app", originator: "codex_exec", cli_version: "0.128.0", ...meta };
  const all = [["session_meta", { ...first, model_provider: "openai" }] as const, ...lines];
  const text = all.map(([type, payload, more], at) => {
    const timestamp = new Date(Date.UTC(2026, 10, 23) + at * 1000).toISOString();
    return `${JSON.stringify({ timestamp, type, payload, ...more })}\n`;
  });
  return {
    path: `sessions/2026/11/23/rollout-2026-11-23T00-00-00-${id}.jsonl`,
    bytes: new TextEncoder().encode(text.join("")),
  };
}

/** A line with an item. */
export const item = (payload: object, more?: object) => ["response_item", payload, more ?? {}] as const;
/** A line with an event. */
export const event = (payload: object) => ["event_msg", payload] as const;
/** A line with a message of a user. */
export const said = (text: string, more: object = {}) =>
  item({ type: "message", role: "user", content: [{ type: "input_text", text }], ...more });
/** A line with a message of the model. */
export const answered = (text: string) =>
  item({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
/** A line with the context of a turn. */
export const turn = (more: object = {}) =>
  ["turn_context", { cwd: "/srv/app", model: "gpt-5.2-codex", ...more }] as const;

/** The context of an import. */
export function contextOfImport({ entries, leafId }: Pick<ImportedSession, "entries" | "leafId">) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const source = { tree: new SessionTree(entries), leafId, entry: (id: string) => byId.get(id) };
  return buildSessionContext(source);
}

/** The messages of an import's context. */
export const messagesOf = (imported: ImportedSession) =>
  contextOfImport(imported).items.map(({ message }) => message);

/** The entries of one type. */
export function entriesOf<T extends SessionEntry["type"]>(imported: ImportedSession, type: T) {
  return imported.entries.filter(
    (entry): entry is SessionEntry & { readonly type: T } => entry.type === type,
  );
}

/** Texts that the harness adds to each request, and the summary, whose words and place differ. */
export const harness = [
  /^<environment_context>/,
  /^# AGENTS.md instructions/,
  /^Another language model/,
  /^What came before in this conversation/,
];

/** The request that an import becomes, reduced as the recorded ones are. */
export async function projectedRequest(imported: ImportedSession): Promise<readonly ReducedMessage[]> {
  const replies = imported.entries.flatMap((entry) =>
    entry.type === "message" && entry.message.role === "assistant" ? [entry.message] : [],
  );
  const { model, provider } = replies[0] as AssistantMessage;
  const { value } = await project(contextOfImport(imported), openaiResponses({ model, provider }));
  return reduceRequest(value, { without: harness, maxText: 160 });
}

/** Versions before 0.169 print the JSON of a patch's output again as text when they send it. */
export function asPrinted(messages: readonly ReducedMessage[]): readonly ReducedMessage[] {
  return messages.map((message) => {
    if (!("result" in message) || !message.text.includes("Success. Updated")) return message;
    const { output, metadata } = JSON.parse(message.text);
    return { ...message, text: `Exit code: ${metadata.exit_code}\nWall time: 0 seconds\nOutput:\n${output}` };
  });
}
