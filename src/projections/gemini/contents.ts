import { stringArgument } from "../../internal/arguments.js";
import { isRecord } from "../../internal/shape.js";
import { unreachable } from "../../internal/unreachable.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import type { RenderTools, Target } from "../target.js";
import type { AssistantTurn, CallPart, MediaPart, ReferencePart, ShownPart, UserTurn } from "../turns.js";
import { isMadeCallId } from "./call-id.js";
import { geminiVersion, signingVersion } from "./model.js";
import { functionResponse } from "./response.js";
import type { GeminiContent, GeminiPart, GeminiRequest } from "./shapes.js";

/** Options of {@link geminiContents}. */
export interface GeminiContentsOptions {
  /** As in the request, such as `gemini-3-pro-preview`; what the model takes goes by the version in it. */
  readonly model: string;
  /** Whose signatures are the model's own: the provider of messages that it made. Default `google`. */
  readonly provider?: string;
  /** Of those messages, where the harness has several accounts. */
  readonly account?: string;
  /** Default `limitProfiles.gemini`. */
  readonly profile?: LimitProfile;
}

/** In place of a signature that there never was: `skip_thought_signature_validator` is taken by Vertex AI too. */
const dummySignature = "skip_thought_signature_validator";

const pictures = ["image/png", "image/jpeg", "image/webp"];
const documents = ["application/pdf", "text/*"];

/**
 * Projects to the Gemini API's `generateContent`: `contents`, and a `systemInstruction` where there are instructions.
 *
 * Function responses stand in a content of their own, as many as the calls and in their order; what the user says comes in the
 * next. Ids go back where Gemini gave them, and signatures where it put them, but for those that are no base64. The calls of
 * other models get what Google documents for a history without signatures, from Gemini 3 on. Images and documents are inline,
 * those of a tool's result within the response from Gemini 3 on and behind it before; text documents go as `text/plain`.
 * References are `fileData`, always in the user's content.
 *
 * @throws TypeError when `model` is no text.
 * @see https://ai.google.dev/gemini-api/docs/function-calling, https://ai.google.dev/gemini-api/docs/thought-signatures and
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
  const { provider = "google", account, profile = limitProfiles.gemini } = options;
  const signs = geminiVersion(model) >= signingVersion;
  return {
    name: "gemini-contents",
    maker: { provider, model, ...(account === undefined ? {} : { account }) },
    accepts: {
      user: [...pictures, "image/heic", "image/heif", ...documents],
      toolResult: signs ? [...pictures, ...documents] : [],
      references: ["file", "url"],
    },
    // Ids of other makers are not sent at all, so there is nothing to shorten.
    rules: { callId: { character: /[\s\S]/u, maxLength: 1024 } },
    limits: { profile },
    estimate: { image: signs ? "gemini3" : "gemini2", pdf: "gemini" },
    render({ system, turns }, tools) {
      const ids = new Set<string>();
      const contents = turns.flatMap((turn) =>
        turn.role === "user" ? userContents(turn, ids, tools) : [modelContent(turn, signs, ids, tools)],
      );
      if (system.length === 0) return { contents };
      const parts = system.map((part) => tools.mark({ text: part.text }, part));
      return { contents, systemInstruction: { parts } };
    },
  };
}

/** The responses in a content, and all else in the next: a model refuses responses that anything stands beside. */
function userContents(
  turn: UserTurn,
  ids: ReadonlySet<string>,
  tools: RenderTools,
): readonly GeminiContent[] {
  const responses = turn.results.map((result) => functionResponse(result, ids, tools));
  const files = turn.results.flatMap(({ name, parts }) =>
    parts.flatMap((part) =>
      part.type === "reference" ? [{ text: `[from the result of ${name}]` }, shown(part, tools)] : [],
    ),
  );
  const parts = [...files, ...turn.parts.map((part) => shown(part, tools))];
  return [responses, parts].filter(({ length }) => length > 0).map((all) => ({ role: "user", parts: all }));
}

function shown(part: ShownPart, tools: RenderTools): GeminiPart {
  switch (part.type) {
    case "text":
      return tools.mark({ text: part.text }, part);
    case "media":
      return tools.mark({ inlineData: { mimeType: typeOf(part), data: part.base64 } }, part);
    case "reference": {
      const { reference } = part;
      const fileUri = reference.kind === "file" ? reference.id : reference.url;
      return tools.mark({ fileData: { fileUri, mimeType: typeOf(part) } }, part);
    }
    default:
      return unreachable(part);
  }
}

/** All that is text is one type to Gemini: it reads other documents than PDF as text, and knows but some of their types. */
export function typeOf({ mediaType }: MediaPart | ReferencePart): string {
  return mediaType.startsWith("text/") ? "text/plain" : mediaType;
}

function modelContent(
  turn: AssistantTurn,
  signs: boolean,
  ids: Set<string>,
  tools: RenderTools,
): GeminiContent {
  const first = turn.parts.find(({ type }) => type === "call");
  const parts = turn.parts.flatMap((part): GeminiPart[] => {
    switch (part.type) {
      case "text":
        return [tools.mark({ text: part.text, ...signed(part.signature) }, part)];
      case "reasoning":
        return [tools.mark({ text: part.text, thought: true, ...signed(part.signature) }, part)];
      case "call":
        return [tools.mark(functionCall(part, signs && part === first, ids), part)];
      case "opaque":
        return isPart(part.data) ? [tools.mark({ ...part.data }, part)] : [];
      default:
        return unreachable(part);
    }
  });
  return { role: "model", parts };
}

function functionCall(part: CallPart, wantsSignature: boolean, ids: Set<string>): GeminiPart {
  const { id, storedId, name, own } = part;
  const named = own && !isMadeCallId(storedId, name);
  if (named) ids.add(id);
  const signature = signed(part.signature);
  return {
    functionCall: {
      ...(named ? { id } : {}),
      name,
      args: isRecord(part.arguments) ? { ...part.arguments } : {},
    },
    ...signature,
    ...(wantsSignature && signature.thoughtSignature === undefined
      ? { thoughtSignature: dummySignature }
      : {}),
  };
}

/** What is no base64 is refused before any model sees it, and no signature then. */
function signed(signature: string | undefined): { thoughtSignature?: string } {
  const sound =
    signature !== undefined && /^[A-Za-z0-9+/_-]+={0,2}$/.test(signature) && signature.length % 4 !== 1;
  return sound ? { thoughtSignature: signature } : {};
}

/** A part that only Gemini understands, as `readGeminiReply` keeps it. */
function isPart(data: unknown): data is GeminiPart {
  return isRecord(data) && Object.keys(data).length > 0;
}
