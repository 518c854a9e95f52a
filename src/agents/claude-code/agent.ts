/** The row of Claude Code: its home, its transcripts at a glance, their titles, the words that resume one. */

import {
  folderByPath,
  lastRecords,
  nameByPath,
  readRecords,
  readVersion,
  textTitle,
} from "../shared/records.js";
import { type ForeignObject, readMilliseconds, readObject, readText, toArray } from "../shared/values.js";
import type { AgentRow, AgentWindows } from "../types.js";

/** A text that the program wrote: a tag first, or the note of an interruption. */
const harness = /^(?:<[a-z][\w-]{0,200}[\s>]|\[Request interrupted by user)/;

/** The words that resume a session. */
export const resumeWords = (sessionId: string): readonly string[] => ["claude", "--resume", sessionId];

export const claudeAgent: AgentRow<"claude-code"> = {
  name: "claude-code",
  title: "Claude Code",
  home: { variables: ["CLAUDE_CONFIG_DIR"], folder: ".claude" },
  sessions: [{ folder: "projects/*", name: /\.jsonl$/ }],
  nameId: (path) => (nameByPath(path).startsWith("agent-") ? undefined : nameByPath(path)),
  // Subagents that a workflow started are in a folder for each run.
  parts: ({ folder }) => [{ folder: `${folder}/subagents`, depth: 8, name: /^agent-.{0,255}\.jsonl?$/ }],
  path: /(?:^|\/)\.claude\/projects\//,
  harness,
  resume: resumeWords,

  detect(value) {
    const { uuid, sessionId, type } = value;
    if (type === "summary" && typeof value.leafUuid === "string") return { sure: true };
    // Qwen Code has this envelope, with parts of Gemini.
    if (typeof type !== "string" || "systemPayload" in value) return undefined;
    if (typeof uuid === "string" && Array.isArray(readObject(value.message)?.parts)) return undefined;
    if (typeof uuid === "string" && typeof sessionId === "string" && "parentUuid" in value)
      return { ...readVersion(value.version), sure: true };
    if (type === "file-history-snapshot" && "snapshot" in value) return { sure: true };
    return typeof sessionId === "string" ? { sure: false } : undefined;
  },

  describe(path, windows) {
    const id = nameByPath(path);
    let cwd: string | undefined;
    let created: number | undefined;
    let sessionId: string | undefined;
    for (const record of readRecords(windows.head)) {
      cwd ??= readText(record.cwd);
      sessionId ??= readText(record.sessionId);
      created ??= readMilliseconds(record.timestamp);
      if (cwd !== undefined && created !== undefined && sessionId !== undefined) break;
    }
    if (sessionId === undefined && cwd === undefined && created === undefined) return undefined;
    if (id.startsWith("agent-"))
      return { id, cwd, created, readPart: `${folderByPath(path)}/${sessionId ?? ""}.jsonl` };
    return { id, cwd, created, title: transcriptTitle(windows) };
  },
};

/** The records that name a session, the ones that count first, with the member that has the name. */
const titleRecords = [
  ["custom-title", "customTitle"],
  ["ai-title", "aiTitle"],
  ["last-prompt", "lastPrompt"],
  ["summary", "summary"],
] as const;

/** The title that the agent itself shows. The names of a user and of a model count at both ends of the file. */
function transcriptTitle({ head, tail }: AgentWindows): string | undefined {
  const last = new Map<string, string>();
  const see = (windows: AgentWindows, kinds: readonly (readonly [string, string])[]) => {
    const texts = kinds.map(([, member]) => `"${member}"`);
    for (const record of lastRecords(windows, texts)) {
      const member = kinds.find(([type]) => type === record.type)?.[1];
      const title = member === undefined ? undefined : readText(record[member]);
      if (member !== undefined && title !== undefined && !last.has(member)) last.set(member, title);
      // An empty name leaves the choice to the other titles.
      if (last.get("customTitle")) break;
    }
  };
  see({ head, tail }, titleRecords);
  if (head !== tail) see({ head, tail: head }, titleRecords.slice(0, 2));
  for (const [, member] of titleRecords) {
    const title = textTitle(last.get(member));
    // The last prompt may be what the program wrote, like the first.
    const isAsked = member !== "lastPrompt" || firstPrompt([asPrompt(title)]) === title;
    if (title !== undefined && isAsked) return title;
  }
  return textTitle(firstPrompt(readRecords(head, Number.POSITIVE_INFINITY)));
}

const asPrompt = (content: unknown) => ({ type: "user", message: { content } });

/**
 * The words that a person asked first, for a title; a shell command with an exclamation mark. A transcript begins
 * with what the program adds: its commands, files of an editor, notes. Without a question, the name of the
 * first command. Undefined without both. The rules are those of the Agent SDK's `listSessions` (0.3.330,
 * 2026-11-28), with which test/adapters compares them.
 */
export function firstPrompt(records: Iterable<ForeignObject>): string | undefined {
  let command: string | undefined;
  for (const record of records) {
    for (const text of readTexts(record)) {
      const trimmed = text.trim();
      const name = between(trimmed, "<command-name>", "</command-name>");
      const input = between(trimmed, "<bash-input>", "</bash-input>");
      if (name !== undefined) command ??= name.trim() || undefined;
      else if (input !== undefined) return `! ${input.trim()}`;
      else if (trimmed !== "" && !harness.test(trimmed)) return trimmed;
    }
  }
  return command;
}

/** The texts of a message that the user may have written. */
function readTexts({
  type,
  isMeta,
  isCompactSummary,
  isSidechain,
  message,
}: ForeignObject): readonly string[] {
  if (type !== "user" || isMeta === true || isCompactSummary === true || isSidechain === true) return [];
  const content = readObject(message)?.content;
  if (typeof content === "string") return [content.toWellFormed()];
  const blocks = toArray(content).map(readObject);
  if (blocks.some((block) => block?.type === "tool_result")) return [];
  return blocks.flatMap((block) => (block?.type === "text" ? (readText(block.text) ?? []) : []));
}

/** The text between two others; undefined if one is not there. */
function between(text: string, open: string, close: string): string | undefined {
  const at = text.indexOf(open);
  const end = at < 0 ? -1 : text.indexOf(close, at + open.length);
  return end < 0 ? undefined : text.slice(at + open.length, end);
}
