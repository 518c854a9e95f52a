/**
 * Reads a session: the transcript `<uuid>.jsonl`, and those of its subagents, which are lines of the same
 * file (1.x), files beside it (2.0) or files of a folder with descriptions (2.1).
 */

import { collapsed } from "../../core/text.js";
import { derivedSessionId, textDigest } from "../shared/ids.js";
import { readObject, readText } from "../shared/values.js";
import type { EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { firstPrompt } from "./agent.js";
import { addEntries, addTitles, type Conversation, plainText, type Titles } from "./entries.js";
import {
  countedType,
  isPrompt,
  type Line,
  linkedTranscript,
  readId,
  readType,
  recordLine,
  type Transcript,
  type Unit,
} from "./lines.js";
import { layOut } from "./units.js";

/** Reads a session and those of its subagents. Returns the entries of the session itself. */
export function readClaudeCode(source: ForeignSource): EntryBuilder | undefined {
  const paths = source.files.flatMap(({ path, form }) => (form === "lines" ? [path] : []));
  const isAgent = (path: string) => nameByPath(path).startsWith(agentPrefix);
  // A workflow has a journal beside its agents, of what it started.
  const isBeside = (path: string) => /(?:^|\/)subagents\//.test(path);
  const mains = paths.filter((path) => !isAgent(path) && !isBeside(path));
  const wanted = source.sessionId;
  const mainPath = mains.find((path) => nameByPath(path) === wanted) ?? mains[0] ?? paths[0];
  if (mainPath === undefined) return undefined;
  const main = sourceFile(source, mainPath);
  const foreignId = isUuid(main.name) ? main.name : (main.sessionId ?? main.name);
  const first = source.session({
    id: foreignId,
    cwd: main.cwd,
    agentVersion: main.version,
    parentSession: main.forkedFrom,
  });
  for (const path of mains)
    if (path !== mainPath) source.find({ code: "unmapped", file: path, text: "another session" });
  const agentFiles = paths.filter((path) => isAgent(path) && path !== mainPath);
  const taken = new Set<string>();
  const children = [
    ...fileSidechains(main, first.sessionId),
    ...agentFiles.flatMap((path) =>
      childOfFile(source, path, { main, foreignId, parentId: first.sessionId, taken }),
    ),
  ];
  const links = new Links(source, children);
  reportState(source, main);
  if (main.cost !== undefined) source.countCost(main.cost);
  const own = isAgent(mainPath) ? main.lines : main.lines.filter(({ value }) => value.isSidechain !== true);
  const conversation = { source, callChild: links.findChild, resultRun: links.readRun };
  const add = (
    lines: readonly Line[],
    isSidechain: boolean,
    builder: Conversation["builder"],
    id: string,
  ) => {
    const transcript = linkedTranscript(lines, isSidechain);
    const layout = layOut(transcript);
    reportBreaks(source, transcript);
    const own = { answered: new Map<string, string>(), inferred: new Set<Unit>(), layout };
    addEntries({ ...conversation, ...own, builder, foreignId: id });
  };
  add(own, isAgent(mainPath), first, foreignId);
  addTitles(first, transcriptTitles(main), main.lines[0]?.value.timestamp);
  for (const path of paths)
    if (isBeside(path) && !isAgent(path) && path !== mainPath) reportState(source, sourceFile(source, path));
  for (const child of children) {
    const { sessionId, file, parentAgentId } = child;
    const parent = parentAgentId === undefined ? undefined : links.agent(parentAgentId);
    const builder = source.session({
      id: sessionId,
      cwd: readText(child.lines[0]?.value.cwd) ?? file.cwd,
      agentVersion: file.version,
      parentSession: parent?.sessionId ?? first.sessionId,
    });
    add(child.lines, true, builder, sessionId);
    if (file !== main) reportState(source, file);
  }
  return first;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

function reportBreaks(source: ForeignSource, { breaks }: Transcript): void {
  for (const { line, text } of breaks) {
    const { file, line: at } = line.record;
    source.find({ code: "missingParent", file, line: at, text });
  }
}

// A transcript file: its lines, and its records of state and titles.

/** A transcript file with the facts of the session in its records. */
interface TranscriptFile {
  readonly path: string;
  /** The name without folder and extension. */
  readonly name: string;
  readonly lines: readonly Line[];
  /** Lines that a later one with the same uuid replaces. */
  readonly superseded: readonly Line[];
  /** Records without a uuid. */
  readonly others: readonly ForeignRecord[];
  readonly sessionId: string | undefined;
  readonly cwd: string | undefined;
  readonly version: string | undefined;
  readonly forkedFrom: string | undefined;
  /** US dollars: the last sum of the agent, which goes on when the session is resumed. */
  readonly cost: number | undefined;
}

/** Types of records without a uuid that are known to have no home. */
const stateTypes =
  /^(?:agent-(?:color|name|setting)|api-request(?:-blob|-shape)?|atis-latch|attribution-snapshot|bridge-session|content-replacement|cost-state|file-history-snapshot|frame-link|host-row|last-prompt|mode|permission-mode|pr-link|queue-operation|relocated|result|started|tag|tools-used|worktree-state)$/;

const lineTypes = new Set(["assistant", "attachment", "progress", "system", "user"]);

/** The last part of a path, without its extension. */
export function nameByPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.[A-Za-z]\w{0,7}$/, "");
}

/**
 * The lines of a file, one a uuid. A copy of old history, or a later state of a line, stays at the place where
 * the line was written first.
 */
export class LineCollection {
  /** Lines that a later one with the same uuid replaces. */
  readonly superseded: Line[] = [];
  readonly #byId = new Map<string, Line>();
  #at = 0;

  get lines(): readonly Line[] {
    return Array.from(this.#byId.values());
  }

  /** Adds the line of a record. Returns undefined for a record without a uuid. */
  add(record: ForeignRecord): Line | undefined {
    const at = this.#at++;
    const known = this.#byId.get(readId(record.value.uuid) ?? "");
    const line = recordLine(record, known?.at ?? at, known && at);
    if (line === undefined) return undefined;
    if (known !== undefined) this.superseded.push(known);
    this.#byId.set(line.uuid, line);
    return line;
  }
}

/** Reads a transcript file once. */
function sourceFile(source: ForeignSource, path: string): TranscriptFile {
  const collection = new LineCollection();
  const others: ForeignRecord[] = [];
  let sessionId: string | undefined;
  let cwd: string | undefined;
  let version: string | undefined;
  let forkedFrom: string | undefined;
  let cost: number | undefined;
  let moved = false;
  for (const record of source.records(path)) {
    const { value } = record;
    sessionId ??= readId(value.sessionId);
    forkedFrom ??= readId(readObject(value.forkedFrom)?.sessionId);
    version = readId(value.version) ?? version;
    const now = readId(value.cwd);
    if (now !== undefined && cwd !== undefined && now !== cwd && !moved) {
      moved = true;
      const text = `the working directory changes to ${now}`;
      source.find({ code: "moved", file: path, line: record.line, text });
    }
    cwd ??= now;
    const { type, totalCostUSD: sum } = value;
    if (type === "cost-state" && typeof sum === "number" && sum > 0) cost = sum;
    if (collection.add(record) === undefined) others.push(record);
  }
  const { lines, superseded } = collection;
  const facts = { sessionId, cwd, version, forkedFrom, cost };
  return { path, name: nameByPath(path), lines, superseded, others, ...facts };
}

/** Counts the records of a file without a place in the conversation. */
function reportState(source: ForeignSource, { path, others, superseded, lines }: TranscriptFile): void {
  const unknown = new Set<string>();
  const isNew = (type: string, record: ForeignRecord) => {
    if (unknown.has(type) || unknown.size >= 100) return;
    unknown.add(type);
    source.find({ code: "newer", file: path, line: record.line, text: `an unknown type of record: ${type}` });
  };
  for (const record of others) {
    const type = readType(record.value);
    if (recordTitle(record) === undefined) source.count(type, "unmapped", record);
    else source.count(type, "mapped", record);
    if (!stateTypes.test(type) && !titleTypes.has(type) && !lineTypes.has(type)) isNew(type, record);
  }
  for (const line of superseded) source.count(countedType(line), "unmapped", line.record);
  const [again] = superseded;
  if (again !== undefined) {
    const text = `${superseded.length} lines are written again, the first with the uuid ${again.uuid}`;
    source.find({ code: "superseded", file: path, line: again.record.line, text });
  }
  for (const { type, record } of lines)
    if (!lineTypes.has(type) && !titleTypes.has(type)) isNew(type, record);
}

const titleTypes = new Map([
  ["custom-title", "customTitle"],
  ["ai-title", "aiTitle"],
  ["summary", "summary"],
]);

function recordTitle({ value }: ForeignRecord): string | undefined {
  const member = titleTypes.get(readType(value));
  const text = member === undefined ? undefined : readText(value[member]);
  return text === "" ? undefined : text;
}

const maxPromptTitle = 200;

/** The words of the first prompt, if the first message begins with what the program added. */
function promptTitle(lines: readonly Line[]): string | undefined {
  const first = lines.find((line) => isPrompt(line) && line.value.isSidechain !== true);
  const words = first && firstPrompt(lines.map(({ value }) => value));
  if (first === undefined || words === undefined) return undefined;
  if (plainText(readObject(first.value.message)?.content).trim().startsWith(words)) return undefined;
  return collapsed(words, /\s{1,4096}/g)
    .slice(0, maxPromptTitle)
    .toWellFormed();
}

/** The titles of a session, one after the other. The last of each kind counts. */
function transcriptTitles({ others, lines }: TranscriptFile): readonly Titles[] {
  const known = new Set(lines.map(({ uuid }) => uuid));
  const records = [...others, ...lines.map(({ record }) => record)]
    .filter((record) => recordTitle(record) !== undefined)
    .sort((a, b) => a.line - b.line);
  const states: Titles[] = [];
  const last = new Map<unknown, string>();
  let other = promptTitle(lines);
  if (other !== undefined) states.push({ name: undefined, title: other });
  let isOther = false;
  for (const record of records) {
    const title = recordTitle(record) as string;
    const { type, leafUuid } = record.value;
    // The summary of another session of the project, with which old versions begin a file.
    if (type !== "summary" || known.has(leafUuid as string)) last.set(type, title);
    else if (!isOther) [other, isOther] = [title, true];
    const state = {
      name: last.get("custom-title"),
      title: last.get("ai-title") ?? last.get("summary") ?? other,
    };
    const before = states.at(-1);
    if (state.name !== before?.name || state.title !== before?.title) states.push(state);
  }
  return states;
}

// The conversations of subagents, and the calls that started them.

/** A conversation of a subagent. */
interface Child {
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
const agentPrefix = "agent-";

/** The sidechains in the file of a session: each from its own start. */
function fileSidechains(file: TranscriptFile, parentId: string): readonly Child[] {
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
function childOfFile(
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
class Links {
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
