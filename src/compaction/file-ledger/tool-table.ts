/** The table of tools that read and write files. */

import type { ToolCall } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import {
  type FileOperation,
  type FileToolReader,
  type FileToolRow,
  type FileToolTable,
  operationsOfPatch,
  readTexts,
} from "./operations.js";

/** The names of a path: pi has `path`, Claude Code and Gemini CLI `file_path`, opencode and VS Code `filePath`. */
const path = [
  "path",
  "file_path",
  "filePath",
  "absolute_path", // Gemini CLI, of `read_file` until 0.9
  "absolutePath", // Cline, for some models
  "AbsolutePath", // Antigravity
  "TargetFile", // Antigravity
  "target_file", // Cursor
  "notebook_path", // Claude Code
  "target_notebook", // Cursor
];
const source = ["source", "from", "old_path", "oldPath", "source_path", ...path];
const target = ["destination", "to", "new_path", "newPath", "destination_path"];
/** The names of several paths, in which an item is a path or has one. */
const paths = ["paths", "files", "file_paths", "filePaths", ...path];

const read: FileToolRow = { operation: "read", path };
const write: FileToolRow = { operation: "write", path };
const create: FileToolRow = { operation: "create", path };
const modify: FileToolRow = { operation: "modify", path };
const move: FileToolRow = { operation: "move", path: source, to: target };
const remove: FileToolRow = { operation: "delete", path: paths };
const readAll: FileToolRow = { operation: "read", path: paths };

/** The operations of OpenAI's own `apply_patch`, by their type. */
const patchTypes = new Map<unknown, FileOperation["operation"]>([
  ["create_file", "create"],
  ["update_file", "modify"],
  ["delete_file", "delete"],
]);

const patched: FileToolReader = ({ arguments: args }) => {
  if (isRecord(args) && isRecord(args.operation)) {
    const operation = patchTypes.get(args.operation.type);
    const [file] = readTexts(args.operation, "path");
    return operation === undefined || file === undefined ? [] : [{ operation, path: file }];
  }
  const [patch] =
    typeof args === "string" ? [args] : readTexts(args, ["input", "patch", "patchText", "text"]);
  return patch === undefined ? [] : operationsOfPatch(patch);
};

/** Several paths, some of which may be patterns: those of Gemini CLI's `read_many_files`. */
const readMany: FileToolReader = ({ arguments: args }) =>
  readTexts(args, ["include", ...paths])
    .filter((each) => !/[*?{]/.test(each))
    .map((file) => ({ operation: "read", path: file }));

/** A shell that is asked for `apply_patch`, as codex's models do: the patches in its commands. */
const patchedByShell: FileToolReader = ({ arguments: args }) => {
  // OpenAI's own shells have it in an action.
  const given = isRecord(args) && isRecord(args.action) ? args.action : args;
  const commands = typeof given === "string" ? [given] : commandTexts(given);
  const directory = isRecord(args) ? readTexts(args, ["workdir", "cwd"])[0] : undefined;
  return commands.flatMap((command) => patchesIn(command, directory));
};

/** The shell commands of a call: a text, a list of words, or a list of commands. */
function commandTexts(args: unknown): readonly string[] {
  if (!isRecord(args)) return [];
  const { commands } = args;
  if (!Array.isArray(commands)) return [readTexts(args, ["command", "cmd", "commands", "input"]).join("\n")];
  return commands.map((each: unknown) =>
    isRecord(each)
      ? [...readTexts(each, "command"), ...readTexts(each, "args")].join("\n")
      : typeof each === "string"
        ? each
        : "",
  );
}

/** A change of directory right before the patch. The bounds are those of a path. */
const changed =
  /(?:^|[\s;&'"])cd\s{1,9}(?:"([^"\n]{1,4096})"|'([^'\n]{1,4096})'|([^\s'"&;|]{1,4096}))\s{0,9}(?:&&|;)\s{0,9}$/;

function patchesIn(command: string, directory: string | undefined): readonly FileOperation[] {
  const [before = "", ...patches] = command.split("*** Begin Patch");
  const call = before.lastIndexOf("apply_patch");
  if (call < 0) return [];
  const [, ...found] = changed.exec(before.slice(Math.max(0, call - 8192), call)) ?? [];
  const into = found.find((each) => each !== undefined);
  const below = (file: string): string =>
    [into, directory].reduce<string>(
      (name, parent) => (parent === undefined || isRooted(name) ? name : `${parent}/${name}`),
      file,
    );
  return patches
    .flatMap((patch) => operationsOfPatch(patch.split("*** End Patch", 1).join("")))
    .map(({ to, ...operation }) => ({
      ...operation,
      path: below(operation.path),
      ...(to === undefined ? {} : { to: below(to) }),
    }));
}

/** Whether a path does not start from the working directory. */
function isRooted(name: string): boolean {
  return /^(?:[/\\]|[a-z]:|file:)/i.test(name);
}

const commands = new Map<string | undefined, FileOperation["operation"]>([
  ["view", "read"],
  ["create", "create"],
  ["write", "write"],
  ["str_replace", "modify"],
  ["insert", "modify"],
  ["undo_edit", "modify"],
]);

/** Anthropic's text editor: one tool whose `command` is the operation. goose's has `write`. */
const edited: FileToolReader = ({ arguments: args }: ToolCall) => {
  const operation = commands.get(readTexts(args, "command")[0]);
  const [file] = readTexts(args, "path");
  return operation === undefined || file === undefined ? [] : [{ operation, path: file }];
};

/** `edit_file` of the reference MCP server, which has a dry run. */
const editedUnlessDry: FileToolReader = ({ arguments: args }) =>
  isRecord(args) && args.dryRun === true
    ? []
    : readTexts(args, path).map((file) => ({ operation: "modify", path: file }));

/** Edits of several files in one call, each with its path. */
const replaced: FileToolReader = ({ arguments: args }) =>
  readTexts(args, "replacements").map((file) => ({ operation: "modify", path: file }));

/** The tools of known agents by name, as {@link FileToolTable} lists them. */
export const fileTools: FileToolTable = {
  read,
  write,
  edit: modify,
  multiedit: modify,
  patch: patched,
  apply_patch: patched,
  applypatch: patched,
  ApplyPatch: patched,
  Read: read,
  Write: write,
  Create: create,
  Edit: modify,
  MultiEdit: modify,
  StrReplace: modify,
  Delete: remove,
  NotebookEdit: modify,
  EditNotebook: modify,
  ReadFile: read,
  ReadMediaFile: read,
  WriteFile: write,
  StrReplaceFile: modify,
  str_replace_based_edit_tool: edited,
  str_replace_editor: edited,
  text_editor: edited,
  file_editor: edited,
  shell: patchedByShell,
  shell_command: patchedByShell,
  local_shell: patchedByShell,
  local_shell_call: patchedByShell,
  exec_command: patchedByShell,
  exec: patchedByShell,
  "container.exec": patchedByShell,
  execute_command: patchedByShell,
  run_commands: patchedByShell,
  run_shell_command: patchedByShell,
  run_in_terminal: patchedByShell,
  run_terminal_cmd: patchedByShell,
  bash: patchedByShell,
  Bash: patchedByShell,
  Shell: patchedByShell,
  Execute: patchedByShell,
  view: read,
  view_file: read,
  view_image: read,
  read_image: read,
  image_processor: read,
  create,
  editor: write,
  replace: modify,
  read_files: readAll,
  read_many_files: readMany,
  write_to_file: write,
  append_to_file: modify,
  replace_in_file: modify,
  replace_file_content: modify,
  multi_replace_file_content: modify,
  replace_string_in_file: modify,
  multi_replace_string_in_file: replaced,
  insert_edit_into_file: modify,
  edit_notebook_file: modify,
  edit_notebook: modify,
  apply_diff: modify,
  insert_content: modify,
  search_and_replace: modify,
  search_replace: modify,
  create_file: create,
  read_file: { operation: "read", path: paths },
  read_text_file: read,
  read_media_file: read,
  read_multiple_files: readAll,
  write_file: write,
  edit_file: editedUnlessDry,
  move_file: move,
  move_path: move,
  move,
  rename_file: move,
  rename: move,
  delete_file: remove,
  delete_path: remove,
  delete: remove,
  remove_file: remove,
};
