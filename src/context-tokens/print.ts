import { type ErrorDetails, SessileError } from "../errors/index.js";
import { closer, opener } from "./escape.js";
import { type ContextTokenKind, parseContextTokens } from "./parse.js";
import { isAbsolutePath } from "./paths.js";

/** What is written with no check of its own: placeholders and notes are made here and known to be plain. */
export function writeToken(kind: ContextTokenKind, path: string): string {
  return `${opener}${kind}:${path}${closer}`;
}

/**
 * The text of a context token. The inverse of {@link parseContextTokens}: what it prints parses to this kind and path, and
 * what would not is refused.
 *
 * @throws SessileError INVALID_CONTEXT_TOKEN for a path that is empty, relative, begins or ends with white space, or
 *   holds what ends a token: a line feed, NUL, `<<context:`, `>>>` or a `>` at its end.
 * @example
 * ```ts
 * printContextToken({ kind: "image", path: "/ctx/blobs/a.png" }); // "<<context:image:/ctx/blobs/a.png>>>"
 * ```
 */
export function printContextToken(token: { readonly kind: ContextTokenKind; readonly path: string }): string {
  const { kind, path } = token;
  const printed = writeToken(kind, path);
  const [first] = parseContextTokens(printed);
  if (first?.type === "token" && first.kind === kind && first.path === path) return printed;
  const reason = reasonAgainst(path);
  throw new SessileError("INVALID_CONTEXT_TOKEN", `cannot be printed as a context token: ${reason}`, {
    details: { path, reason },
  });
}

function reasonAgainst(path: string): ErrorDetails["INVALID_CONTEXT_TOKEN"]["reason"] {
  if (path === "") return "empty";
  if (path !== path.trim()) return "white-space";
  if (!isAbsolutePath(path)) return "relative";
  return /[\n\0]|<<context:|>>>|>$/.test(path) ? "delimiter" : "kind";
}
