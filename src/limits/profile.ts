/** What a number is counted in. */
export type LimitUnit =
  /** Bytes as stored. */
  | "decodedBytes"
  /** Characters of the base64 of the bytes, padding included. */
  | "base64Bytes"
  /** Bytes of the whole body: base64 of what is sent as base64, text as it is. */
  | "bodyBytes"
  | "pixels"
  | "count"
  | "pages"
  /** UTF-16 code units. */
  | "characters"
  /** The longer side divided by the shorter. */
  | "ratio";

/**
 * What one limit measures: of which items (images, documents, files are both, text), and what of them. Over a message or
 * a request it is the sum. `imageSide` is the longer side, `imageSideSum` width and height together.
 */
export type NumericRule =
  | "imageBytes"
  | "documentBytes"
  | "fileBytes"
  | "imageSide"
  | "imageSideSum"
  | "imageRatio"
  | "imageArea"
  | "imageCount"
  | "documentCount"
  | "documentPages"
  | "bodyBytes"
  | "textCharacters";

/** Which media types are taken. */
export type TypeRule = "imageTypes" | "fileTypes";

/** What is not taken at all: images with more than one frame, documents under a password. */
export type BanRule = "animation" | "encryption";

/** The name of a limit. */
export type LimitRule = NumericRule | TypeRule | BanRule;

/** What a limit holds for: each item, the sum over one message, or over the request, which is the whole history sent. */
export type LimitScope = "item" | "message" | "request";

/** When a row counts: where all that it names is so. */
export interface LimitCondition {
  /** The transport is one of these. */
  readonly transport?: readonly string[];
  /** The model's context window has fewer tokens, or is not told. */
  readonly contextWindowBelow?: number;
  /** The request has more images than this, those of history and tool results among them. */
  readonly imagesOver?: number;
  /** Documents count among the images of `imagesOver`. */
  readonly withDocuments?: true;
  /** The item stands in what a tool gave back; for rows of single items. */
  readonly inToolResult?: true;
}

/** What every row says of its limit besides the value. */
export interface LimitRowBase {
  readonly scope: LimitScope;
  readonly when?: LimitCondition;
  /** The provider says so; somebody tried it; or it follows from something else. */
  readonly evidence: "documented" | "measured" | "inferred";
  /** The day on which the source was read, each in a stored copy. */
  readonly asOf: string;
  readonly source: string;
  /** What else is said of it, such as another source's value. */
  readonly note?: string;
}

/** One limit of one provider. The value is the most that is taken. */
export type LimitRow = LimitRowBase &
  (
    | { readonly rule: NumericRule; readonly value: number; readonly unit: LimitUnit }
    | { readonly rule: TypeRule; readonly value: readonly string[]; readonly unit: "mediaType" }
    | { readonly rule: BanRule; readonly value: false; readonly unit: "presence" }
  );

/**
 * The limits of one target, as data. A limit that has no row is unknown, never unlimited. Where sources disagree the
 * row has the safer value, and MB is a million bytes unless the source says otherwise.
 */
export interface LimitProfile {
  readonly name: string;
  /** The ways to reach the target that rows tell apart; the first is meant where none is named. */
  readonly transports: readonly [string, ...string[]];
  readonly rows: readonly LimitRow[];
}
