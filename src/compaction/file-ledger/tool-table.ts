/** The table of tools that read and write files. */
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
import { operationsOfPatch, textsOf } from "./operations.js";

/**
 * The names of the argument: pi accepts `path` and `file_path`, Claude Code uses `file_path`, opencode
 * `filePath`, Gemini CLI's `read_file` had `absolute_path`.
 */
const path = ["path", "file_path", "filePath", "absolute_path"];
const source = ["source", "from", "old_path", "oldPath", "source_path", ...path];
const target = ["destination", "to", "new_path", "newPath", "destination_path"];

const patched: FileToolReader = ({ arguments: args }) => {
  const [patch] = typeof args === "string" ? [args] : textsOf(args, ["input", "patch", "patchText", "text"]);
  return patch === undefined ? [] : operationsOfPatch(patch);
};

/** A shell that is asked for `apply_patch`, as codex's models do: the patches in its command. */
const patchedByShell: FileToolReader = ({ arguments: args }) => {
  const command = textsOf(args, ["command", "cmd"]).join("\n");
  if (!command.includes("apply_patch")) return [];
  const [, ...patches] = command.split("*** Begin Patch");
  return patches.flatMap((patch) => operationsOfPatch(patch.split("*** End Patch", 1).join("")));
};

const commands = new Map<string | undefined, FileOperation["operation"]>([
  ["view", "read"],
  ["create", "create"],
  ["str_replace", "modify"],
  ["insert", "modify"],
  ["undo_edit", "modify"],
]);

/** Anthropic's text editor: one tool whose `command` is the operation. */
const edited: FileToolReader = ({ arguments: args }: ToolCall) => {
  const operation = commands.get(textsOf(args, "command")[0]);
  const [file] = textsOf(args, "path");
  return operation === undefined || file === undefined ? [] : [{ operation, path: file }];
};

/** `edit_file` of the reference MCP server, which has a dry run. */
const editedUnlessDry: FileToolReader = ({ arguments: args }) =>
  isRecord(args) && args.dryRun === true
    ? []
    : textsOf(args, path).map((file) => ({ operation: "modify", path: file }));

/** The tools of known agents by name, as {@link FileToolTable} lists them. */
export const fileTools: FileToolTable = {
  read: { operation: "read", path },
  write: { operation: "write", path },
  edit: { operation: "modify", path },
  multiedit: { operation: "modify", path },
  patch: patched,
  apply_patch: patched,
  Read: { operation: "read", path },
  Write: { operation: "write", path },
  Edit: { operation: "modify", path },
  MultiEdit: { operation: "modify", path },
  NotebookEdit: { operation: "modify", path: "notebook_path" },
  str_replace_based_edit_tool: edited,
  str_replace_editor: edited,
  text_editor: edited,
  shell: patchedByShell,
  local_shell: patchedByShell,
  exec_command: patchedByShell,
  bash: patchedByShell,
  Bash: patchedByShell,
  view: { operation: "read", path },
  replace: { operation: "modify", path },
  read_many_files: { operation: "read", path: "paths" },
  write_to_file: { operation: "write", path },
  replace_in_file: { operation: "modify", path },
  read_file: { operation: "read", path },
  read_text_file: { operation: "read", path },
  read_media_file: { operation: "read", path },
  read_multiple_files: { operation: "read", path: "paths" },
  write_file: { operation: "write", path },
  edit_file: editedUnlessDry,
  move_file: { operation: "move", path: source, to: target },
  move: { operation: "move", path: source, to: target },
  rename_file: { operation: "move", path: source, to: target },
  rename: { operation: "move", path: source, to: target },
  delete_file: { operation: "delete", path: [...path, "paths"] },
  delete: { operation: "delete", path: [...path, "paths"] },
  remove_file: { operation: "delete", path: [...path, "paths"] },
};

/** One operation of a call on one file. */
export interface FileOperation {
  /** `write` means `create` if the ledger knows that the file is gone, else `modify`. */
  readonly operation: "read" | "write" | "create" | "modify" | "delete" | "move";
  /** As in the call. */
  readonly path: string;
  /** The new path of a moved file, as in the call. A `move` without it is ignored. */
  readonly to?: string | undefined;
  /** SHA-256 of the content that was read or written, 64 hex digits. */
  readonly contentSha256?: string | undefined;
}

/** A tool that applies one operation to the paths in its arguments. */
export interface FileToolRow {
  /** `write` means `create` if the result's `details.created` is true. */
  readonly operation: FileOperation["operation"];
  /** Names of arguments, of which the first present one counts: a path, or an array of paths. */
  readonly path: string | readonly string[];
  /** Names of arguments with the target of a `move`. For several paths it is their new directory. */
  readonly to?: string | readonly string[] | undefined;
}

/**
 * Reads the operations of a call. Not called for failed calls; `result` is undefined if the call has none
 * yet.
 */
export type FileToolReader = (
  call: ToolCall,
  result: ToolResultMessage | undefined,
) => readonly FileOperation[];

/**
 * Tools that touch files, by name. A result's `details` may have the `contentSha256` of the file that was
 * read or written, and `created: true` for a new file. The tools of these agents are known:
 *
 * - pi 0.73.1 and 1.5.2: `read`, `write`, `edit`, with `path`. Its `codemode` calls them from a script; see
 *   {@link fileLedger}.
 * - Claude Code: `Read`, `Write`, `Edit`, `MultiEdit`, with `file_path`; `NotebookEdit`, with
 *   `notebook_path`.
 * - opencode: `read`, `write`, `edit`, `multiedit`, with `filePath`; `patch` and `apply_patch`, with
 *   `patchText`.
 * - codex: `apply_patch`, with the patch as `input`, `patch` or `text`, or as the whole of the arguments;
 *   `shell`, `local_shell` and `exec_command`, for patches in their command, and so `bash` and `Bash`.
 * - Gemini CLI: `read_file`, `write_file`, `replace`, `read_many_files`.
 * - Cline: `write_to_file`, `replace_in_file`. Copilot: `view`.
 * - Anthropic's text editor: `str_replace_based_edit_tool`, `str_replace_editor`; goose's `text_editor`.
 * - The reference MCP server of files: `read_file`, `read_text_file`, `read_media_file`,
 *   `read_multiple_files`, `write_file`, `edit_file`, `move_file`.
 * - Common names in other harnesses: `delete_file`, `delete`, `remove_file`, `rename_file`, `rename`, `move`.
 *
 * A name with a namespace that is not in the table counts without it: `functions.read`, and behind a server
 * (`mcp__files__read_file`, `files/read_file`) names that speak of files.
 *
 * @see https://platform.claude.com/docs/en/agent-sdk/typescript,
 *   https://github.com/sst/opencode/blob/dev/packages/opencode/src/tool/apply_patch.ts,
 *   https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/text-editor-tool and
 *   https://github.com/modelcontextprotocol/servers/blob/main/src/filesystem/README.md (read 2026-11-22)
 */
export type FileToolTable = Readonly<Record<string, FileToolRow | FileToolReader>>;
