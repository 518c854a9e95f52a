import { describe, integerOption } from "../internal/arguments.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { extensionOf, type FileType, imageType, textExtensions, textType } from "./allowed.js";
import { escapeContextTokens } from "./escape.js";
import { pendingMark } from "./parse.js";
import { isAbsolutePath } from "./paths.js";
import { writeToken } from "./print.js";

/**
 * One thing on a clipboard or in a drop, described: an image as bytes, the path of a file, or text. Fields beyond these, such
 * as the bytes or a handle, are carried into the step.
 */
export type ClipboardEntry =
  | {
      readonly type: "image";
      /** As the clipboard says, such as `image/png`; whoever imports it sniffs. */
      readonly mediaType: string;
      /** Bytes. */
      readonly size: number;
    }
  | {
      readonly type: "path";
      /** Absolute. */
      readonly path: string;
      /** Bytes, where known. */
      readonly size?: number;
    }
  | { readonly type: "text"; readonly text: string };

/**
 * Why an entry is not taken: it has no bytes, has more than `maxBytes`, is an image that is not PNG, JPEG, GIF or WebP, or is
 * the path of a file whose extension is not allowed, or a path that is not absolute.
 */
export type RefusalReason = "empty" | "too-large" | "media-type" | "extension" | "relative";

/** An entry to store in the context directory; {@link settleImport} says how that went. */
export interface ImportStep<E extends ClipboardEntry = ClipboardEntry> {
  readonly type: "import";
  /** Also a name for its temporary file. */
  readonly id: string;
  readonly kind: "image" | "text";
  /** As the clipboard says, or of text by its extension; not sniffed. */
  readonly mediaType: string;
  /**
   * Of what was pasted, in lower case: of a file that of its path, of an image that of its type, `txt` for text. A store
   * may name its file by the media type instead.
   */
  readonly extension: string;
  /** Stands in the text until the import is settled, and parses as broken, `pending`. */
  readonly placeholder: string;
  readonly entry: E;
}

/** What to do, in order, with what was pasted or dropped. Nothing is left out without a word. */
export type ComposeStep<E extends ClipboardEntry = ClipboardEntry> =
  /** Text to insert, escaped already: tokens in it are inert. */
  | { readonly type: "text"; readonly text: string }
  | ImportStep<E>
  | { readonly type: "refused"; readonly reason: RefusalReason; readonly entry: E };

/** Options of {@link planPaste} and {@link planDrop}. */
export interface ComposeOptions {
  /** Longer text, in code points, becomes a file. At least 0; 8000 by default. */
  readonly maxInlineCharacters?: number;
  /** Text with more lines becomes a file; a line feed at the very end begins none. At least 1; 200 by default. */
  readonly maxInlineLines?: number;
  /** The largest image, file of known size or text (as UTF-8) to import, in bytes. At least 1; 10 MiB by default. */
  readonly maxBytes?: number;
  /** The allowlist of file extensions, in lower case without a dot; by default those of text and source files. */
  readonly extensions?: readonly string[];
  /** Gives ids of letters, digits, `-` and `_`, each once. Random UUIDs by default; with this given, planning is pure. */
  readonly newId?: () => string;
}

const order = { image: 0, path: 1, text: 2 } as const satisfies Record<ClipboardEntry["type"], number>;

/**
 * Decides what becomes of a paste: images first, then files whose extension is allowed, then text, inline where it is short
 * and as a `txt` file where it is long. It imports nothing: {@link insertSteps} puts the text and a placeholder for each
 * import into the draft.
 *
 * @throws RangeError for a limit out of range, TypeError for an id with other characters or an entry of
 *   another type.
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
  // The sort is stable: within a type the order of the clipboard stays.
  return planDrop(
    [...entries].sort((a, b) => order[a.type] - order[b.type]),
    options,
  );
}

/**
 * Decides what becomes of a drop: as {@link planPaste}, in the order of the entries. A file is taken by its path only when it
 * is text; a dropped image file is described as an image.
 *
 * @throws RangeError for a limit out of range, TypeError for an id with other characters or an entry of
 *   another type.
 * @example
 * ```ts
 * const paths = ["/notes/b.md", "/notes/a.md"];
 * const steps = planDrop(paths.map((path) => ({ type: "path" as const, path })));
 * steps.flatMap((step) => (step.type === "import" ? [step.entry.path] : [])); // ["/notes/b.md", "/notes/a.md"]
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

type Verdict =
  | { readonly reason: RefusalReason }
  | { readonly text: string }
  | ({ readonly kind: ImportStep["kind"] } & FileType);

/** What becomes of one entry; undefined for text without a character. */
function judge(entry: ClipboardEntry, limits: Limits): Verdict | undefined {
  switch (entry.type) {
    case "image": {
      const type = imageType(entry.mediaType);
      if (type === undefined) return { reason: "media-type" };
      return refusalOf(entry.size, limits) ?? { kind: "image", ...type };
    }
    case "path": {
      if (!isAbsolutePath(entry.path)) return { reason: "relative" };
      const extension = extensionOf(entry.path);
      if (!limits.extensions.includes(extension)) return { reason: "extension" };
      const refusal = entry.size === undefined ? undefined : refusalOf(entry.size, limits);
      return refusal ?? { kind: "text", ...textType(extension) };
    }
    case "text":
      if (entry.text === "") return undefined;
      if (isInline(entry.text, limits)) return { text: entry.text };
      return refusalOf(utf8Size(entry.text, limits.bytes), limits) ?? { kind: "text", ...textType("txt") };
  }
}

function refusalOf(size: number, { bytes }: Limits): { readonly reason: RefusalReason } | undefined {
  if (!(size > 0)) return { reason: "empty" };
  return size > bytes ? { reason: "too-large" } : undefined;
}

function isInline(text: string, { characters, lines }: Limits): boolean {
  // A code point has one or two code units: most texts need no counting.
  if (text.length > 2 * characters) return false;
  if (text.length > characters && Array.from(text).length > characters) return false;
  let seen = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < text.length - 1; at = text.indexOf("\n", at + 1)) {
    seen += 1;
  }
  return seen <= lines;
}

/** Bytes as UTF-8; where the code units alone are too many, their count will do. */
function utf8Size(text: string, max: number): number {
  return text.length > max ? text.length : encodeUtf8(text).length;
}

function checkedId(id: string): string {
  if (/^[\w-]+$/.test(id)) return id;
  throw new TypeError(`newId: expected letters, digits, - and _, got ${JSON.stringify(id)}`);
}
