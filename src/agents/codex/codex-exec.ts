/** The target of arguments and images for `codex exec`. */

import { describe, oneOfOption } from "../../core/arguments.js";
import type {
  MediaPart,
  NeutralRequest,
  Part,
  RenderTools,
  Target,
  UserPart,
} from "../../providers/index.js";
import { textCallRules, toTranscript } from "../../providers/internal.js";

/** An item of a turn, as the Codex SDK takes it. */
export type CodexInputItem = { type: "text"; text: string } | { type: "local_image"; path: string };

/** A turn for Codex. */
export type CodexExec = {
  /**
   * The arguments after `codex exec` or `codex exec resume ID`. The prompt is not among them: Codex reads it
   * from its standard input.
   */
  args: string[];
  /** The text for the standard input: all texts, with an empty line between them. */
  prompt: string;
  /** The same for `thread.run` of the Codex SDK. */
  input: CodexInputItem[];
};

/** Options of {@link codexExec}. */
export interface CodexExecOptions {
  /**
   * Returns the path of the file that holds an image's bytes: absolute, without a comma. Undefined if there
   * is no such file. The bytes are those of `resource`, unless a `resize` changed them.
   */
  readonly imagePath: (image: MediaPart) => string | undefined;
  /**
   * `latest`: the user's content since the model's last message, for a thread that Codex itself has.
   * `transcript`: the whole conversation as text, for a new thread. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
}

/**
 * Projects a turn for Codex: a prompt, and images by their paths, in order. Text documents become text, other
 * documents a description. Codex keeps its own history. Earlier turns are repeated only if a transcript is
 * asked for.
 *
 * The prompt is for the standard input: `-` precedes the images. After `--image`, which accepts any number of
 * values, a prompt would be read as another image. As an argument it could be read as an option or a command.
 *
 * @throws TypeError if `imagePath` is no function, or `history` is not one of the two
 * @see https://github.com/openai/codex: codex-rs/utils/cli/src/shared_options.rs, codex-rs/exec/src/cli.rs
 *   and sdk/typescript/src/thread.ts (stored copies, read 2026-11-21)
 * @example
 * ```ts
 * const target = codexExec({
 *   imagePath: ({ resource }) => resource && `/images/${resource.contentSha256}.png`,
 * });
 * const { value } = await project(contextFrom([userMessage("hi")]), target);
 * value.args; // ["-"]
 * value.prompt; // "hi"
 * ```
 */
export function codexExec(options: CodexExecOptions): Target<CodexExec> {
  const readPath = options?.imagePath;
  if (typeof readPath !== "function") {
    throw new TypeError(`imagePath: expected a function, got ${describe(readPath)}`);
  }
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  return {
    name: "codex-exec",
    model: { provider: "codex", model: "none" },
    // codex-rs/utils/image/Cargo.toml: it decodes these two (a stored copy, read 2026-11-21).
    accepts: { user: ["image/png", "image/jpeg"], toolResult: ["image/png", "image/jpeg"] },
    rules: { ...(history === "latest" ? { history } : {}), ...textCallRules },
    render: (request, tools) => readTurn(requestInput(request, history === "transcript", readPath, tools)),
  };
}

function readTurn(input: CodexInputItem[]): CodexExec {
  const texts: string[] = [];
  const args = ["-"];
  for (const item of input) {
    if (item.type === "text") texts.push(item.text);
    else args.push("--image", item.path);
  }
  return { args, prompt: texts.join("\n\n"), input };
}

/** Replaces a prompt without text: Codex refuses an empty prompt. */
const imagesAlone = "[images, without a word]";

function requestInput(
  request: NeutralRequest,
  headed: boolean,
  findPath: CodexExecOptions["imagePath"],
  tools: RenderTools,
): CodexInputItem[] {
  const items: CodexInputItem[] = [];
  let hasText = false;
  for (const { text, part } of toTranscript(request, headed)) {
    const item = text === undefined ? partItem(part, findPath, tools) : textItem(text);
    if (item.type === "text" && !hasText) {
      hasText = true;
      item.text = stripBom(item.text, part, tools);
    }
    items.push(part === undefined ? item : tools.trace(item, part));
  }
  return hasText ? items : [textItem(imagesAlone), ...items];
}

function partItem(
  part: UserPart,
  getPath: CodexExecOptions["imagePath"],
  tools: RenderTools,
): CodexInputItem {
  if (part.type === "media") return imageItem(part, getPath(part), tools);
  // Unreachable: this target accepts no references.
  return textItem(part.type === "text" ? part.text : "");
}

function textItem(text: string): CodexInputItem & { type: "text" } {
  return { type: "text", text };
}

/** Codex strips a BOM at the start of its input. */
function stripBom(text: string, part: Part | undefined, tools: RenderTools): string {
  if (!text.startsWith("\ufeff")) return text;
  const reason = "Codex strips a byte order mark at the beginning";
  if (part !== undefined) tools.reportLoss(part, { code: "malformed", by: "target", reason });
  return withoutBoms(text);
}

function withoutBoms(text: string): string {
  let at = 0;
  while (text[at] === "\ufeff") at++;
  return text.slice(at);
}

/**
 * An absolute path of POSIX, a drive or a share. Excludes commas, at which Codex splits paths, and characters
 * that no argument can hold.
 */
const passable = /^(?:\/|[A-Za-z]:[\\/]|\\\\)/;

function imageItem(part: MediaPart, path: string | undefined, tools: RenderTools): CodexInputItem {
  if (path !== undefined && passable.test(path) && !/[,\0]/.test(path) && path.isWellFormed())
    return { type: "local_image", path };
  const why = path === undefined ? "it is in no file" : "Codex takes no such path";
  const instead = `[image, ${part.mediaType}] (not shown: ${why})`;
  tools.reportLoss(part, { code: "unsupported", by: "target", reason: why, instead });
  return textItem(instead);
}
