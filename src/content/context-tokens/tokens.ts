/** Context tokens in a text: parsed without loss, printed, and shown. Paths in them are text. */

import { describe } from "../../core/arguments.js";
import { type ErrorDetails, SessileError } from "../../core/errors/index.js";

/** The kind of a token's file. `file` is reserved: the parser accepts it, the planners never write it. */
export type ContextTokenKind = "image" | "text" | "file";

/** Text between tokens. Never empty, and never adjacent to another text segment. */
interface TextSegment {
  readonly type: "text";
  /** As in the source. */
  readonly raw: string;
  /** The text to show: unescaped by {@link unescapeContextTokens}. */
  readonly text: string;
}

/** A context token with a usable path. */
interface TokenSegment {
  readonly type: "token";
  readonly kind: ContextTokenKind;
  /** Absolute, and inside the context directory if the options name one. */
  readonly path: string;
  /** As in the source. */
  readonly raw: string;
}

/**
 * The reason why a token is unusable: its path is `empty`, `relative` or `outside` the context directory, or
 * its import is `pending` or has `failed` (see {@link completeImport}).
 */
type BrokenReason = "empty" | "relative" | "outside" | "pending" | "failed";

/** A token without a usable path. */
interface BrokenSegment {
  readonly type: "broken";
  readonly kind: ContextTokenKind;
  readonly reason: BrokenReason;
  /** The text in place of the path, trimmed. */
  readonly path: string;
  /** As in the source. */
  readonly raw: string;
}

/** A piece of a message. */
export type Segment = TextSegment | TokenSegment | BrokenSegment;

/** Options of {@link parseContextTokens} and {@link extractImagePaths}. */
export interface InlineTokenOptions {
  /**
   * The directory of the tokens' files: an absolute POSIX, drive or UNC path. A token with a path outside it
   * is broken. By default every absolute path is valid, so set it for messages from untrusted senders.
   */
  readonly contextDirectory?: string;
}

/** The prefix in place of a path while an import runs. Not absolute, so that no file has such a path. */
export const pendingMark = "pending:";
/** The prefix in place of a path after an import failed. */
export const failedMark = "failed:";

/**
 * Splits a message into text and context tokens, `<<context:<kind>:<absolute path>>>`. The `raw`s, joined,
 * are the source. Runs in linear time, and never throws for any string.
 *
 * The opener is lower case; the kind is `image`, `text` or `file` in any case; the path ends at the first
 * `>>>`. Kind and path are trimmed. Text with another kind, without `>>>`, or with a line feed, a NUL or
 * another opener before its `>>>` is plain text, and the parser finds a token inside it. A known kind without
 * a usable path is a broken segment. Paths are compared as text: check for links when you open the file.
 *
 * @throws TypeError if `source` is not a string or `contextDirectory` is not absolute
 * @example
 * ```ts
 * const options = { contextDirectory: "/ctx" };
 * const segments = parseContextTokens("see <<context:image:/ctx/blobs/a.png>>>", options);
 * segments.map(({ type }) => type); // ["text", "token"]
 * segments.map(({ raw }) => raw).join(""); // "see <<context:image:/ctx/blobs/a.png>>>"
 * ```
 */
export function parseContextTokens(source: string, options: InlineTokenOptions = {}): readonly Segment[] {
  if (typeof source !== "string") throw new TypeError(`source: expected a string, got ${describe(source)}`);
  const { contextDirectory } = options;
  const inside = contextDirectory === undefined ? isAbsolutePath : pathInside(contextDirectory);
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
    // Searched again only after the last closer: a search per opener would be quadratic.
    if (close < start) close = source.indexOf(closer, start);
    if (close === -1) break;
    const next = source.indexOf(opener, start);
    if (next === -1 || close < next) {
      const written = writtenToken(source.slice(start, close));
      if (written !== undefined) {
        addText(open);
        done = close + closer.length;
        segments.push(writtenSegment(written, source.slice(open, done), inside));
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

/** Parses the text between an opener and a closer; undefined if it is not a token. */
function writtenToken(inner: string): Written | undefined {
  const colon = inner.indexOf(":");
  if (colon === -1 || inner.includes("\n") || inner.includes("\0")) return undefined;
  const kind = inner.slice(0, colon).trim().toLowerCase();
  if (kind !== "image" && kind !== "text" && kind !== "file") return undefined;
  return { kind, path: inner.slice(colon + 1).trim() };
}

function writtenSegment({ kind, path }: Written, raw: string, inside: (path: string) => boolean): Segment {
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

/** The start of every context token. */
export const opener = "<<context:";
/** The end of every context token. */
export const closer = ">>>";

const openerEnd = "context:";

/** The places of openers, escaped any number of times: those of `<<` and of what follows the backslashes. */
function* openersIn(text: string): Generator<readonly [start: number, end: number], void> {
  for (let at = text.indexOf(openerEnd); at >= 0; at = text.indexOf(openerEnd, at + openerEnd.length)) {
    let start = at;
    while (start > 0 && text[start - 1] === "\\") start--;
    if (start >= 2 && text[start - 1] === "<" && text[start - 2] === "<") yield [start - 2, at];
  }
}

/** Adds a backslash to each opener that is wanted, by its start and end. */
export function escapeOpeners(
  text: string,
  isWanted: (start: number, end: number) => boolean = () => true,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of openersIn(text)) {
    if (!isWanted(start, end + openerEnd.length)) continue;
    parts.push(text.slice(from, start + 2));
    from = start + 2;
  }
  return parts.length === 0 ? text : [...parts, text.slice(from)].join("\\");
}

/** Part of every escaped opener and rare elsewhere, so that most texts need no replacement. */
const escapedEnd = "\\context:";

/**
 * Makes text inert: the parser finds no context token in the result. Adds a backslash to each opener,
 * `<<\context:`, also to an escaped one, so that {@link unescapeContextTokens} restores any string exactly.
 * Not idempotent: unescape as often as you escape. Linear.
 *
 * {@link parseContextTokens} unescapes the `text` of a segment and keeps the backslash in its `raw`.
 *
 * @example
 * ```ts
 * escapeContextTokens("<<context:image:/etc/x>>>").length; // 26
 * extractImagePaths(escapeContextTokens("<<context:image:/etc/x>>>")); // []
 * ```
 */
export function escapeContextTokens(text: string): string {
  return escapeOpeners(text);
}

/**
 * Reverses {@link escapeContextTokens}: removes one backslash from each escaped opener. Leaves other text
 * unchanged, including bare openers. Linear.
 *
 * @example
 * ```ts
 * unescapeContextTokens(escapeContextTokens("a <<context: b")); // "a <<context: b"
 * ```
 */
export function unescapeContextTokens(text: string): string {
  if (!text.includes(escapedEnd)) return text;
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of openersIn(text)) {
    if (end === start + 2) continue;
    parts.push(text.slice(from, start + 2));
    from = start + 3;
  }
  return [...parts, text.slice(from)].join("");
}

/**
 * Returns the paths of a message's image tokens, one per token, in their order. `codex exec` takes each path
 * after an `--image` of its own. Pass the prompt on standard input: that flag takes all values up to the next
 * flag.
 *
 * @throws TypeError if `source` is not a string or `contextDirectory` is not absolute
 * @example
 * ```ts
 * const images = extractImagePaths("<<context:image:/a.png>>> and <<context:image:/b.png>>>");
 * images.flatMap((path) => ["--image", path]); // ["--image", "/a.png", "--image", "/b.png"]
 * ```
 * @see https://github.com/openai/codex/issues/30106 (read 2026-11-21)
 */
export function extractImagePaths(source: string, options: InlineTokenOptions = {}): readonly string[] {
  return parseContextTokens(source, options).flatMap((segment) =>
    segment.type === "token" && segment.kind === "image" ? [segment.path] : [],
  );
}

// Prints context tokens, the inverse of the parser.

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

// Segments of a parsed text as views for a user interface.

/** Facts about a token's file. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** The name to show. @default the last name of its path */
  readonly name?: string;
  /** The location of an image's thumbnail, such as a URL or a path; absent if there is no thumbnail. */
  readonly thumbnail?: string;
}

/** The view of a segment. Names and failure messages are untrusted text. */
export type SegmentView =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "thumbnail";
      readonly path: string;
      readonly name: string;
      /** Bytes. */
      readonly size: number;
      readonly thumbnail: string;
    }
  /** A text or another file, or an image without a thumbnail. */
  | {
      readonly type: "chip";
      readonly kind: ContextTokenKind;
      readonly path: string;
      readonly name: string;
      /** Bytes. */
      readonly size: number;
    }
  /** An incomplete import. After a restart it never completes. */
  | { readonly type: "pending"; readonly kind: ContextTokenKind; readonly id: string }
  | {
      readonly type: "broken";
      readonly kind: ContextTokenKind;
      readonly reason: Exclude<BrokenReason, "pending"> | "missing";
      /** The message of a failed import, otherwise the last name of the path. Can be empty. */
      readonly name: string;
    };

/**
 * Returns one view per segment of a message, for a user interface. No view contains the source text of a
 * token.
 *
 * @param factsByPath returns the facts of a path, or undefined if the file does not exist
 *
 * @example
 * ```ts
 * const segments = parseContextTokens("see <<context:text:/ctx/ab.txt>>><<context:image:/ctx/gone.png>>>");
 * const views = renderSegments(segments, (path) => (path.endsWith("ab.txt") ? { size: 9000 } : undefined));
 * views.map(({ type }) => type); // ["text", "chip", "broken"]
 * ```
 */
export function renderSegments(
  segments: readonly Segment[],
  factsByPath: (path: string) => FileFacts | undefined,
): readonly SegmentView[] {
  return segments.map((segment) => segmentView(segment, factsByPath));
}

function segmentView(segment: Segment, factsForPath: (path: string) => FileFacts | undefined): SegmentView {
  switch (segment.type) {
    case "text":
      return { type: "text", text: segment.text };
    case "token":
      return viewToken(segment, factsForPath(segment.path));
    case "broken":
      return viewBroken(segment);
  }
}

function viewToken({ kind, path }: TokenSegment, facts: FileFacts | undefined): SegmentView {
  if (facts === undefined) return { type: "broken", kind, reason: "missing", name: baseName(path) };
  const { size, name = baseName(path), thumbnail } = facts;
  return kind === "image" && thumbnail !== undefined
    ? { type: "thumbnail", path, name, size, thumbnail }
    : { type: "chip", kind, path, name, size };
}

function viewBroken({ kind, path, reason }: BrokenSegment): SegmentView {
  switch (reason) {
    case "pending":
      return { type: "pending", kind, id: path.slice(pendingMark.length) };
    case "failed":
      return { type: "broken", kind, reason, name: path.slice(failedMark.length) };
    case "empty":
    case "relative":
    case "outside":
      return { type: "broken", kind, reason, name: baseName(path) };
  }
}

// Absolute paths as text. This file never asks a file system: it does not resolve links, and reads a Windows
// path in the same way on every system.
//
// @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-21)

/** A parsed path: its root and the names below it, with `.` and `..` resolved. */
interface Absolute {
  readonly root: string;
  readonly names: readonly string[];
}

const drive = /^[A-Za-z]:[\\/]/;
/**
 * `\\server\share`, also with slashes: Windows accepts both, and POSIX leaves a leading `//` to the system.
 */
const share = /^(?:\\\\|\/\/)([^\\/]{1,255})[\\/]{1,255}([^\\/]{1,255})/;

/** Whether a path is absolute: POSIX, a drive with its separator, or a UNC share. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/") || drive.test(path) || share.test(path);
}

/**
 * Returns a test for paths below `directory`, which is not below itself. Returns undefined if `directory` is
 * relative or a device path. Both paths must have the same kind: POSIX, drive or UNC. The test compares names
 * exactly, and drive letters, servers and shares without regard to case.
 */
function pathInside(directory: string): ((path: string) => boolean) | undefined {
  const outer = absolute(directory);
  if (outer === undefined) return undefined;
  return (path) => {
    const inner = absolute(path);
    return (
      inner !== undefined &&
      inner.root === outer.root &&
      inner.names.length > outer.names.length &&
      outer.names.every((name, at) => inner.names[at] === name)
    );
  };
}

function absolute(path: string): Absolute | undefined {
  const unc = share.exec(path);
  if (unc !== null) {
    const [all, server, name] = unc;
    // `\\?\` and `\\.\` address devices and bypass the rules for names.
    if (server === "?" || server === ".") return undefined;
    return onWindows(`\\\\${server}\\${name}`, path.slice(all.length));
  }
  if (drive.test(path)) return onWindows(path.slice(0, 2), path.slice(2));
  return path.startsWith("/") ? { root: "/", names: resolved(path.split("/")) } : undefined;
}

/**
 * Refuses names that Windows reads differently: it strips trailing dots and spaces, and a colon names a
 * stream.
 */
function onWindows(root: string, rest: string): Absolute | undefined {
  const names = rest.split(/[\\/]/);
  const plain = names.every((name) => name === "." || name === ".." || !/[. ]$|:/.test(name));
  return plain ? { root: root.toLowerCase(), names: resolved(names) } : undefined;
}

function resolved(names: readonly string[]): readonly string[] {
  const out: string[] = [];
  for (const name of names) {
    if (name === "..") out.pop();
    else if (name !== "" && name !== ".") out.push(name);
  }
  return out;
}

/** The extension of a path in lower case, or "" if its name has none or begins with its only dot. */
export function extensionByPath(path: string): string {
  const name = baseName(path);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

/** The last name of a path, with either separator. */
function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
