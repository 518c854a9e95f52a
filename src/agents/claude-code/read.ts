/**
 * Reads a session: the transcript `<uuid>.jsonl`, and those of its subagents, which are lines of the same
 * file (1.x), files beside it (2.0) or files of a folder with descriptions (2.1).
 */

import { readText } from "../shared/values.js";
import type { EntryBuilder, ForeignSource } from "../types.js";
import { addEntries, addTitles } from "./entries.js";
import type { Line, Transcript, Unit } from "./lines.js";
import { linkedTranscript } from "./links.js";
import type { Conversation } from "./reply-entries.js";
import { agentPrefix, childOfFile, fileSidechains, Links } from "./subagents.js";
import { nameByPath, reportState, sourceFile, transcriptTitles } from "./transcript-file.js";
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
