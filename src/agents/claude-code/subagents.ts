/** The conversations of subagents, and the calls that started them. */

import { derivedSessionId, textDigest } from "../shared/ids.js";
import { readObject } from "../shared/values.js";
import type { ForeignSource } from "../types.js";
import { plainText } from "./content.js";
import { type Line, readId } from "./lines.js";
import { linkedTranscript } from "./links.js";
import type { Conversation } from "./reply-entries.js";
import { sourceFile, type TranscriptFile } from "./transcript-file.js";

/** A conversation of a subagent. */
export interface Child {
  /** Of the agent; of a sidechain in the session's own file that of its first line. */
  readonly agentId: string;
  /** The id of its session. */
  readonly sessionId: string;
  readonly lines: readonly Line[];
  readonly file: TranscriptFile;
  /** The call that started it, by its description. */
  readonly toolUseId: string | undefined;
  readonly parentAgentId: string | undefined;
  readonly prompt: string | undefined;
  /** The run of a workflow that started it: the name of its folder. */
  readonly run: string | undefined;
  isClaimed: boolean;
}

/** Names of files of subagents begin so. */
export const agentPrefix = "agent-";

/** The sidechains in the file of a session: each from its own start. */
export function fileSidechains(file: TranscriptFile, parentId: string): readonly Child[] {
  if (file.name.startsWith(agentPrefix)) return [];
  const { lines } = linkedTranscript(
    file.lines.filter(({ value }) => value.isSidechain === true),
    true,
  );
  const groups = new Map<Line, string>();
  const children = new Map<string, Line[]>();
  for (const line of lines) {
    const group = lineGroup(line, groups);
    const known = children.get(group);
    if (known === undefined) children.set(group, [line]);
    else known.push(line);
  }
  return Array.from(children, ([agentId, own]) =>
    readChild({ agentId, parentId, lines: own, file, meta: {} }),
  );
}

/** The agent of a line; without one, the start of its conversation. */
function lineGroup(line: Line, groups: Map<Line, string>): string {
  const walked = new Set<Line>();
  let group: string | undefined;
  for (let at: Line | undefined = line; at !== undefined && group === undefined && !walked.has(at); ) {
    walked.add(at);
    group = groups.get(at) ?? readId(at.value.agentId) ?? (at.parent === undefined ? at.uuid : undefined);
    at = at.parent;
  }
  for (const each of walked) groups.set(each, group ?? line.uuid);
  return group ?? line.uuid;
}

/** The conversation in an agent's file; none if it belongs to another session. */
export function childOfFile(
  source: ForeignSource,
  path: string,
  {
    main,
    foreignId,
    parentId,
    taken,
  }: { main: TranscriptFile; foreignId: string; parentId: string; taken: Set<string> },
): readonly Child[] {
  const file = sourceFile(source, path);
  const { sessionId } = file;
  const isBelow = `/${path}`.includes(`/${main.name}/`);
  if (!isBelow && sessionId !== undefined && sessionId !== foreignId && sessionId !== main.sessionId) {
    source.find({ code: "unmapped", file: path, text: `a subagent of another session, ${sessionId}` });
    return [];
  }
  const metaPath = path.replace(/\.jsonl$/, ".meta.json");
  const hasMeta = source.files.some((each) => each.path === metaPath);
  const meta = hasMeta ? (readObject(source.json(metaPath)) ?? {}) : {};
  const own = file.name.slice(agentPrefix.length);
  // Two runs of workflows may have agents of one name.
  const agentId = taken.has(own) ? `${own}-${textDigest(path).slice(0, 8)}` : own;
  taken.add(agentId);
  return [readChild({ agentId, parentId, lines: file.lines, file, meta })];
}

function readChild(init: {
  readonly agentId: string;
  readonly parentId: string;
  readonly lines: readonly Line[];
  readonly file: TranscriptFile;
  readonly meta: Readonly<Record<string, unknown>>;
}): Child {
  const { agentId, parentId, lines, file, meta } = init;
  const [first] = lines;
  return {
    agentId,
    // An id of an agent has few digits: two sessions may have the same.
    sessionId: derivedSessionId("claude-code", `${parentId}.agent-${agentId}`),
    lines,
    file,
    toolUseId: readId(meta.toolUseId),
    parentAgentId: readId(meta.parentAgentId),
    prompt: first === undefined ? undefined : plainText(readObject(first.value.message)?.content),
    run: /(?:^|\/)workflows\/([^/]{1,255})\/[^/]{1,255}$/.exec(file.path)?.[1],
    isClaimed: false,
  };
}

function addTo(map: Map<string, Child[]>, key: string, child: Child): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [child]);
  else known.push(child);
}

/** Finds the conversations that a call started. */
export class Links {
  readonly #source: ForeignSource;
  readonly #byAgent = new Map<string, Child>();
  readonly #byCall = new Map<string, Child>();
  readonly #byRun = new Map<string, Child[]>();
  /** Those whose call nothing names, in the order of their files. The last is the first. */
  readonly #byPrompt = new Map<string, Child[]>();

  constructor(source: ForeignSource, children: readonly Child[]) {
    this.#source = source;
    for (const child of children.toReversed()) {
      this.#byAgent.set(child.agentId, child);
      if (child.run !== undefined) addTo(this.#byRun, child.run, child);
      else if (child.toolUseId !== undefined) this.#byCall.set(child.toolUseId, child);
      else if (child.prompt !== undefined) addTo(this.#byPrompt, child.prompt, child);
    }
  }

  agent(agentId: string): Child | undefined {
    return this.#byAgent.get(agentId);
  }

  /** By the run of a workflow that the result names. */
  readonly readRun: Conversation["resultRun"] = (result) => {
    const runId = readId(readObject(result.value.toolUseResult)?.runId) ?? "";
    const started = this.#byRun.get(runId)?.toReversed() ?? [];
    this.#byRun.delete(runId);
    return started.map(({ sessionId }) => sessionId);
  };

  /** By the agent that the result names, the call that the agent names, or the prompt of both. */
  readonly findChild: Conversation["callChild"] = (call, result) => {
    const agentId = result && readId(readObject(result.value.toolUseResult)?.agentId);
    const named = agentId === undefined ? undefined : this.#byAgent.get(agentId);
    const child = named ?? this.#byCall.get(call.id) ?? this.#byItsPrompt(call.prompt);
    if (child !== undefined) {
      if (child.isClaimed) return undefined;
      child.isClaimed = true;
      return child.sessionId;
    }
    if (agentId !== undefined && result !== undefined) {
      const { file, line } = result.record;
      this.#source.find({
        code: "missingChild",
        file,
        line,
        text: `subagent ${agentId}: its file is missing`,
      });
    }
    return undefined;
  };

  #byItsPrompt(prompt: string | undefined): Child | undefined {
    const waiting = prompt === undefined ? undefined : this.#byPrompt.get(prompt);
    while (waiting?.at(-1)?.isClaimed === true) waiting.pop();
    return waiting?.at(-1);
  }
}
