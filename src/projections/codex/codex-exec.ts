import { describe, oneOfOption } from "../../internal/arguments.js";
import type { MediaPart, NeutralRequest, Part, ShownPart } from "../request.js";
import type { RenderTools, Target } from "../target.js";
import { transcriptOf } from "../transcript.js";

/** An item of a turn, as the Codex SDK takes it. */
export type CodexInputItem = { type: "text"; text: string } | { type: "local_image"; path: string };

/** A turn for Codex. */
export type CodexExec = {
  /** What follows `codex exec`, or `codex exec resume ID`. The prompt is not in it: Codex reads it from its standard input. */
  args: string[];
  /** For the standard input: the texts, with an empty line between. */
  prompt: string;
  /** The same for `thread.run` of the Codex SDK. */
  input: CodexInputItem[];
};

/** Options of {@link codexExec}. */
export interface CodexExecOptions {
  /**
   * Where the bytes of an image are as a file: an absolute path, without a comma. Undefined where they are in none. The bytes are
   * those of `resource`, but where a `resize` made others of them.
   */
  readonly pathOf: (image: MediaPart) => string | undefined;
  /**
   * `latest`: what the user said since the model spoke, for a thread that Codex has itself. `transcript`: everything from the
   * beginning, told as a conversation, for a new thread. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
}

/**
 * A turn for Codex: a prompt, and images by their paths, in order. Documents become text where they are text, and are described
 * where not. Codex keeps its own history, so that what it has been told is not repeated unless a transcript is asked for.
 *
 * The prompt is for the standard input, and the arguments say so before they name an image: behind `--image`, which takes as many
 * values as come, it would be taken for another image, and as an argument it could be taken for an option or a command.
 *
 * @throws TypeError for a `pathOf` that is no function, and for a `history` that is neither
 * @see https://github.com/openai/codex: codex-rs/utils/cli/src/shared_options.rs, codex-rs/exec/src/cli.rs and
 *   sdk/typescript/src/thread.ts (stored copies, read 2026-11-21)
 * @example
 * ```ts
 * const target = codexExec({ pathOf: ({ resource }) => resource && `/images/${resource.contentSha256}.png` });
 * const { value } = await project(contextOf([userMessage("hi")]), target);
 * value.args; // ["-"]
 * value.prompt; // "hi"
 * ```
 */
export function codexExec(options: CodexExecOptions): Target<CodexExec> {
  const pathOf = options?.pathOf;
  if (typeof pathOf !== "function") {
    throw new TypeError(`pathOf: expected a function, got ${describe(pathOf)}`);
  }
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  return {
    name: "codex-exec",
    maker: { provider: "codex", model: "none" },
    // codex-rs/utils/image/Cargo.toml: it decodes these two (a stored copy, read 2026-11-21).
    accepts: { user: ["image/png", "image/jpeg"], toolResult: ["image/png", "image/jpeg"] },
    rules: {
      ...(history === "latest" ? { history } : {}),
      takesReasoning: false,
      // Ids and arguments are told in words: nothing needs to be changed in them.
      callId: { character: /[^\p{Cs}\p{Cc}]/u, maxLength: 1000 },
      objectArguments: false,
      userFirst: false,
    },
    render: (request, tools) => turnOf(inputOf(request, history === "transcript", pathOf, tools)),
  };
}

function turnOf(input: CodexInputItem[]): CodexExec {
  const texts: string[] = [];
  const args = ["-"];
  for (const item of input) {
    if (item.type === "text") texts.push(item.text);
    else args.push("--image", item.path);
  }
  return { args, prompt: texts.join("\n\n"), input };
}

/** In place of a prompt that has no text: Codex does not run without. */
const imagesAlone = "[images, without a word]";

function inputOf(
  request: NeutralRequest,
  headed: boolean,
  pathOf: CodexExecOptions["pathOf"],
  tools: RenderTools,
): CodexInputItem[] {
  const items: CodexInputItem[] = [];
  let said = false;
  for (const { text, part } of transcriptOf(request, headed)) {
    const item = text === undefined ? itemOf(part, pathOf, tools) : textItem(text);
    if (item.type === "text" && !said) {
      said = true;
      item.text = withoutMark(item.text, part, tools);
    }
    items.push(part === undefined ? item : tools.mark(item, part));
  }
  return said ? items : [textItem(imagesAlone), ...items];
}

function itemOf(part: ShownPart, pathOf: CodexExecOptions["pathOf"], tools: RenderTools): CodexInputItem {
  if (part.type === "media") return imageItem(part, pathOf(part), tools);
  // No reference ever comes: this target takes none.
  return textItem(part.type === "text" ? part.text : "");
}

function textItem(text: string): CodexInputItem & { type: "text" } {
  return { type: "text", text };
}

/** A byte order mark at the beginning of the input is no part of it for Codex. */
function withoutMark(text: string, part: Part | undefined, tools: RenderTools): string {
  if (!text.startsWith("\ufeff")) return text;
  const reason = "Codex takes no byte order mark at the beginning";
  if (part !== undefined) tools.lose(part, { code: "malformed", by: "target", reason });
  return text.replace(/^\ufeff+/, "");
}

/** A root of POSIX, a drive or a share; no comma, at which Codex cuts paths; nothing that no argument can hold. */
const passable = /^(?:\/|[A-Za-z]:[\\/]|\\\\)[^,\0]*$/;

function imageItem(part: MediaPart, path: string | undefined, tools: RenderTools): CodexInputItem {
  if (path !== undefined && passable.test(path) && path.isWellFormed()) return { type: "local_image", path };
  const why = path === undefined ? "it is in no file" : "Codex takes no such path";
  const instead = `[image, ${part.mediaType}] (not shown: ${why})`;
  tools.lose(part, { code: "unsupported", by: "target", reason: why, instead });
  return textItem(instead);
}
