import type { ImageFamily, ImageTokenRule, PdfFamily } from "../estimate/index.js";
import type { LimitProfile } from "../limits/index.js";
import type { Loss } from "./losses.js";
import type { ProviderReference } from "./references.js";
import type { NeutralRequest, Part } from "./request.js";

/**
 * Something that a session can be projected to: facts about it, and a function that writes its own shape. All
 * that is common to targets is done before: turns alternate, calls have their results, text is not blank,
 * attachments are decided on, read, of types that the target takes and within its limits. Reasoning,
 * signatures and opaque blocks arrive only where the target's own model made them.
 *
 * Write one for a provider of your own:
 *
 * @example
 * ```ts
 * import type { Target } from "sessile/projections";
 *
 * const transcript: Target<string> = {
 *   name: "transcript",
 *   model: { provider: "none", model: "none" },
 *   render: ({ turns }) => turns.map(({ role }) => role).join(" "),
 * };
 * const { value } = await project(contextOf([userMessage("hi")]), transcript); // "user"
 * ```
 */
export interface Target<V> {
  /** Told to the boundary and named in errors, such as `anthropic-messages`. */
  readonly name: string;
  /** Whose reasoning, signatures and opaque blocks it takes back. */
  readonly model: ModelRef;
  /** Media it takes; none by default. */
  readonly accepts?: TargetMedia;
  readonly rules?: TargetRules;
  /** What is checked over the whole request; nothing by default. */
  readonly limits?: TargetLimits;
  /** How images and pages are counted in `usage`; Anthropic's way by default. */
  readonly estimate?: { readonly image?: ImageFamily | ImageTokenRule; readonly pdf?: PdfFamily };
  /** How many cache markers it takes; 0 by default. */
  readonly maxCacheMarkers?: number;
  /**
   * The value has the base64 of media as it is, whole or behind a prefix, so that a body can be made without
   * these strings: the request is then rendered with short texts in their place, and once more when the value
   * is asked for. Default false.
   */
  readonly embedsBase64?: boolean;
  /**
   * Writes the request. Pure: the same turns give the same value, in fresh arrays and objects that a caller
   * may change.
   */
  render(request: NeutralRequest, tools: RenderTools): V;
}

/**
 * A model, by the way to it. Two are the same where the provider is, the model but for a date that one of
 * them leaves open, the protocol where both name one, and the account.
 */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
  /** The wire protocol, such as `anthropic-messages`. */
  readonly api?: string;
  /** Encrypted state belongs to an account; absent where there is but one. */
  readonly account?: string;
}

/** Which media a target takes: types such as `image/png`, `image/*` for a family. */
export interface TargetMedia {
  /** In what the user says. */
  readonly user: readonly string[];
  /** In what a tool gives back. What is taken from a user only is moved behind the results. */
  readonly toolResult: readonly string[];
  /** References it takes in place of bytes; none by default. */
  readonly references?: readonly ProviderReference["kind"][];
}

/** What a target asks of every request besides. */
export interface TargetRules {
  /** By default letters, digits, `_` and `-`, at most 64. */
  readonly callId?: CallIdRule;
  /** By default the same. */
  readonly toolName?: ToolNameRule;
  /** Whether arguments must be an object; true by default. */
  readonly objectArguments?: boolean;
  /** Whether the first turn must be the user's; true by default. */
  readonly userFirst?: boolean;
  /** Whether white space at the end of what the model said is refused; false by default. */
  readonly trimsAssistant?: boolean;
  /** Whether NUL is refused in text; false by default. */
  readonly refusesNul?: boolean;
  /**
   * `latest` for a target that keeps its own history: what the user said since the model spoke is all that it
   * is told. All of the context by default.
   */
  readonly history?: "latest";
  /** Whether opaque blocks and signed reasoning of its own go back; true by default. */
  readonly takesReasoning?: boolean;
}

/** What ids of calls look like. */
export interface CallIdRule {
  /** A character that is allowed, such as `/[A-Za-z0-9_-]/`: at least two letters or digits. */
  readonly character: RegExp;
  /** UTF-16 units: at least 9, and more for few letters and digits. */
  readonly maxLength: number;
  /** UTF-16 units, at most `maxLength`; default 1. */
  readonly minLength?: number;
  /** The part of a stored id that is the call's own, such as what stands before `|`; the whole by default. */
  readonly of?: (storedId: string) => string;
  /** Ids of calls that other models made are not sent at all, so that none is lost; false by default. */
  readonly ownOnly?: boolean;
}

/** What names of tools look like. What else there is becomes `_`. */
export interface ToolNameRule {
  /** Default 64. */
  readonly maxLength?: number;
  /** A character that is allowed. Default `/[A-Za-z0-9_-]/`. */
  readonly character?: RegExp;
  /** One that a name may begin with, `_` among them; by default any that is allowed. */
  readonly first?: RegExp;
}

/** The limits that a projection keeps. */
export interface TargetLimits {
  readonly profile: LimitProfile;
  /** One of the profile's; its first by default. */
  readonly transport?: string;
  /** Tokens; where it is not told, limits of models with a small one count. */
  readonly contextWindow?: number;
}

/** What a target renders with. */
export interface RenderTools {
  /**
   * Notes where a block of the value comes from, so that a refusal can be traced; gives the block back. Marks
   * are taken down when there is a refusal to explain: the request is rendered once more then.
   */
  trace<T extends object>(block: T, part: Part): T;
  /** Whether a cache marker belongs behind this part. Asked by targets with `maxCacheMarkers`. */
  endsCache(part: Part): boolean;
  /**
   * Notes a loss that only this target can know of, such as of reasoning whose signature is not what it
   * takes.
   */
  reportLoss(part: Part, loss: Pick<Loss, "code" | "by" | "reason" | "instead">): void;
}
