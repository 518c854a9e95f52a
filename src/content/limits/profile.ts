/** The unit of a number. */
export type LimitUnit =
  /** Bytes as stored. */
  | "decodedBytes"
  /** Characters of the bytes' base64, including padding. */
  | "base64Bytes"
  /** Bytes of the whole body, with attachments as base64 and text as UTF-8. */
  | "bodyBytes"
  | "pixels"
  | "count"
  | "pages"
  /** UTF-16 code units. */
  | "characters"
  /** The longer side divided by the shorter. */
  | "ratio";

/**
 * The measure of a limit and the items it applies to: images, documents, files (both), text. Over a message
 * or a request it is the sum. `imageSide` is the longer side, `imageSideSum` the sum of width and height.
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

/** The accepted media types. */
export type TypeRule = "imageTypes" | "fileTypes";

/** A ban: images with more than one frame, documents with a password. */
export type BanRule = "animation" | "encryption";

/** The name of a limit. */
export type LimitRule = NumericRule | TypeRule | BanRule;

/** The scope of a limit: each item, the sum over one message, or over the request with its whole history. */
export type LimitScope = "item" | "message" | "request";

/** The condition of a row: all named properties hold. */
export interface LimitCondition {
  /**
   * The model is one of these, by any form of its name. A name with a version is that model, a name without one
   * its whole family, such as `claude`. Does not hold for an unknown model.
   */
  readonly models?: readonly string[];
  /** The transport is one of these. */
  readonly transport?: readonly string[];
  /** The model's context window has fewer tokens or is unknown. */
  readonly contextWindowBelow?: number;
  /** The request has more images than this, including history and tool results. */
  readonly imagesOver?: number;
  /** Documents count among the images of `imagesOver`. */
  readonly withDocuments?: true;
  /** The item is part of a tool result. Only for rows with the scope `item`. */
  readonly inToolResult?: true;
}

/** Properties of every row beside its value. */
export interface LimitRowBase {
  readonly scope: LimitScope;
  readonly when?: LimitCondition;
  /** Documented by the provider, measured against its API, or inferred from another fact. */
  readonly evidence: "documented" | "measured" | "inferred";
  /** The date on which a stored copy of the source was read. */
  readonly asOf: string;
  readonly source: string;
  /** A remark, such as another source's value. */
  readonly note?: string;
}

/** One limit of one provider. A number is the maximum that the provider accepts. */
export type LimitRow = LimitRowBase &
  (
    | { readonly rule: NumericRule; readonly value: number; readonly unit: LimitUnit }
    | { readonly rule: TypeRule; readonly value: readonly string[]; readonly unit: "mediaType" }
    | { readonly rule: BanRule; readonly value: false; readonly unit: "presence" }
  );

/**
 * The limits of one target, as data. A limit without a row is unknown, not unlimited. If sources disagree,
 * the row has the safer value. MB is a million bytes unless the source says otherwise.
 */
export interface LimitProfile {
  readonly name: string;
  /** The transports that rows distinguish. The first is the default. */
  readonly transports: readonly [string, ...string[]];
  readonly rows: readonly LimitRow[];
}
