/**
 * How a tool call is shown: a change of a file as lines side by side, a command, a file, or its arguments.
 */

import { type ChangeObject, diffArrays, parsePatch } from "diff";
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import { firstLine } from "./text.js";

/** A tool call for readers. */
interface ToolView {
  /** The most telling argument, in one line. */
  readonly summary: string;
  readonly body:
    | { readonly kind: "changes"; readonly files: readonly FileChange[] }
    | { readonly kind: "command"; readonly command: string }
    | { readonly kind: "file"; readonly path: string; readonly text: string }
    | { readonly kind: "arguments"; readonly json: string }
    | { readonly kind: "none" };
  /** The language of the result, by the name of the file that was read. */
  readonly resultPath?: string;
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
 * a patch, a command, a path with content. The diff in the details of a result is used if there is one.
 */
export function toolView(call: ToolCall, result?: ToolResultMessage): ToolView {
  const args: Readonly<Record<string, unknown>> = isRecord(call.arguments) ? call.arguments : {};
  const path = textIn(args, "path", "file_path", "filePath", "notebook_path", "filename", "file") ?? "";
  const patch = callPatch(call, args, result);
  if (patch !== undefined) {
    const [first, ...others] = patch.map((file) => file.path);
    const summary =
      first === undefined ? path : others.length === 0 ? first : `${first} and ${others.length} more`;
    return { summary: firstLine(summary), body: { kind: "changes", files: patch } };
  }
  const edits = readEdits(args);
  if (edits !== undefined)
    return { summary: firstLine(path), body: { kind: "changes", files: [fileChange(path, edits)] } };
  const command = readCommand(args);
  if (command !== undefined) return { summary: firstLine(command), body: { kind: "command", command } };
  const text = textIn(args, "content", "contents", "file_text", "new_source");
  if (path !== "" && text !== undefined)
    return { summary: firstLine(path), body: { kind: "file", path, text } };
  const summary = path === "" ? firstText(args) : path;
  const isOnlyPath = path !== "" && Object.keys(args).length === 1;
  const json = jsonText(call.arguments);
  return {
    summary: firstLine(summary),
    body: isOnlyPath || json === "{}" ? { kind: "none" } : { kind: "arguments", json },
    ...(path !== "" && { resultPath: path }),
  };
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
