import { loneSurrogates } from "../json-walk.js";
import type { Fault, ProviderRule } from "../rule.js";
import { readCommandLine } from "./command-line.mjs";

const source = "https://github.com/openai/codex";
const read = "(a stored copy, read 2026-11-21)";

/** A turn for Codex: for its command line, and for its SDK. */
export interface CodexTurn {
  /** What follows `codex exec`. */
  readonly args: readonly string[];
  /** For the standard input. */
  readonly prompt: string;
  readonly input: readonly { readonly type: string; readonly text?: string; readonly path?: string }[];
}

const pathsOf = ({ input }: CodexTurn): readonly string[] =>
  input.flatMap(({ type, path }) => (type === "local_image" && path !== undefined ? [path] : []));

const fault = (path: string, problem: string, wrong: boolean): readonly Fault[] =>
  wrong ? [{ path, problem }] : [];

/** A path of any system that begins at a root. */
const absolute = /^(?:\/|[A-Za-z]:[\\/]|\\\\)/;

/** What Codex asks of a turn. */
export const codexRules: readonly ProviderRule<CodexTurn>[] = [
  {
    id: "arguments",
    source: `${source} codex-rs/exec/src/cli.rs and codex-rs/utils/cli/src/shared_options.rs ${read}`,
    check: ({ args }) => {
      const { error } = readCommandLine(args);
      return error === undefined ? [] : [{ path: "args", problem: error }];
    },
  },
  {
    id: "prompt-from-input",
    source: `${source}/issues/30106 and /issues/40545: a prompt behind the flag of an image is lost; as an argument it can be taken for an option or a command, and be too long ${read}`,
    check: ({ args }) => {
      const { prompt, error } = readCommandLine(args);
      return fault("args", "the prompt is not read from the input", error === undefined && prompt !== "-");
    },
  },
  {
    id: "images",
    source: `${source} codex-rs/utils/cli/src/shared_options.rs: a path is split at its commas ${read}`,
    check: (turn) => {
      const { images, error } = readCommandLine(turn.args);
      const same = JSON.stringify(images) === JSON.stringify(pathsOf(turn));
      return fault("args", `reads ${images.length} images`, error === undefined && !same);
    },
  },
  {
    id: "absolute-paths",
    source: `${source} codex-rs/exec/src/cli.rs: --cd sets the directory that a path would be relative to ${read}`,
    check: (turn) =>
      pathsOf(turn).flatMap((path) => fault("input", `${path} is relative`, !absolute.test(path))),
  },
  {
    id: "nul",
    source:
      "node:child_process of Node 20.20 throws ERR_INVALID_ARG_VALUE for an argument with a NUL (tried 2026-11-21)",
    check: ({ args }) =>
      fault(
        "args",
        "a NUL",
        args.some((arg) => arg.includes("\0")),
      ),
  },
  {
    id: "something-said",
    source: `${source} codex-rs/exec/src/lib.rs: "No prompt provided via stdin." where there is white space alone ${read}`,
    check: ({ prompt }) => fault("prompt", "a blank prompt", prompt.trim() === ""),
  },
  {
    id: "byte-order-mark",
    source: `${source} codex-rs/exec/src/lib.rs: it is stripped ${read}`,
    check: ({ prompt }) => fault("prompt", "a byte order mark", prompt.startsWith("\ufeff")),
  },
  {
    id: "utf-8",
    source: `${source} codex-rs/exec/src/lib.rs: a prompt that is not UTF-8 is refused ${read}`,
    check: loneSurrogates,
  },
  {
    id: "input-items",
    source: `${source} sdk/typescript/src/thread.ts: text and local_image ${read}`,
    check: ({ input }) =>
      input.flatMap(({ type, text, path }, index) => {
        const right = type === "text" ? text !== undefined : type === "local_image" && path !== undefined;
        return fault(`input.${index}`, `no such item: ${type}`, !right);
      }),
  },
  {
    id: "one-prompt",
    source: `${source} sdk/typescript/src/thread.ts: it joins the texts with an empty line between ${read}`,
    check: ({ prompt, input }) => {
      const joined = input.flatMap(({ type, text }) => (type === "text" ? [text] : [])).join("\n\n");
      return fault("input", "says something else than the prompt", joined !== prompt);
    },
  },
];
