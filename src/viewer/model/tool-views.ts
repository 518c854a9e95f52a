/**
 * How a tool call is shown: a change of a file as lines side by side, a command, a file, or its arguments.
 */

import { type ChangeObject, diffArrays, parsePatch } from "diff";
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import { firstLine, visibleText } from "./text.js";

/** A tool call for readers. */
interface ToolView {
  /** What it does, in a word; the tool's name if that is unknown. */
  readonly verb: string;
  /** The most telling argument, in one line. */
  readonly summary: string;
  readonly body:
    | { readonly kind: "changes"; readonly files: readonly FileChange[] }
    | { readonly kind: "command"; readonly command: string }
    | { readonly kind: "file"; readonly path: string; readonly text: string }
    | { readonly kind: "todos"; readonly items: readonly Todo[] }
    /** A text for a reader or another model: Markdown, as its result. */
    | { readonly kind: "prose"; readonly text: string }
    | { readonly kind: "arguments"; readonly json: string }
    | { readonly kind: "none" };
  /** The language of the result, by the name of the file that was read. */
  readonly resultPath?: string;
}

/** An item of a plan. */
export interface Todo {
  readonly text: string;
  readonly state: "done" | "active" | "open";
}

/** Tools that only look, by their names without case and separators. */
const lookNames: ReadonlyMap<string, LookVerb> = new Map([
  ...["read", "readfile", "readmanyfiles", "view", "viewfile", "viewimage", "notebookread", "cat"].map(
    (name) => [name, "Read"] as const,
  ),
  ...["grep", "glob", "search", "searchfilecontent", "grepsearch", "codesearch", "websearch", "find"].map(
    (name) => [name, "Search"] as const,
  ),
  ...["findfiles", "ripgrep", "toolsearch", "googlewebsearch"].map((name) => [name, "Search"] as const),
  ...["ls", "list", "listdirectory", "listdir", "listfiles"].map((name) => [name, "List"] as const),
  ...["webfetch", "fetch", "fetchurl"].map((name) => [name, "Fetch"] as const),
]);
/** Programs that only look, if nothing else is in the command. */
const lookPrograms: ReadonlyMap<string, LookVerb> = new Map([
  ...["cat", "head", "tail", "nl", "wc", "sed"].map((name) => [name, "Read"] as const),
  ...["rg", "grep", "find", "fd"].map((name) => [name, "Search"] as const),
  ...["ls", "tree"].map((name) => [name, "List"] as const),
]);

/** A call that only looks. */
export type LookVerb = "Read" | "Search" | "List" | "Fetch";

/** What a call looks for; undefined if it may change something. By name and shape alone: nothing is compared. */
export function lookVerb(call: ToolCall): LookVerb | undefined {
  const args: Readonly<Record<string, unknown>> = isRecord(call.arguments) ? call.arguments : {};
  const command = readCommand(args);
  if (command === undefined) return lookNames.get(call.name.toLowerCase().replace(/[^a-z]/g, ""));
  const [, program = "", rest = ""] = /^([a-z]{2,4})((?: [^\n;&|<>`$]{0,1000})?)$/.exec(command.trim()) ?? [];
  const isChange =
    (program === "sed" && !/^ -n /.test(rest)) || (program === "find" && /-(?:exec|delete|ok)/.test(rest));
  return isChange ? undefined : lookPrograms.get(program);
}

/** Changed lines of one file. */
export interface FileChange {
  readonly path: string;
  /** Undefined if the change is too large to compare. */
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

/**
 * Describes a call by the shape of its arguments, since each agent has its own names: an old and a new text,
 * a patch, a command, a path with content, a plan, a prompt. The diff in the details of a result is used if
 * there is one.
 *
 * @param cwd paths below it are shown without it
 */
export function toolView(call: ToolCall, result?: ToolResultMessage, cwd = ""): ToolView {
  const args: Readonly<Record<string, unknown>> = isRecord(call.arguments) ? call.arguments : {};
  const given = textIn(args, "path", "file_path", "filePath", "notebook_path", "filename", "file") ?? "";
  const path = pathBelow(given, cwd);
  const named = { verb: lookVerb(call) ?? visibleText(call.name) };
  const patch = callPatch(call, args, result)?.map((file) => ({ ...file, path: pathBelow(file.path, cwd) }));
  if (patch !== undefined) {
    const [first, ...others] = patch.map((file) => file.path);
    const summary =
      first === undefined ? path : others.length === 0 ? first : `${first} and ${others.length} more`;
    return { verb: "Edit", summary: firstLine(summary), body: { kind: "changes", files: patch } };
  }
  const edits = readEdits(args);
  if (edits !== undefined) {
    const files = [fileChange(path, edits)];
    return { verb: "Edit", summary: firstLine(path), body: { kind: "changes", files } };
  }
  const command = readCommand(args);
  if (command !== undefined) {
    const verb = lookVerb(call) ?? "Run";
    return { verb, summary: firstLine(command), body: { kind: "command", command } };
  }
  const text = textIn(args, "content", "contents", "file_text", "new_source");
  if (path !== "" && text !== undefined)
    return { verb: "Write", summary: firstLine(path), body: { kind: "file", path, text } };
  const items = readTodos(args);
  if (items !== undefined) {
    const done = items.filter(({ state }) => state === "done").length;
    return { verb: "Plan", summary: `${done} of ${items.length} done`, body: { kind: "todos", items } };
  }
  const prompt = textIn(args, "prompt", "plan", "task");
  if (prompt !== undefined && (prompt.includes("\n") || /agent|task|plan/i.test(call.name))) {
    const verb = /^(?:task|agent|spawn_?agent|subagent)$/i.test(call.name) ? "Agent" : named.verb;
    const summary = firstLine(textIn(args, "description", "title") ?? prompt);
    return { verb, summary, body: { kind: "prose", text: prompt } };
  }
  const pattern = textIn(args, "pattern", "query", "regex");
  const object =
    pattern === undefined ? path || firstText(args) : path === "" ? pattern : `${pattern} in ${path}`;
  const isShown = Object.keys(args).length === 1 && object !== "";
  const json = jsonText(call.arguments);
  return {
    ...named,
    summary: firstLine(object),
    body: isShown || json === "{}" ? { kind: "none" } : { kind: "arguments", json },
    ...(path !== "" && { resultPath: path }),
  };
}

function pathBelow(path: string, cwd: string): string {
  const isBelow = cwd !== "" && path.startsWith(cwd) && /^[/\\]./.test(path.slice(cwd.length));
  return isBelow ? path.slice(cwd.length + 1) : path;
}

const todoStates: ReadonlyMap<unknown, Todo["state"]> = new Map([
  ["completed", "done"],
  ["done", "done"],
  ["in_progress", "active"],
]);

/** The plan of Claude Code, opencode and Gemini CLI, and of Codex. */
function readTodos(args: Readonly<Record<string, unknown>>): readonly Todo[] | undefined {
  const list = Array.isArray(args.todos) ? args.todos : args.plan;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const items = list.flatMap((value: unknown): readonly Todo[] => {
    const text = isRecord(value) ? textIn(value, "content", "step", "description", "title") : undefined;
    if (!isRecord(value) || text === undefined) return [];
    return [{ text: visibleText(text), state: todoStates.get(value.status) ?? "open" }];
  });
  return items.length === list.length ? items : undefined;
}

function fileChange(path: string, edits: readonly Edit[]): FileChange {
  return counted(
    path,
    edits.flatMap(({ before, after }, at) => [
      ...(at === 0 ? [] : [{ kind: "gap" } as const]),
      ...changedLines(before, after),
    ]),
  );
}

function counted(path: string, lines: readonly DiffLine[]): FileChange {
  let [added, removed] = [0, 0];
  for (const line of lines) {
    if (line.kind === "added" || line.kind === "changed") added++;
    if (line.kind === "removed" || line.kind === "changed") removed++;
  }
  return { path, lines, added, removed };
}

interface Edit {
  readonly before: string;
  readonly after: string;
}

function readEdits(args: Readonly<Record<string, unknown>>): readonly Edit[] | undefined {
  const list = Array.isArray(args.edits) ? args.edits : [args];
  const edits = list.flatMap((value: unknown) => {
    if (!isRecord(value)) return [];
    const before = textIn(value, "old_string", "oldText", "old_str", "oldString", "old_text");
    const after = textIn(value, "new_string", "newText", "new_str", "newString", "new_text");
    return before === undefined || after === undefined ? [] : [{ before, after }];
  });
  return edits.length === 0 ? undefined : edits;
}

function callPatch(
  call: ToolCall,
  args: Readonly<Record<string, unknown>>,
  result: ToolResultMessage | undefined,
): readonly FileChange[] | undefined {
  const raw = typeof call.arguments === "string" ? call.arguments : undefined;
  const given = textIn(args, "patch", "patchText", "input", "diff") ?? raw;
  const command = Array.isArray(args.command)
    ? args.command.findLast((part) => typeof part === "string")
    : undefined;
  for (const text of [given, command]) {
    if (typeof text === "string" && text.includes("*** Begin Patch")) return applyPatchFiles(text);
  }
  if (given !== undefined && /^(---|\+\+\+|@@) /m.test(given)) return unifiedFiles(given);
  if (!isRecord(result?.details) || readEdits(args) !== undefined) return undefined;
  const diff = textIn(result.details, "patch", "unifiedDiff");
  return diff === undefined ? undefined : unifiedFiles(diff);
}

/** The files of a patch in the format of Codex's `apply_patch`. */
function applyPatchFiles(text: string): readonly FileChange[] {
  const files: { path: string; lines: string[] }[] = [];
  for (const line of text.split("\n")) {
    const header = /^\*\*\* (?:Add|Update|Delete) File: (?=.)/.exec(line);
    if (header !== null) files.push({ path: line.slice(header[0].length), lines: [] });
    else if (!line.startsWith("*** ")) files.at(-1)?.lines.push(line);
  }
  return files.map(({ path, lines }) => counted(path, patchLines(lines)));
}

function unifiedFiles(text: string): readonly FileChange[] | undefined {
  try {
    const files = parsePatch(text).map(({ oldFileName, newFileName, hunks }) => {
      const path = (newFileName === "/dev/null" ? oldFileName : newFileName)?.replace(/^[ab]\//, "") ?? "";
      return counted(
        path,
        hunks.flatMap(({ lines }, at) => [
          ...(at === 0 ? [] : [{ kind: "gap" } as const]),
          ...patchLines(lines),
        ]),
      );
    });
    return files.some(({ lines }) => lines.length > 0) ? files : undefined;
  } catch {
    return undefined; // a text that only looks like a patch
  }
}

function readCommand(args: Readonly<Record<string, unknown>>): string | undefined {
  const { command = args.cmd ?? args.script } = args;
  if (typeof command === "string") return command;
  const isWords = Array.isArray(command) && command.every((word) => typeof word === "string");
  if (!isWords) return undefined;
  // A shell and its option are not the command.
  const words: readonly string[] = command;
  const isShell = words.length === 3 && /^(?:\/bin\/|\/usr\/bin\/)?(?:ba|z|da)?sh$/.test(words[0] ?? "");
  return isShell ? words[2] : words.join(" ");
}

function textIn(holder: Readonly<Record<string, unknown>>, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = holder[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}

function firstText(args: Readonly<Record<string, unknown>>): string {
  const texts = Object.values(args).filter((value) => typeof value === "string" && value !== "");
  return typeof texts[0] === "string" ? texts[0] : "";
}

function jsonText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

// Changes of a text as lines side by side.

/** A line of a change. `changed` has both sides; `gap` represents lines that are not shown. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string }
  | { readonly kind: "added"; readonly after: string }
  | { readonly kind: "removed"; readonly before: string }
  | { readonly kind: "changed"; readonly before: string; readonly after: string }
  | { readonly kind: "gap" };

/** A comparison that takes longer is given up: all lines are then removed and added. */
const compareMs = 40;
const maxLines = 4000;

/** Compares two texts by lines. */
export function changedLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [textLines(before), textLines(after)];
  const parts =
    old.length + now.length > maxLines ? undefined : diffArrays([...old], [...now], { timeout: compareMs });
  if (parts === undefined) return sideBySide(old, now);
  return [...comparedLines(parts)];
}

function* comparedLines(parts: readonly ChangeObject<string[]>[]): Generator<DiffLine, void, undefined> {
  let removed: readonly string[] = [];
  for (const part of parts) {
    if (part.removed) {
      removed = part.value;
      continue;
    }
    yield* sideBySide(removed, part.added ? part.value : []);
    removed = [];
    if (!part.added) for (const text of part.value) yield { kind: "same", text };
  }
  yield* sideBySide(removed, []);
}

/** Reads the lines of a hunk: each begins with a space, `+`, `-` or `@`. */
export function patchLines(hunk: readonly string[]): readonly DiffLine[] {
  return [...hunkLines(hunk)];
}

function* hunkLines(hunk: readonly string[]): Generator<DiffLine, void, undefined> {
  let [removed, added]: [string[], string[]] = [[], []];
  let isFirst = true;
  for (const line of hunk) {
    const rest = line.slice(1);
    if (line.startsWith("-") && added.length === 0) removed.push(rest);
    else if (line.startsWith("+")) added.push(rest);
    else {
      yield* sideBySide(removed, added);
      [removed, added] = [line.startsWith("-") ? [rest] : [], []];
      if (line.startsWith("@@") && !isFirst) yield { kind: "gap" };
      if (line.startsWith(" ")) yield { kind: "same", text: rest };
    }
    isFirst = false;
  }
  yield* sideBySide(removed, added);
}

function sideBySide(removed: readonly string[], added: readonly string[]): readonly DiffLine[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, at): DiffLine => {
    const [before, after] = [removed[at], added[at]];
    if (before === undefined) return { kind: "added", after: after ?? "" };
    return after === undefined ? { kind: "removed", before } : { kind: "changed", before, after };
  });
}

function textLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
