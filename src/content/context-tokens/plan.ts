/** Plans a paste or a drop: which items are imported, inserted as tokens or text, or refused; then the draft with them. */

import { describe, integerOption } from "../../core/arguments.js";
import { encodeUtf8 } from "../../core/bytes.js";
import { mediaTypeInfo, mediaTypeInfoOfExtension } from "../../core/media-types.js";
import { oneLine } from "../../core/text.js";
import {
  closer,
  escapeContextTokens,
  escapeOpeners,
  extensionByPath,
  failedMark,
  isAbsolutePath,
  opener,
  parseContextTokens,
  pendingMark,
  printContextToken,
  writeToken,
} from "./tokens.js";

/**
 * One item of a clipboard or a drop: an image as bytes, the path of a file, or text. The planned step carries
 * the entry with all its other fields, such as the bytes or a handle.
 */
export type ClipboardEntry =
  | {
      readonly type: "image";
      /** The clipboard's claim, such as `image/png`. The import sniffs the bytes. */
      readonly mediaType: string;
      /** Bytes. */
      readonly size: number;
    }
  | {
      readonly type: "path";
      /** Absolute. */
      readonly path: string;
      /** Bytes, if known. */
      readonly size?: number;
    }
  | { readonly type: "text"; readonly text: string };

/**
 * The reason for a refusal. `empty`: no bytes. `too-large`: more than `maxBytes`. `media-type`: an image
 * other than PNG, JPEG, GIF or WebP. `extension`: the extension is not allowed. `relative`: the path is not
 * absolute.
 */
type RefusalReason = "empty" | "too-large" | "media-type" | "extension" | "relative";

/** An entry to store in the context directory. {@link completeImport} records the outcome. */
export interface ImportStep<E extends ClipboardEntry = ClipboardEntry> {
  readonly type: "import";
  /** Also a name for its temporary file. */
  readonly id: string;
  readonly kind: "image" | "text";
  /** The clipboard's claim, or the type of a text file's extension; not sniffed. */
  readonly mediaType: string;
  /**
   * In lower case: the extension of the path, the extension of an image's type, or `txt` for text. A store
   * may name its file by the media type instead.
   */
  readonly extension: string;
  /**
   * The text in the draft until the import completes. It parses as a broken segment with the reason
   * `pending`.
   */
  readonly placeholder: string;
  readonly entry: E;
}

/** One step of a plan. Every entry except empty text has a step. */
export type ComposeStep<E extends ClipboardEntry = ClipboardEntry> =
  /** Text to insert, escaped: tokens in it are inert. */
  | { readonly type: "text"; readonly text: string }
  | ImportStep<E>
  | { readonly type: "refused"; readonly reason: RefusalReason; readonly entry: E };

/** Options of {@link planPaste} and {@link planDrop}. */
export interface ComposeOptions {
  /** Longer text, in code points, becomes a file. Minimum: 0. @default 8000 */
  readonly maxInlineCharacters?: number;
  /** Text with more lines becomes a file. A final line feed starts no line. Minimum: 1. @default 200 */
  readonly maxInlineLines?: number;
  /**
   * Maximum size of an import in bytes: an image, a file of known size, or text as UTF-8. Minimum: 1.
   * @default 10 MiB
   */
  readonly maxBytes?: number;
  /**
   * The allowlist of file extensions, in lower case without a dot. @default extensions of text and source
   * files
   */
  readonly extensions?: readonly string[];
  /** Returns unique ids of letters, digits, `-` and `_`. Planning is pure with it. @default random UUIDs */
  readonly newId?: () => string;
}

const order = { image: 0, path: 1, text: 2 } as const satisfies Record<ClipboardEntry["type"], number>;

/**
 * Plans a paste: images first, then files with an allowed extension, then text. Short text is inline, long
 * text becomes a `txt` file. Imports nothing: {@link insertSteps} inserts the text and a placeholder per
 * import into the draft.
 *
 * @throws RangeError for a limit out of range; TypeError for an invalid id or an unknown type of entry
 * @example
 * ```ts
 * const steps = planPaste([
 *   { type: "text", text: "Look:" },
 *   { type: "path", path: "/home/me/tool.exe" },
 *   { type: "image", mediaType: "image/png", size: 14_200 },
 * ]);
 * steps.map(({ type }) => type); // ["import", "refused", "text"]
 * ```
 */
export function planPaste<E extends ClipboardEntry>(
  entries: readonly E[],
  options: ComposeOptions = {},
): readonly ComposeStep<E>[] {
  checkEntries(entries);
  // The sort is stable: it keeps the clipboard's order within a type.
  return planDrop(
    [...entries].sort((a, b) => order[a.type] - order[b.type]),
    options,
  );
}

/**
 * Plans a drop as {@link planPaste} does, in the order of the entries. Accepts only text files by path; pass
 * a dropped image file as an image entry.
 *
 * @throws RangeError for a limit out of range; TypeError for an invalid id or an unknown type of entry
 * @example
 * ```ts
 * const paths = ["/notes/b.md", "/notes/a.md"];
 * const steps = planDrop(paths.map((path) => ({ type: "path" as const, path })));
 * steps.flatMap((step) => (step.type === "import" ? [step.entry.path] : []));
 * // ["/notes/b.md", "/notes/a.md"]
 * ```
 */
export function planDrop<E extends ClipboardEntry>(
  entries: readonly E[],
  options: ComposeOptions = {},
): readonly ComposeStep<E>[] {
  checkEntries(entries);
  const limits: Limits = {
    characters: integerOption("maxInlineCharacters", options.maxInlineCharacters, 8000, 0),
    lines: integerOption("maxInlineLines", options.maxInlineLines, 200, 1),
    bytes: integerOption("maxBytes", options.maxBytes, 10 * 1024 * 1024, 1),
    extensions: options.extensions ?? textExtensions,
  };
  const { newId = () => crypto.randomUUID() } = options;
  return entries.flatMap((entry): readonly ComposeStep<E>[] => {
    const verdict = judge(entry, limits);
    if (verdict === undefined) return [];
    if ("reason" in verdict) return [{ type: "refused", reason: verdict.reason, entry }];
    if ("text" in verdict) return [{ type: "text", text: escapeContextTokens(verdict.text) }];
    const id = checkedId(newId());
    const placeholder = writeToken(verdict.kind, pendingMark + id);
    return [{ type: "import", id, ...verdict, placeholder, entry }];
  });
}

function checkEntries(entries: readonly ClipboardEntry[]): void {
  if (!Array.isArray(entries)) throw new TypeError(`entries: expected an array, got ${describe(entries)}`);
  entries.forEach((entry: ClipboardEntry | null | undefined, index) => {
    if (typeof entry !== "object" || entry === null) {
      throw new TypeError(`entries[${index}]: expected an object, got ${describe(entry)}`);
    }
    if (!Object.hasOwn(order, entry.type)) {
      throw new TypeError(
        `entries[${index}].type: expected image, path or text, got ${describe(entry.type)}`,
      );
    }
  });
}

interface Limits {
  readonly characters: number;
  readonly lines: number;
  readonly bytes: number;
  readonly extensions: readonly string[];
}

/** Extensions of the files that a pasted or dropped path imports as text. */
const textExtensions: readonly string[] = [
  "txt",
  "md",
  "json",
  "toml",
  "yaml",
  "yml",
  "rs",
  "go",
  "py",
  "js",
  "ts",
  "jsx",
  "tsx",
  "html",
  "css",
  "log",
  "csv",
];

/** The image types that models accept. */
const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A media type and its file extension. */
interface FileType {
  readonly mediaType: string;
  readonly extension: string;
}

/**
 * The image type of a clipboard's claim, without parameters and case; undefined if models do not accept it.
 */
function imageType(mediaType: string): FileType | undefined {
  const type = mediaTypeInfo(mediaType);
  if (type === undefined || !imageTypes.includes(type.mediaType)) return undefined;
  return { mediaType: type.mediaType, extension: type.extensions[0] };
}

/** The text type of an extension; `text/plain` if its own type is not text, or is an image such as SVG. */
function textType(extension: string): FileType {
  const type = mediaTypeInfoOfExtension(extension);
  const text = type?.text === true && !type.mediaType.startsWith("image/");
  return { mediaType: text ? type.mediaType : "text/plain", extension };
}

type Verdict =
  | { readonly reason: RefusalReason }
  | { readonly text: string }
  | ({ readonly kind: ImportStep["kind"] } & FileType);

/** The verdict on one entry; undefined for empty text. */
function judge(entry: ClipboardEntry, limits: Limits): Verdict | undefined {
  switch (entry.type) {
    case "image": {
      const type = imageType(entry.mediaType);
      if (type === undefined) return { reason: "media-type" };
      return sizeRefusal(entry.size, limits) ?? { kind: "image", ...type };
    }
    case "path": {
      if (!isAbsolutePath(entry.path)) return { reason: "relative" };
      const extension = extensionByPath(entry.path);
      if (!limits.extensions.includes(extension)) return { reason: "extension" };
      const refusal = entry.size === undefined ? undefined : sizeRefusal(entry.size, limits);
      return refusal ?? { kind: "text", ...textType(extension) };
    }
    case "text":
      if (entry.text === "") return undefined;
      if (isInline(entry.text, limits)) return { text: entry.text };
      return sizeRefusal(utf8Size(entry.text, limits.bytes), limits) ?? { kind: "text", ...textType("txt") };
  }
}

function sizeRefusal(size: number, { bytes }: Limits): { readonly reason: RefusalReason } | undefined {
  if (!(size > 0)) return { reason: "empty" };
  return size > bytes ? { reason: "too-large" } : undefined;
}

function isInline(text: string, { characters, lines }: Limits): boolean {
  // A code point has one or two code units, so most texts need no count.
  if (text.length > 2 * characters) return false;
  if (text.length > characters && Array.from(text).length > characters) return false;
  let seen = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < text.length - 1; at = text.indexOf("\n", at + 1)) {
    seen += 1;
  }
  return seen <= lines;
}

/** Bytes as UTF-8, or the number of code units if that already exceeds `max`. */
function utf8Size(text: string, max: number): number {
  return text.length > max ? text.length : encodeUtf8(text).length;
}

function checkedId(id: string): string {
  if (id !== "" && !/[^\w-]/.test(id)) return id;
  throw new TypeError(`newId: expected letters, digits, - and _, got ${JSON.stringify(id)}`);
}

// Inserts planned attachments into a draft, and completes their placeholders.

const maxNoteLength = 200;

/**
 * Inserts planned steps into a draft: text as planned, a placeholder for each import, nothing for a refusal.
 * Existing tokens and placeholders stay intact, and no text at the seams becomes a new one. An offset within
 * a token means its end.
 *
 * A draft is a string. Once nothing in it is pending, it is the message to store.
 *
 * @param at offset in code units; by default the end
 * @throws RangeError if `at` is outside the draft
 * @example
 * ```ts
 * const steps = planPaste([{ type: "text", text: "context:image:/etc/x>>>" }]);
 * extractImagePaths(insertSteps("<<", steps)); // []
 * ```
 */
export function insertSteps(draft: string, steps: readonly ComposeStep[], at?: number): string {
  const place = outsideTokens(draft, integerOption("at", at, draft.length, 0, draft.length));
  const inserted = steps.flatMap((step) => {
    if (step.type === "refused") return [];
    return step.type === "import" ? [step.placeholder] : [step.text];
  });
  if (inserted.length === 0) return draft;
  return joined([shutOpeners(draft.slice(0, place)), ...inserted, draft.slice(place)]);
}

/**
 * The outcome of an import: the absolute path of the stored file, or a message for people about the failure.
 */
type ImportOutcome = { readonly path: string } | { readonly failed: string };

/**
 * Replaces the placeholder of an import by its token, or by a broken token with the failure. Returns the
 * draft unchanged if the placeholder was deleted.
 *
 * @throws SessileError INVALID_CONTEXT_TOKEN for a path that cannot be printed; then complete the import as
 *   failed
 * @example
 * ```ts
 * const newId = () => "1";
 * const draft = insertSteps("", planPaste([{ type: "path", path: "/a.md" }], { newId }));
 * completeImport(draft, "1", { path: "/ctx/blobs/ab.md" }); // "<<context:text:/ctx/blobs/ab.md>>>"
 * completeImport(draft, "1", { failed: "no such file" }); // "<<context:text:failed:no such file>>>"
 * ```
 */
export function completeImport(draft: string, id: string, outcome: ImportOutcome): string {
  return parseContextTokens(draft)
    .map((segment) => {
      if (segment.type !== "broken" || segment.path !== pendingMark + id) return segment.raw;
      return "path" in outcome
        ? printContextToken({ kind: segment.kind, path: outcome.path })
        : writeToken(segment.kind, failedMark + shortLine(outcome.failed));
    })
    .join("");
}

/** Removes everything from a text that could end a token or a line, and limits its length. */
function shortLine(text: string): string {
  // Bounds the work: text far beyond the end of the note is cut anyway.
  const clean = oneLine(text.slice(0, 8 * maxNoteLength)).replace(/[<>]/g, "_");
  const characters = Array.from(clean);
  if (characters.length <= maxNoteLength) return clean;
  return `${characters.slice(0, maxNoteLength - 1).join("")}…`;
}

/** The offset, or the end of the token around it. */
function outsideTokens(draft: string, place: number): number {
  let end = 0;
  for (const { type, raw } of parseContextTokens(draft)) {
    const start = end;
    end += raw.length;
    if (place <= end) return type === "text" || place === start ? place : end;
  }
  return place;
}

/** Escapes openers without an end: they would read the inserted text as their path. */
function shutOpeners(text: string): string {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\0"), text.lastIndexOf(closer)) + 1;
  return text.slice(0, end) + text.slice(end).replaceAll(opener, `<<\\${opener.slice(2)}`);
}

/** Joins the pieces. Escapes each opener, escaped or not, that spans a seam. */
function joined(pieces: readonly string[]): string {
  let end = 0;
  const seams = pieces.map((piece) => {
    end += piece.length;
    return end;
  });
  let next = 0;
  return escapeOpeners(pieces.join(""), (at, stop) => {
    while (next < seams.length && (seams[next] as number) <= at) next += 1;
    return (seams[next] as number) < stop;
  });
}
