/**
 * The table of agents: a row each, in the order of detection. Names, detection, discovery and the choices of
 * the command line derive from it. A row is plain data, so that a list loads no format; `formats` loads
 * them.
 */

import { isName } from "../core/ids.js";
import { claudeAgent } from "./claude-code/agent.js";
import { codexAgent } from "./codex/agent.js";
import { geminiAgent } from "./gemini-cli/agent.js";
import { kimiAgent } from "./kimi-code/agent.js";
import { opencodeAgent } from "./opencode/agent.js";
import { qwenAgent } from "./qwen-code/agent.js";
import { lastRecords, parseCutJson, readRecords, recordFirst, textIn } from "./shared/records.js";
import { type ForeignObject, readMilliseconds, readObject, readText } from "./shared/values.js";
import type {
  AgentDescription,
  AgentRow,
  AgentWindows,
  DataSetName,
  DetectedSession,
  ForeignFormat,
  ForeignFormatName,
} from "./types.js";

/** This library: a store has no common place. */
const sessileAgent: AgentRow<"sessile"> = {
  name: "sessile",
  title: "Sessile",
  sessions: [{ folder: "", depth: 3, name: /\.jsonl?$/ }],
  detect: (value) => (isOwnHeader(value) && "sessile" in value ? { sure: true } : undefined),
  describe: (_path, windows) => describeOwn(windows, (header) => "sessile" in header),
};

/** pi, whose files this library reads as its own. After `sessile`, whose headers have the members of its own. */
const piAgent: AgentRow<"pi"> = {
  name: "pi",
  title: "pi",
  home: { variables: ["PI_CODING_AGENT_DIR"], folder: ".pi/agent" },
  sessions: [{ folder: "sessions", depth: 1, name: /\.jsonl$/ }],
  nameId: (path) => /_([^/_]{1,255})\.jsonl$/.exec(path)?.[1],
  resume: (sessionId) => ["pi", "--session", sessionId],
  detect: (value) => (isOwnHeader(value) ? { sure: true } : undefined),
  describe: (_path, windows) => describeOwn(windows, () => true),
};

export const agents = [
  sessileAgent,
  claudeAgent,
  codexAgent,
  geminiAgent,
  opencodeAgent,
  piAgent,
  qwenAgent,
  kimiAgent,
] as const;

/** The names of agents whose files this library reads without a format. */
type OwnName = (typeof sessileAgent | typeof piAgent)["name"];

/** What reads and writes the sessions of each other agent, loaded when it is needed. */
export const formats: Readonly<Record<Exclude<ForeignFormatName, OwnName>, () => Promise<ForeignFormat>>> = {
  "claude-code": async () => (await import("./claude-code/index.js")).claudeCode,
  codex: async () => (await import("./codex/index.js")).codex,
  gemini: async () => (await import("./gemini-cli/index.js")).gemini,
  opencode: async () => (await import("./opencode/index.js")).opencode,
  "kimi-code": async () => (await import("./kimi-code/index.js")).kimiCode,
  "qwen-code": async () => (await import("./qwen-code/index.js")).qwenCode,
};

/** What writes the sessions of each agent. */
export const writers: Readonly<
  Record<Exclude<ForeignFormatName, (typeof sessileAgent)["name"]>, () => Promise<ForeignFormat>>
> = { ...formats, pi: async () => (await import("./pi.js")).pi };

/** What writes data sets, which no agent resumes. */
export const dataSets: Readonly<Record<DataSetName, () => Promise<ForeignFormat>>> = {
  otlp: async () => (await import("./data-sets.js")).otlp,
  "openai-finetune": async () => (await import("./data-sets.js")).openaiFinetune,
  sharegpt: async () => (await import("./data-sets.js")).shareGpt,
};

const rows = new Map<string, AgentRow<ForeignFormatName>>(agents.map((row) => [row.name, row]));

/** The row of a name; undefined for another name. */
export function agentRow(name: string): AgentRow<ForeignFormatName> | undefined {
  return rows.get(name);
}

/**
 * The words that resume a session in its agent. None for an id that is no name: it is text of a file, and the program
 * could take it for an option.
 */
export function resumeWords(
  agent: string,
  id: string,
  files: readonly { readonly path: string }[],
): readonly string[] | undefined {
  return isName(id) ? agentRow(agent)?.resume?.(id, files) : undefined;
}

/** Whether this library reads the files of an agent as its own, without a format. */
export function isOwnAgent(name: string): name is OwnName {
  return name === sessileAgent.name || name === piAgent.name;
}

function isOwnHeader({ type, id, timestamp, cwd, version }: ForeignObject): boolean {
  if (type !== "session" || typeof id !== "string") return false;
  return typeof version === "number" || typeof timestamp === "string" || typeof cwd === "string";
}

function describeOwn(
  windows: AgentWindows,
  isOf: (header: ForeignObject) => boolean,
): AgentDescription | undefined {
  const records = [...readRecords(windows.head)];
  const [header] = records;
  const id = readText(header?.id);
  if (header?.type !== "session" || id === undefined || !isOf(header)) return undefined;
  const isInfo = (record: ForeignObject) => (record.type === "session_info" ? record : undefined);
  const info = recordFirst(lastRecords(windows, ['"session_info"']), isInfo) ?? recordFirst(records, isInfo);
  const question = records.find(({ message }) => readObject(message)?.role === "user");
  return {
    id,
    cwd: readText(header.cwd),
    created: readMilliseconds(header.timestamp),
    title: readText(info?.name) ?? readText(info?.title) ?? textIn(readObject(question?.message)?.content),
    parent: readText(header.parentSession),
  };
}

// Which agent wrote a file: by its first records, else by its path.

/** Records at the start of a file that are looked at. */
const maxRecords = 20;

/**
 * Tells which agent wrote a file: the first row of the table that knows a record is the one. Never throws.
 *
 * @param head the first bytes of the file; 64 KiB are enough
 * @param path relative to the agent's home; consulted if the bytes tell nothing
 * @example
 * ```ts
 * const line = '{"timestamp":"2026-11-20T09:00:00Z","type":"session_meta","payload":{"id":"0199a0f2"}}';
 * detectSession(new TextEncoder().encode(line))?.format; // "codex"
 * ```
 */
export function detectSession(head: Uint8Array, path?: string): DetectedSession | undefined {
  for (const record of headRecords(head)) {
    for (const { name, detect } of agents) {
      const found = detect(record);
      if (found !== undefined) return { format: name, ...found };
    }
  }
  if (typeof path !== "string") return undefined;
  const forward = path.replaceAll("\\", "/");
  const named = agents.find((row) => row.path?.test(forward) === true);
  return named === undefined ? undefined : { format: named.name, sure: false };
}

/** The objects at the start of a file: of its lines, or of the whole file. The last may be cut. */
function* headRecords(head: Uint8Array): Generator<ForeignObject> {
  if (!(head instanceof Uint8Array)) return;
  const text = new TextDecoder().decode(head);
  const lines = text.split("\n", maxRecords + 1);
  let found = 0;
  for (const line of lines.slice(0, maxRecords)) {
    const value = readObject(parseCutJson(line));
    // The first line of an object that is printed over several lines has no member.
    if (value === undefined || Object.keys(value).length === 0) continue;
    found++;
    yield value;
  }
  const whole = found === 0 || lines.length > 1 ? readObject(parseCutJson(text)) : undefined;
  if (whole !== undefined) yield whole;
}
