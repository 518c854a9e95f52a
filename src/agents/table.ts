/**
 * The table of agents: a row each, in the order of detection. Names, detection, discovery and the choices of the
 * command line derive from it. A row is plain data, so that a list loads no format; `formats` loads them.
 */

import { claudeAgent } from "./claude-code/agent.js";
import { codexAgent } from "./codex/agent.js";
import { geminiAgent } from "./gemini-cli/agent.js";
import { kimiAgent } from "./kimi-code/agent.js";
import { opencodeAgent } from "./opencode/agent.js";
import { qwenAgent } from "./qwen-code/agent.js";
import { lastRecords, readRecords, recordFirst, textIn } from "./shared/describe.js";
import { type ForeignObject, readMilliseconds, readObject, readText } from "./shared/values.js";
import type { AgentDescription, AgentRow, AgentWindows, ForeignFormat, ForeignFormatName } from "./types.js";

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

const rows = new Map<string, AgentRow<ForeignFormatName>>(agents.map((row) => [row.name, row]));

/** The row of a name; undefined for another name. */
export function agentRow(name: string): AgentRow<ForeignFormatName> | undefined {
  return rows.get(name);
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
