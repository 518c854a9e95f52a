/** Prints context tokens, the inverse of the parser. */

import { type ErrorDetails, SessileError } from "../../core/errors/index.js";
import { type ContextTokenKind, closer, opener, parseContextTokens } from "./parse.js";
import { isAbsolutePath } from "./paths.js";

/** Writes a token without a check, for placeholders and notes of this module. */
export function writeToken(kind: ContextTokenKind, path: string): string {
  return `${opener}${kind}:${path}${closer}`;
}

/**
 * Prints a context token. The result parses to the same kind and path, or the call throws.
 *
 * @throws SessileError INVALID_CONTEXT_TOKEN for a path that is empty or relative, begins or ends with white
 *   space, or contains a delimiter: a line feed, NUL, `<<context:`, `>>>` or a final `>`
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
