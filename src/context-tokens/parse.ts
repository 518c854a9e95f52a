import { describe } from "../internal/arguments.js";
import { closer, opener, unescapeContextTokens } from "./escape.js";
import { insideOf, isAbsolutePath } from "./paths.js";

/** What a token stands for. `file` is reserved: parsed and shown, planned by nothing here. */
export type ContextTokenKind = "image" | "text" | "file";

/** Text between tokens; never empty, never beside another. */
export interface TextSegment {
  readonly type: "text";
  /** As in the source. */
  readonly raw: string;
  /** What to show: {@link escapeContextTokens} undone. */
  readonly text: string;
}

/** A context token whose path can be used. */
export interface TokenSegment {
  readonly type: "token";
  readonly kind: ContextTokenKind;
  /** Absolute, and inside the context directory where one was given. */
  readonly path: string;
  /** As in the source. */
  readonly raw: string;
}

/**
 * Why a token cannot be used: its path is `empty`, is `relative`, or is `outside` the context directory; or it stands for an
 * import that is `pending` or has `failed` (see {@link settleImport}).
 */
export type BrokenReason = "empty" | "relative" | "outside" | "pending" | "failed";

/** What is written as a token, and names no file to use. */
export interface BrokenSegment {
  readonly type: "broken";
  readonly kind: ContextTokenKind;
  readonly reason: BrokenReason;
  /** What stands where the path belongs, trimmed. */
  readonly path: string;
  /** As in the source. */
  readonly raw: string;
}

/** A piece of a message. */
export type Segment = TextSegment | TokenSegment | BrokenSegment;

/** Options of {@link parseContextTokens} and {@link extractImagePaths}. */
export interface ContextTokenOptions {
  /**
   * Where the files of tokens lie, as an absolute path of POSIX, of a drive or of a UNC share. A token that leads elsewhere is
   * broken. Default: any absolute path is taken, so give one wherever a message can come from somebody else.
   */
  readonly contextDirectory?: string;
}

/** What stands in the place of a path while an import runs, and after one that failed. Neither is absolute. */
export const pendingMark = "pending:";
/** See {@link pendingMark}. */
export const failedMark = "failed:";

/**
 * Splits a message into text and context tokens, `<<context:<kind>:<absolute path>>>`. The `raw`s, joined, are the source.
 * Takes time in proportion to the source, and never throws for any string.
 *
 * The opener is lower case; the kind is `image`, `text` or `file` in any case; the path is the shortest run up to `>>>`; both
 * are trimmed. What has another kind, no `>>>`, or a line feed, a NUL or another opener before its `>>>` is text, and a
 * token inside it is found. A known kind without a usable path is broken. The path is compared as text: whoever opens it has
 * to look at links.
 *
 * @throws TypeError for a `source` that is no string or a `contextDirectory` that is not absolute.
 * @example
 * ```ts
 * const segments = parseContextTokens("see <<context:image:/ctx/blobs/a.png>>>", { contextDirectory: "/ctx" });
 * segments.map(({ type }) => type); // ["text", "token"]
 * segments.map(({ raw }) => raw).join(""); // "see <<context:image:/ctx/blobs/a.png>>>"
 * ```
 */
export function parseContextTokens(source: string, options: ContextTokenOptions = {}): readonly Segment[] {
  if (typeof source !== "string") throw new TypeError(`source: expected a string, got ${describe(source)}`);
  const { contextDirectory } = options;
  const inside = contextDirectory === undefined ? isAbsolutePath : insideOf(contextDirectory);
  if (inside === undefined) {
    throw new TypeError(`contextDirectory: expected an absolute path, got ${describe(contextDirectory)}`);
  }
  const segments: Segment[] = [];
  let done = 0;
  const addText = (end: number): void => {
    const raw = source.slice(done, end);
    if (raw !== "") segments.push({ type: "text", raw, text: unescapeContextTokens(raw) });
  };
  let open = source.indexOf(opener);
  let close = 0;
  while (open !== -1) {
    const start = open + opener.length;
    // Looked for again only once it is passed: looking at every opener would be quadratic.
    if (close < start) close = source.indexOf(closer, start);
    if (close === -1) break;
    const next = source.indexOf(opener, start);
    if (next === -1 || close < next) {
      const written = writtenToken(source.slice(start, close));
      if (written !== undefined) {
        addText(open);
        done = close + closer.length;
        segments.push(segmentOf(written, source.slice(open, done), inside));
      }
    }
    open = next;
  }
  addText(source.length);
  return segments;
}

interface Written {
  readonly kind: ContextTokenKind;
  readonly path: string;
}

/** What stands between an opener and a closer, or undefined where that is no token. */
function writtenToken(inner: string): Written | undefined {
  const colon = inner.indexOf(":");
  if (colon === -1 || inner.includes("\n") || inner.includes("\0")) return undefined;
  const kind = inner.slice(0, colon).trim().toLowerCase();
  if (kind !== "image" && kind !== "text" && kind !== "file") return undefined;
  return { kind, path: inner.slice(colon + 1).trim() };
}

function segmentOf({ kind, path }: Written, raw: string, inside: (path: string) => boolean): Segment {
  const reason = brokenReason(path, inside);
  return reason === undefined
    ? { type: "token", kind, path, raw }
    : { type: "broken", kind, reason, path, raw };
}

function brokenReason(path: string, inside: (path: string) => boolean): BrokenReason | undefined {
  if (isAbsolutePath(path)) return inside(path) ? undefined : "outside";
  if (path.startsWith(pendingMark)) return "pending";
  if (path.startsWith(failedMark)) return "failed";
  return path === "" ? "empty" : "relative";
}
