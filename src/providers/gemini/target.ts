/** The target of the Gemini API. */

import type { LimitProfile } from "../../content/limits/index.js";
import { gemini as geminiLimits } from "../../content/limits/internal.js";
import { stringArgument, unreachable } from "../../core/arguments.js";
import { copyJsonObject } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { modelFacts } from "../models/internal.js";
import type { AssistantTurn, CallPart, ReasoningPart, TextPart, UserPart, UserTurn } from "../request.js";
import { mediaFor, type RenderTools, type Target } from "../target.js";
import {
  dummySignature,
  functionResponse,
  type GeminiContent,
  type GeminiPart,
  type GeminiRequest,
  geminiApi,
  inlineData,
  isSigning,
  ownPart,
  type SignedPart,
  sentType,
  soundSignature,
  transcribed,
} from "./shapes.js";

/** Options of {@link geminiContents}. */
export interface GeminiContentsOptions {
  /**
   * The model of the request, such as `gemini-3-pro-preview`. The version in its name selects its features.
   */
  readonly model: string;
  /**
   * The provider, as messages of the session name it. Signatures are sent back only to the same provider.
   * Default `google`.
   */
  readonly provider?: string;
  /** The account, if the harness has several. */
  readonly account?: string;
  /** Default `limitProfiles.gemini`. */
  readonly profile?: LimitProfile;
}

/**
 * A placeholder keeps the turn from being empty. An empty turn would need a filler, which a later part would
 * remove again.
 */
const unknownPartText = "[a part that cannot be sent again]";

const pictures = ["image/png", "image/jpeg", "image/webp"];
const documents = ["application/pdf", "text/*"];

/**
 * Projects to the Gemini API's `generateContent`: `contents`, and a `systemInstruction` if there are
 * instructions.
 *
 * Function responses have a content of their own, as many as the calls and in their order; the user's parts
 * follow in the next. Ids and signatures are sent back if Gemini made them; a signature that is no base64 is
 * left out. From Gemini 3 on the first call of another model gets the signature that Google documents for a
 * history without signatures.
 *
 * Images and documents are inline. Those of a tool's result are part of the response from Gemini 3 on, and
 * follow it for older models. Text documents are sent as `text/plain`. References are `fileData`, always in
 * the user's content.
 *
 * @throws TypeError if `model` is no string.
 * @see https://ai.google.dev/gemini-api/docs/function-calling,
 *   https://ai.google.dev/gemini-api/docs/thought-signatures and
 *   https://ai.google.dev/gemini-api/docs/image-understanding (stored copies, 2026-11-21)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiContents({ model }), { blobs });
 * const { contents, systemInstruction } = value;
 * const config = systemInstruction === undefined ? {} : { systemInstruction };
 * const reply = await client.models.generateContent({ model, contents, config });
 * ```
 */
export function geminiContents(options: GeminiContentsOptions): Target<GeminiRequest> {
  const model = stringArgument("model", options?.model);
  const { provider = "google", account, profile = geminiLimits } = options;
  const signs = isSigning(model);
  return {
    name: "gemini-contents",
    model: { provider, model, api: geminiApi(provider), ...(account === undefined ? {} : { account }) },
    accepts: mediaFor(model, provider, {
      user: [...pictures, "image/heic", "image/heif", ...documents],
      toolResult: signs ? [...pictures, ...documents] : [],
      references: ["file", "url"],
    }),
    rules: {
      callId: { character: /[\s\S]/u, maxLength: 1024, ownOnly: true },
      toolName: { character: /[\w.:-]/, first: /[A-Za-z_]/ },
      opaqueMedia,
    },
    limits: { profile },
    embedsBase64: true,
    estimate: { image: modelFacts(model).image ?? "gemini3", pdf: "gemini" },
    render({ system, turns }, tools) {
      const ids = new Set<string>();
      const contents = turns.flatMap((turn) =>
        turn.role === "user" ? userContents(turn, ids, tools) : [modelContent(turn, signs, ids, tools)],
      );
      if (system.length === 0) return { contents };
      const parts = system.map((part) => tools.trace({ text: part.text }, part));
      return { contents, systemInstruction: { parts } };
    },
  };
}

/**
 * Function responses in one content, all other parts in the next: a model refuses other parts beside
 * responses.
 */
function userContents(
  turn: UserTurn,
  ids: ReadonlySet<string>,
  tools: RenderTools,
): readonly GeminiContent[] {
  const responses = turn.results.map((result) => functionResponse(result, ids, tools));
  const files = turn.results.flatMap(({ name, parts }) =>
    parts.flatMap((part) =>
      part.type === "reference" ? [{ text: `[from the result of ${name}]` }, ...userParts(part, tools)] : [],
    ),
  );
  const parts = [...files, ...turn.parts.flatMap((part) => userParts(part, tools))];
  return [responses, parts].filter(({ length }) => length > 0).map((all) => ({ role: "user", parts: all }));
}

function userParts(part: UserPart, tools: RenderTools): readonly GeminiPart[] {
  switch (part.type) {
    case "text":
      return [tools.trace({ text: part.text }, part)];
    case "media":
      return inlineData(part, tools);
    case "reference": {
      const { reference } = part;
      const fileUri = reference.kind === "file" ? reference.id : reference.url;
      return [tools.trace({ fileData: { fileUri, mimeType: sentType(part) } }, part)];
    }
    default:
      return unreachable(part);
  }
}

function modelContent(
  turn: AssistantTurn,
  signs: boolean,
  ids: Set<string>,
  tools: RenderTools,
): GeminiContent {
  const first = turn.parts.find(({ type }) => type === "call");
  const parts = turn.parts.flatMap((part): readonly GeminiPart[] => {
    switch (part.type) {
      case "text":
        return [tools.trace({ ...textPart(part), ...signed(part, tools) }, part)];
      case "reasoning": {
        const signature = signed(part, tools);
        return signature.thoughtSignature === undefined
          ? []
          : [tools.trace({ ...textPart(part), thought: true, ...signature }, part)];
      }
      case "call":
        return [tools.trace(functionCall(part, signs && part === first, ids, tools), part)];
      case "opaque": {
        const own = ownPart(part.data);
        if (own !== undefined) return [tools.trace(own, part)];
        const reason = "Gemini's API does not accept this part";
        tools.reportLoss(part, { code: "opaque", by: "history", reason, instead: unknownPartText });
        return [tools.trace({ text: unknownPartText }, part)];
      }
      default:
        return unreachable(part);
    }
  });
  return { role: "model", parts };
}

/** A text, or the model's own part with these words, such as a transcription. */
function textPart({ text, providerFields }: TextPart | ReasoningPart): GeminiPart {
  if (providerFields === undefined) return { text };
  const fields = copyJsonObject(providerFields);
  const words = transcribed(fields);
  if (words === text) return fields;
  const { audioTranscription: _, ...rest } = fields;
  return { ...rest, text };
}

function functionCall(
  part: CallPart,
  wantsSignature: boolean,
  ids: Set<string>,
  tools: RenderTools,
): GeminiPart {
  const { id, storedId, name, own } = part;
  const named = own && !isGeneratedCallId(storedId, name);
  if (named) ids.add(id);
  const signature = signed(part, tools);
  const { functionCall: ofCall, ...rest } = copyJsonObject(part.providerFields ?? {});
  return {
    ...rest,
    functionCall: {
      ...(isRecord(ofCall) ? ofCall : {}),
      ...(named ? { id } : {}),
      name,
      args: isRecord(part.arguments) ? copyJsonObject(part.arguments) : {},
    },
    ...signature,
    ...(wantsSignature && signature.thoughtSignature === undefined
      ? { thoughtSignature: dummySignature }
      : {}),
  };
}

/**
 * An image with a signature goes back in every turn: Gemini 3 refuses a history of images without them. One
 * of an older model has none.
 *
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures and
 *   https://blog.laozhang.ai/en/posts/nano-banana-2-thought-signature-error (stored copies, 2026-11-28)
 */
function opaqueMedia(data: unknown): "always" | "replayed" | "never" {
  if (ownPart(data) === undefined) return "never";
  const isPlain = isRecord(data) && "inlineData" in data && typeof data.thoughtSignature !== "string";
  return isPlain ? "replayed" : "always";
}

function signed(part: SignedPart, tools: RenderTools): { readonly thoughtSignature?: string } {
  const signature = soundSignature(part, tools);
  return signature === undefined ? {} : { thoughtSignature: signature };
}

const prefix = "gemini_noid_";
const maxTagLength = 32;

/**
 * A deterministic id for a call without one, so that its result can refer to it. It is not sent back.
 *
 * @param tag identifies the response
 * @param index of the call in the response
 */
export function generatedCallId(tag: string, index: number): string {
  const safe = tag.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, maxTagLength);
  return `${prefix}${safe}_${index}`;
}

/**
 * Whether an id is not Gemini's: made by {@link generatedCallId}, or by pi from the name, the time and a count.
 */
export function isGeneratedCallId(id: string, name: string): boolean {
  if (id.startsWith(prefix)) return true;
  return id.startsWith(`${name}_`) && /^\d{13}_\d{1,9}$/.test(id.slice(name.length + 1));
}
