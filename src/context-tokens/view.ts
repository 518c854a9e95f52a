import { baseName } from "./allowed.js";
import {
  type BrokenReason,
  type BrokenSegment,
  type ContextTokenKind,
  failedMark,
  pendingMark,
  type Segment,
  type TokenSegment,
} from "./parse.js";

/** What is known of a token's file. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** What to call it; by default the last name of its path. */
  readonly name?: string;
  /** Where the thumbnail of an image is, such as a URL or a path; absent while there is none. */
  readonly thumbnail?: string;
}

/** What to show for a segment. Names, and the notes of failed imports, are untrusted text. */
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
  /** A text or another file, or an image that has no thumbnail. */
  | {
      readonly type: "chip";
      readonly kind: ContextTokenKind;
      readonly path: string;
      readonly name: string;
      /** Bytes. */
      readonly size: number;
    }
  /** An import that is not settled; after a restart, one that never will be. */
  | { readonly type: "pending"; readonly kind: ContextTokenKind; readonly id: string }
  | {
      readonly type: "broken";
      readonly kind: ContextTokenKind;
      readonly reason: Exclude<BrokenReason, "pending"> | "missing";
      /** What to call it: of a failed import what was said of it, else the last name of the path; it can be empty. */
      readonly name: string;
    };

/**
 * What a user interface shows for the segments of a message, one view for each, in order. A token is never shown as it is
 * written. `factsOf` says what is known of a path, and undefined where there is no such file.
 *
 * @example
 * ```ts
 * const segments = parseContextTokens("see <<context:text:/ctx/blobs/ab.txt>>><<context:image:/ctx/gone.png>>>");
 * const views = viewSegments(segments, (path) => (path.endsWith("ab.txt") ? { size: 9000 } : undefined));
 * views.map(({ type }) => type); // ["text", "chip", "broken"]
 * ```
 */
export function viewSegments(
  segments: readonly Segment[],
  factsOf: (path: string) => FileFacts | undefined,
): readonly SegmentView[] {
  return segments.map((segment) => viewOf(segment, factsOf));
}

function viewOf(segment: Segment, factsOf: (path: string) => FileFacts | undefined): SegmentView {
  switch (segment.type) {
    case "text":
      return { type: "text", text: segment.text };
    case "token":
      return viewToken(segment, factsOf(segment.path));
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
