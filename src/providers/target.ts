/** The port of targets: facts about a provider, and the function that renders its request. */

import type { ImageFamily, ImageTokenRule, PdfFamily } from "../content/estimate/index.js";
import type { AssistantMessage } from "../content/index.js";
import type { LimitProfile } from "../content/limits/index.js";
import type { Loss } from "./losses.js";
import { isSameModel, modelFacts, readsFiles } from "./models/internal.js";
import type { NeutralRequest, Part, ProviderReference } from "./request.js";

/**
 * A format that a session can be projected to: facts about a provider, and a function that writes its
 * request. Everything common to targets happens before `render`: turns alternate, calls have results, text is
 * not blank, and attachments are loaded, accepted and within limits. Reasoning, signatures and opaque blocks
 * arrive only if the target's own model made them.
 *
 * Write one for a provider of your own:
 * @example
 * ```ts
 * import type { Target } from "sessile";
 *
 * const transcript: Target<string> = {
 *   name: "transcript",
 *   model: { provider: "none", model: "none" },
 *   render: ({ turns }) => turns.map(({ role }) => role).join(" "),
 * };
 * const { value } = await project(contextFrom([userMessage("hi")]), transcript); // "user"
 * ```
 */
export interface Target<V> {
  /** Passed to the boundary and used in errors, such as `anthropic-messages`. */
  readonly name: string;
  /** The model whose reasoning, signatures and opaque blocks the target accepts back. */
  readonly model: ModelRef;
  /** Accepted media. @default none */
  readonly accepts?: TargetMedia;
  readonly rules?: TargetRules;
  /** Limits over the whole request. @default none */
  readonly limits?: TargetLimits;
  /** The token rules for images and pages in `usage`. @default Anthropic's */
  readonly estimate?: { readonly image?: ImageFamily | ImageTokenRule; readonly pdf?: PdfFamily };
  /** Maximum number of cache markers. @default 0 */
  readonly maxCacheMarkers?: number;
  /**
   * Whether the value contains base64 unchanged or after a prefix. A body is then built without these
   * strings: the request is rendered with placeholders, and again when `value` is read. @default false
   */
  readonly embedsBase64?: boolean;
  /**
   * How long after a reply its provider holds the conversation, in milliseconds. Within it, a request that repeats
   * all that the reply answered has only what is new. @default 0, all is sent
   */
  readonly heldMs?: number;
  /**
   * All that `render` depends on, as text. If targets with the same text write each turn of user and model by itself,
   * and take `since` for any turn, a projection renders only what a session added since the last one. A turn of the
   * user belongs to the one of the model before it. @default everything is rendered
   */
  readonly renderKey?: string;
  /**
   * Writes the request. Pure: the same turns give the same value, in fresh arrays and objects that a caller
   * may change.
   * @param since for a target with `heldMs` or `renderKey`: only what follows this turn is written, with a reference
   */
  render(request: NeutralRequest, tools: RenderTools, since?: HeldReply): V;
}

/** A reply that its provider holds, with all that it answered, or any turn. */
export interface HeldReply {
  /** The index of its turn. */
  readonly turn: number;
  /** The provider's id of it. */
  readonly id: string;
}

/**
 * A reference to a model. Two are the same if provider and account are equal, the models are equal except for
 * a date that one of them omits, and the protocols are equal if both name one.
 */
export interface ModelRef {
  readonly provider: string;
  readonly model: string;
  /** The wire protocol, such as `anthropic-messages`. */
  readonly api?: string;
  /** Encrypted state belongs to an account; absent if there is only one. */
  readonly account?: string;
}

/** The media that a target accepts: types such as `image/png`, or `image/*`. */
export interface TargetMedia {
  /** In user messages. */
  readonly user: readonly string[];
  /** In tool results. Media accepted only in user messages move after the results. */
  readonly toolResult: readonly string[];
  /** Accepted kinds of references in place of bytes. @default none */
  readonly references?: readonly ProviderReference["kind"][];
}

/** Further rules for every request. */
export interface TargetRules {
  /** The rule for ids of calls. @default letters, digits, `_` and `-`, at most 64 */
  readonly callId?: CallIdRule;
  /** The rule for names of tools. @default the same */
  readonly toolName?: ToolNameRule;
  /** Whether arguments must be an object. @default true */
  readonly objectArguments?: boolean;
  /** Whether the first turn must be the user's. @default true */
  readonly userFirst?: boolean;
  /** Whether the target refuses white space at the end of an assistant message. @default false */
  readonly trimsAssistant?: boolean;
  /** Whether the target refuses NUL in text. @default false */
  readonly refusesNul?: boolean;
  /**
   * `latest` for a target that keeps its own history: the request has only the user messages since the last
   * assistant message. @default the whole context
   */
  readonly history?: "latest";
  /**
   * Whether the target's own opaque blocks and signed reasoning are sent back. `current`: reasoning only in the
   * turn in which it was made. @default true
   */
  readonly takesReasoning?: boolean | "current";
  /**
   * Whether reasoning counts only after the same bytes as when it was made. A request then has that of the
   * replies whose request it repeats, as `AssistantMessage.prefix` records it, and of no others. Attachments
   * stay as they were first sent, and instructions that a session gives later stand where it gave them, since
   * each change would make reasoning invalid. @default false
   */
  readonly bindsReasoning?: boolean;
  /**
   * The changes of tools that a request tells at their place, for a target that binds reasoning, so that the declared
   * tools stay those before the first message: `all`, or `additions`, beside words about what was removed. @default
   * none: the tools that `projection.tools` has change
   */
  readonly toolChanges?: "all" | "additions";
  /**
   * Types of custom messages whose texts count until the user's next message, for a provider that clears them then,
   * or at a result. `render` gets them behind each result of the turn, with `turnOnly`. @default none: they are texts
   * like others
   */
  readonly turnOnly?: readonly string[];
  /**
   * How an own opaque block with media is sent back, such as an image that the model made: `always`, since the
   * provider requires its history; `replayed`, as the replay policy decides; `never`. A descriptor replaces a
   * block that is not sent. @default "always"
   */
  readonly opaqueMedia?: (data: unknown) => "always" | "replayed" | "never";
}

/** The format of call ids. */
export interface CallIdRule {
  /** An allowed character, such as `/[A-Za-z0-9_-]/`. Must allow at least two letters or digits. */
  readonly character: RegExp;
  /** In UTF-16 units. Minimum: 9, more if few letters and digits are allowed. */
  readonly maxLength: number;
  /** In UTF-16 units, at most `maxLength`. @default 1 */
  readonly minLength?: number;
  /** Extracts the call's own part of a stored id, such as the text before `|`. @default the whole id */
  readonly of?: (storedId: string) => string;
  /**
   * Whether ids of other models' calls are never sent, so that no loss is reported for them. @default false
   */
  readonly ownOnly?: boolean;
}

/** The format of tool names. Other characters become `_`. */
export interface ToolNameRule {
  /** Maximum length. @default 64 */
  readonly maxLength?: number;
  /** An allowed character. @default `/[A-Za-z0-9_-]/` */
  readonly character?: RegExp;
  /** An allowed first character; must allow `_`. @default any allowed character */
  readonly first?: RegExp;
}

/** The limits that a projection enforces. */
export interface TargetLimits {
  readonly profile: LimitProfile;
  /** One of the profile's transports. @default the first */
  readonly transport?: string;
  /** In tokens. If unknown, the limits for small context windows apply. */
  readonly contextWindow?: number;
  /** The model that rows distinguish. @default the target's */
  readonly model?: string;
}

/** Callbacks for {@link Target.render}. */
export interface RenderTools {
  /**
   * Records the part that a block of the value comes from, and returns the block, so that a refusal can be
   * traced. Used only in a second rendering, after a refusal.
   */
  trace<T extends object>(block: T, part: Part): T;
  /** Whether a cache marker belongs after this part. For targets with `maxCacheMarkers`. */
  endsCache(part: Part): boolean;
  /** Whether the API is to store nothing of the request: the value has a member for it, if the API has one. */
  readonly zeroRetention?: boolean;
  /** Reports a loss that only this target can detect, such as reasoning with an unsupported signature. */
  reportLoss(part: Part, loss: Pick<Loss, "code" | "by" | "reason" | "instead">): void;
}

// Compares the model of a message with that of a target, and the media of a server with those of a model.

/**
 * Whether a target can use a message's signatures: provider and account are equal, the requested models are
 * equal except for a date or an alias, and the protocols are equal if both name one.
 */
export function isOwn(message: AssistantMessage, model: ModelRef): boolean {
  return (
    message.provider === model.provider &&
    isSameModel(message.model, model.model) &&
    (model.api === undefined || !namesApi(message) || message.api === model.api) &&
    message.account === model.account
  );
}

/**
 * The models of a message: the requested one, and the answering one if its name differs; only the latter if
 * the requested one is unknown.
 */
export function modelNames(
  asked: string | undefined,
  answered: unknown,
): { readonly model: string; readonly responseModel?: string } {
  const own =
    typeof answered === "string" && answered !== "" && answered !== "unknown" ? answered : undefined;
  const model = asked ?? own ?? "unknown";
  return own === undefined || own === model ? { model } : { model, responseModel: own };
}

/**
 * The media of a server that a model reads. A model that reads no images, by the table of models, gets their
 * descriptions, and the next model has the images again. It reads no PDFs either, unless the provider reads
 * them for it. An unknown model gets all.
 */
export function mediaFor(model: string, provider: string, media: TargetMedia): TargetMedia {
  const { inputs } = modelFacts(model);
  if (inputs === undefined || inputs.includes("image")) return media;
  const hasFiles = readsFiles(provider);
  const isRead = (type: string) => !type.startsWith("image/") && (hasFiles || type !== "application/pdf");
  return { ...media, user: media.user.filter(isRead), toolResult: media.toolResult.filter(isRead) };
}

/** Messages without a known protocol have the api `unknown`. */
function namesApi({ api }: AssistantMessage): boolean {
  return api !== undefined && api !== "unknown";
}
