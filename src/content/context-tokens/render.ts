/** Segments of a parsed text as views for a user interface. */

import {
  type BrokenReason,
  type BrokenSegment,
  type ContextTokenKind,
  failedMark,
  pendingMark,
  type Segment,
  type TokenSegment,
} from "./parse.js";
import { baseName } from "./paths.js";

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
