/**
 * Reads a session: the transcript `<uuid>.jsonl`, and those of its subagents, which are lines of the same file
 * (1.x), files beside it (2.0) or files of a folder with descriptions (2.1).
 */

import { sessionIdOf } from "../shared/ids.js";
import { objectOf, textOf } from "../shared/values.js";
import type { ForeignRecord, ForeignSource } from "../types.js";
import { plainText } from "./content.js";
import { addEntries, addTitles, type Conversation, countedType } from "./entries.js";
import { idOf, type Line, lineOf, type Transcript, typeOf } from "./lines.js";
import { layOut } from "./units.js";

/** A transcript file, with what its records say of the session. */
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
}

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
  isClaimed: boolean;
}

const agentPrefix = "agent-";

/** Types of records without a uuid that are known to have no home. */
const stateTypes =
  /^(?:agent-(?:color|name|setting)|api-request(?:-blob|-shape)?|atis-latch|attribution-snapshot|bridge-session|content-replacement|cost-state|file-history-snapshot|frame-link|host-row|last-prompt|mode|permission-mode|pr-link|queue-operation|relocated|result|started|tag|tools-used|worktree-state)$/;
const lineTypes = new Set(["assistant", "attachment", "progress", "system", "user"]);

/** Reads a session and those of its subagents. */
export function readClaudeCode(source: ForeignSource): void {
  const paths = source.files.map(({ path }) => path).filter((path) => path.endsWith(".jsonl"));
  const isAgent = (path: string) => nameOf(path).startsWith(agentPrefix);
  const mains = paths.filter((path) => !isAgent(path));
  const wanted = source.sessionId;
  const mainPath = mains.find((path) => nameOf(path) === wanted) ?? mains[0] ?? paths[0];
  if (mainPath === undefined) return;
  const main = fileOf(source, mainPath);
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
  const children = [
    ...sidechainsOf(main, first.sessionId),
    ...agentFiles.flatMap((path) =>
      childOfFile(source, path, { main, foreignId, parentId: first.sessionId }),
    ),
  ];
  const links = new Links(source, children);
  reportState(source, main);
  const own = isAgent(mainPath) ? main.lines : main.lines.filter(({ value }) => value.isSidechain !== true);
  const conversation = { source, childOf: links.childOf };
  const add = (
    lines: readonly Line[],
    isSidechain: boolean,
    builder: Conversation["builder"],
    id: string,
  ) => {
    const transcript: Transcript = { lines: new Map(lines.map((line) => [line.uuid, line])), isSidechain };
    reportMissing(source, transcript);
    const answered = new Map<string, string>();
    addEntries({ ...conversation, answered, builder, foreignId: id, layout: layOut(transcript) });
  };
  add(own, isAgent(mainPath), first, foreignId);
  addTitles(first, titlesOf(main));
  for (const child of children) {
    const { sessionId, file, parentAgentId } = child;
    const parent = parentAgentId === undefined ? undefined : links.agent(parentAgentId);
    const builder = source.session({
      id: sessionId,
      cwd: textOf(child.lines[0]?.value.cwd) ?? file.cwd,
      agentVersion: file.version,
      parentSession: parent?.sessionId ?? first.sessionId,
    });
    add(child.lines, true, builder, sessionId);
    if (file !== main) reportState(source, file);
  }
}

/** The last part of a path, without its extension. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl$/, "");
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Reads a transcript file once. */
function fileOf(source: ForeignSource, path: string): TranscriptFile {
  const byId = new Map<string, Line>();
  const superseded: Line[] = [];
  const others: ForeignRecord[] = [];
  let sessionId: string | undefined;
  let cwd: string | undefined;
  let version: string | undefined;
  let forkedFrom: string | undefined;
  let at = 0;
  let moved = false;
  for (const record of source.records(path)) {
    const { value } = record;
    const line = lineOf(record, at++);
    sessionId ??= idOf(value.sessionId);
    forkedFrom ??= idOf(objectOf(value.forkedFrom)?.sessionId);
    version = idOf(value.version) ?? version;
    const now = idOf(value.cwd);
    if (now !== undefined && cwd !== undefined && now !== cwd && !moved) {
      moved = true;
      const text = `the working directory changes to ${now}`;
      source.find({ code: "moved", file: path, line: record.line, text });
    }
    cwd ??= now;
    if (line === undefined) {
      others.push(record);
      continue;
    }
    const known = byId.get(line.uuid);
    if (known !== undefined) superseded.push(known);
    byId.set(line.uuid, line);
  }
  const lines = Array.from(byId.values());
  return { path, name: nameOf(path), lines, superseded, others, sessionId, cwd, version, forkedFrom };
}

/** The sidechains in the file of a session: each from its own start. */
function sidechainsOf(file: TranscriptFile, parentId: string): readonly Child[] {
  if (file.name.startsWith(agentPrefix)) return [];
  const lines = file.lines.filter(({ value }) => value.isSidechain === true);
  const byId = new Map(lines.map((line) => [line.uuid, line]));
  const groups = new Map<Line, string>();
  const children = new Map<string, Line[]>();
  for (const line of lines) {
    const walked: Line[] = [];
    const seen = new Set<Line>();
    let agentId: string | undefined;
    for (let at: Line | undefined = line; at !== undefined && agentId === undefined && !seen.has(at); ) {
      seen.add(at);
      walked.push(at);
      const parent: Line | undefined = at.parentUuid === undefined ? undefined : byId.get(at.parentUuid);
      agentId = groups.get(at) ?? idOf(at.value.agentId) ?? (parent === undefined ? at.uuid : undefined);
      at = parent;
    }
    const group = agentId ?? line.uuid;
    for (const each of walked) groups.set(each, group);
    const known = children.get(group);
    if (known === undefined) children.set(group, [line]);
    else known.push(line);
  }
  return Array.from(children, ([agentId, own]) => childOf({ agentId, parentId, lines: own, file, meta: {} }));
}

/** The conversation in an agent's file; none if it belongs to another session. */
function childOfFile(
  source: ForeignSource,
  path: string,
  { main, foreignId, parentId }: { main: TranscriptFile; foreignId: string; parentId: string },
): readonly Child[] {
  const file = fileOf(source, path);
  const { sessionId } = file;
  const isBelow = `/${path}`.includes(`/${main.name}/`);
  if (!isBelow && sessionId !== undefined && sessionId !== foreignId && sessionId !== main.sessionId) {
    source.find({ code: "unmapped", file: path, text: `a subagent of another session, ${sessionId}` });
    return [];
  }
  const metaPath = path.replace(/\.jsonl$/, ".meta.json");
  const hasMeta = source.files.some((each) => each.path === metaPath);
  const meta = hasMeta ? (objectOf(source.json(metaPath)) ?? {}) : {};
  return [childOf({ agentId: file.name.slice(agentPrefix.length), parentId, lines: file.lines, file, meta })];
}

function childOf(init: {
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
    sessionId: sessionIdOf("claude-code", `${parentId}.agent-${agentId}`),
    lines,
    file,
    toolUseId: idOf(meta.toolUseId),
    parentAgentId: idOf(meta.parentAgentId),
    prompt: first === undefined ? undefined : plainText(objectOf(first.value.message)?.content),
    isClaimed: false,
  };
}

/** Finds the conversation that a call started. */
class Links {
  readonly #source: ForeignSource;
  readonly #byAgent = new Map<string, Child>();
  readonly #byCall = new Map<string, Child>();
  /** Those whose call nothing names, in the order of their files. The last is the first. */
  readonly #byPrompt = new Map<string, Child[]>();

  constructor(source: ForeignSource, children: readonly Child[]) {
    this.#source = source;
    for (const child of children.toReversed()) {
      this.#byAgent.set(child.agentId, child);
      if (child.toolUseId !== undefined) this.#byCall.set(child.toolUseId, child);
      else if (child.prompt !== undefined) {
        const same = this.#byPrompt.get(child.prompt);
        if (same === undefined) this.#byPrompt.set(child.prompt, [child]);
        else same.push(child);
      }
    }
  }

  agent(agentId: string): Child | undefined {
    return this.#byAgent.get(agentId);
  }

  /** By the agent that the result names, the call that the agent names, or the prompt of both. */
  readonly childOf: Conversation["childOf"] = (call, result) => {
    const agentId = result && idOf(objectOf(result.value.toolUseResult)?.agentId);
    const named = agentId === undefined ? undefined : this.#byAgent.get(agentId);
    const child = named ?? this.#byCall.get(call.id) ?? this.#byItsPrompt(objectOf(call.arguments)?.prompt);
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

  #byItsPrompt(prompt: unknown): Child | undefined {
    const waiting = typeof prompt === "string" ? this.#byPrompt.get(prompt) : undefined;
    while (waiting?.at(-1)?.isClaimed === true) waiting.pop();
    return waiting?.at(-1);
  }
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
    const type = typeOf(record.value);
    if (titleOf(record) === undefined) source.count(type, "unmapped", record);
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

function reportMissing(source: ForeignSource, { lines }: Transcript): void {
  for (const { parentUuid, record, uuid } of lines.values()) {
    if (parentUuid === undefined || lines.has(parentUuid)) continue;
    const { file, line } = record;
    source.find({
      code: "missingParent",
      file,
      line,
      text: `the parent of ${uuid} is missing: ${parentUuid}`,
    });
  }
}

const titleTypes = new Map([
  ["custom-title", "customTitle"],
  ["ai-title", "aiTitle"],
  ["summary", "summary"],
]);

function titleOf({ value }: ForeignRecord): string | undefined {
  const member = titleTypes.get(typeOf(value));
  const text = member === undefined ? undefined : textOf(value[member]);
  return text === "" ? undefined : text;
}

/** The name that the person gave, and the title that a model made. The last of each kind counts. */
function titlesOf({ others, lines }: TranscriptFile): {
  readonly name?: string | undefined;
  readonly title?: string | undefined;
} {
  const last = new Map<string, string>();
  const known = new Set(lines.map(({ uuid }) => uuid));
  let other: string | undefined;
  const records = [
    ...others,
    ...lines.filter(({ type }) => titleTypes.has(type)).map(({ record }) => record),
  ];
  for (const record of records) {
    const title = titleOf(record);
    if (title === undefined) continue;
    const { type, leafUuid } = record.value;
    // The summary of another session of the project, with which old versions begin a file.
    if (type === "summary" && !known.has(leafUuid as string)) other ??= title;
    else last.set(type as string, title);
  }
  const title = last.get("ai-title") ?? last.get("summary") ?? other;
  return { name: last.get("custom-title"), title };
}
