import { type ContextTokenOptions, parseContextTokens } from "./parse.js";

/**
 * The paths of a message's image tokens, in the order of the tokens, one for each token. They are what `codex exec` takes,
 * each after an `--image` of its own; the prompt goes as it is, best on standard input, since that flag takes all values
 * up to the next flag.
 *
 * @throws TypeError for a `source` that is no string or a `contextDirectory` that is not absolute.
 * @example
 * ```ts
 * const images = extractImagePaths("<<context:image:/a.png>>> and <<context:image:/b.png>>>");
 * images.flatMap((path) => ["--image", path]); // ["--image", "/a.png", "--image", "/b.png"]
 * ```
 * @see https://github.com/openai/codex/issues/30106 (read 2026-11-21)
 */
export function extractImagePaths(source: string, options: ContextTokenOptions = {}): readonly string[] {
  return parseContextTokens(source, options).flatMap((segment) =>
    segment.type === "token" && segment.kind === "image" ? [segment.path] : [],
  );
}
