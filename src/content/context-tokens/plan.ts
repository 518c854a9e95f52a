/** Plans a paste or a drop: which items are imported, inserted as tokens or text, or refused. */

import { describe, integerOption } from "../../core/arguments.js";
import { encodeUtf8 } from "../../core/bytes.js";
import { mediaTypeInfo, mediaTypeInfoOfExtension } from "../../core/media-types.js";
import { escapeContextTokens, pendingMark } from "./parse.js";
import { extensionByPath, isAbsolutePath } from "./paths.js";
import { writeToken } from "./print.js";

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
export type RefusalReason = "empty" | "too-large" | "media-type" | "extension" | "relative";

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
