/**
 * How `codex exec` reads its arguments, as far as a prompt with images needs it. The flag of the images takes values until
 * the next thing that looks like an option; a lone dash does not. A value is split at its commas.
 *
 * @see https://github.com/openai/codex codex-rs/utils/cli/src/shared_options.rs: `value_delimiter = ','`, `num_args = 1..`;
 * codex-rs/exec/src/cli.rs: the prompt, and the commands that stand in its place (stored copies, read 2026-11-21)
 * @see https://github.com/openai/codex/issues/30106 a prompt behind the flag is an image (a stored copy, read 2026-11-21)
 */

const commands = new Set(["resume", "review", "help"]);

/** @param {string} argument */
const isOption = (argument) => argument.startsWith("-") && argument !== "-";

/**
 * What the arguments after `exec` say.
 *
 * @param {readonly string[]} args
 * @returns {{ readonly images: readonly string[], readonly prompt?: string, readonly error?: string }}
 */
export function readCommandLine(args) {
  /** @type {string[]} */
  const images = [];
  /** @type {string | undefined} */
  let prompt;
  let optionsEnd = false;
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? "";
    if (!optionsEnd && argument === "--") {
      optionsEnd = true;
    } else if (!optionsEnd && (argument === "--image" || argument === "-i")) {
      const first = at + 1;
      while (at + 1 < args.length && !isOption(args[at + 1] ?? ""))
        images.push(...(args[++at] ?? "").split(","));
      if (at < first) return { images, error: "a value is required for '--image <FILE>...'" };
    } else if (!optionsEnd && isOption(argument)) {
      return { images, error: `unexpected argument '${argument}' found` };
    } else if (prompt !== undefined) {
      return { images, error: `unexpected argument '${argument}' found` };
    } else if (!optionsEnd && commands.has(argument)) {
      return { images, error: `a command in place of the prompt: ${argument}` };
    } else {
      prompt = argument;
    }
  }
  return prompt === undefined ? { images } : { images, prompt };
}
