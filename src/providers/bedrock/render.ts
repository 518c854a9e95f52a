/** Renders a request for Converse. */

import { describe, unreachable } from "../../core/arguments.js";
import { decodeBase64 } from "../../core/base64.js";
import { copyJson, copyJsonObject, type Json } from "../../core/json.js";
import { DocumentNames } from "../media-part.js";
import { noOutputText, nothingShownText } from "../placeholders.js";
import type {
  AssistantPart,
  AssistantTurn,
  MediaPart,
  NeutralRequest,
  Part,
  ReasoningPart,
  ReferencePart,
  ResultPart,
  TextPart,
  UserPart,
  UserTurn,
} from "../request.js";
import { serverCalls } from "../server-calls.js";
import type { RenderTools } from "../target.js";
import { blockWords, opaqueBlock, readServerIds } from "./reply.js";

type ImageFormat = BedrockImage["image"]["format"];
type DocumentFormat = BedrockDocument["document"]["format"];

/**
 * Image formats.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html (stored copy,
 *   2026-11-21)
 */
const imageFormats: Readonly<Record<string, ImageFormat>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

/**
 * Office formats are left out: nothing here distinguishes such a file from any other archive.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html (stored copy,
 *   2026-11-21)
 */
const documentFormats: Readonly<Record<string, DocumentFormat>> = {
  "application/pdf": "pdf",
  "text/plain": "txt",
  "text/markdown": "md",
  "text/csv": "csv",
  "text/html": "html",
};

/** Media types that Converse accepts. */
export const acceptedTypes: readonly string[] = [
  ...Object.keys(imageFormats),
  ...Object.keys(documentFormats),
];

/** Media types that a family accepts in a tool result. */
export function acceptedResultTypes({ images, pdf, texts }: BedrockFamily["inResults"]): readonly string[] {
  return acceptedTypes.filter((type) => {
    if (type in imageFormats) return images;
    return type === "application/pdf" ? pdf : texts;
  });
}

/** The content that a family of models accepts in tool results and beside them. */
export interface BedrockFamily {
  /** A part of a model's id. */
  readonly pattern: RegExp;
  /** The media that a result may contain; other media follow the results. */
  readonly inResults: { readonly images: boolean; readonly pdf: boolean; readonly texts: boolean };
  /** The content that a message may have beside results; other content follows in a message of its own. */
  readonly besideResults: "all" | "noTextDocuments" | "nothing";
  /** A failed result holds text only. */
  readonly failedAsText: boolean;
  readonly evidence: "documented" | "measured" | "inferred";
  /** The day on which the source was read. */
  readonly asOf: string;
  readonly source: string;
}

/** Facts about a model beyond those of Converse itself. */
export interface BedrockModelFacts {
  readonly family: BedrockFamily;
  /** Cache points. */
  readonly caches: boolean;
  /**
   * The model is Claude, or assumed to be. Claude signs its reasoning, while other models refuse a signature.
   * It counts documents as images.
   */
  readonly isClaude: boolean;
}

/** Writes a request as Converse takes it. */
export function renderConverse(
  { system, turns }: NeutralRequest,
  { family, isClaude }: BedrockModelFacts,
  tools: RenderTools,
): BedrockRequest {
  const names = new DocumentNames();
  const stray = new Map<AssistantPart, string>(
    serverCalls(turns, readServerIds).stray.map(({ part, reason }) => [part, reason]),
  );
  const messages = turns.flatMap((turn) =>
    turn.role === "user"
      ? userMessages(turn, names, family, tools)
      : [assistantMessage(turn, { isClaude, stray }, tools)],
  );
  return system.length === 0 ? { messages } : { messages, system: systemBlocks(system, tools) };
}

function systemBlocks(system: readonly TextPart[], tools: RenderTools): BedrockSystemBlock[] {
  return system.flatMap((part): readonly BedrockSystemBlock[] => {
    const block = tools.trace({ text: part.text }, part);
    return tools.endsCache(part) ? [block, cachePoint()] : [block];
  });
}

/**
 * The messages of a user turn: one message, or the results, a short assistant message, and the content that
 * the family refuses beside results.
 */
function userMessages(
  turn: UserTurn,
  names: DocumentNames,
  family: BedrockFamily,
  tools: RenderTools,
): BedrockMessage[] {
  const { results } = turn;
  const moved: UserPart[] = [];
  const answers: BedrockBlock[] = [];
  for (const result of results) {
    put(answers, [toolResult(result, moved, names, family, tools)], result, tools);
  }
  const parts = [...moved, ...turn.parts];
  const refused = results.length === 0 ? -1 : parts.findIndex((part) => !isAcceptedBeside(part, family));
  if (refused === -1) return [userMessage(answers, parts, names, tools)];
  const [before, part] = [parts[refused - 1], parts[refused]];
  // The text that describes an attachment moves with it.
  const at = before?.type === "text" && isOfOneBlock(before, part) ? refused - 1 : refused;
  const rest = userMessage([], parts.slice(at), names, tools);
  // The same bytes as after a later text: the message of an attachment begins with a text.
  if (parts[at]?.type !== "text" && !isAttachedText(rest.content[0])) rest.content.unshift(attachedText());
  return [
    userMessage(answers, parts.slice(0, at), names, tools),
    { role: "assistant", content: [{ text: "[results received]" }] },
    rest,
  ];
}

function isOfOneBlock(a: UserPart, b: UserPart | undefined): boolean {
  return a.origin.item === b?.origin.item && a.origin.block === b.origin.block;
}

const attachedText = (): BedrockText => ({ text: "[attached:]" });
const isAttachedText = (block: BedrockBlock | undefined) =>
  block !== undefined && "text" in block && block.text === "[attached:]";

function isAcceptedBeside(part: UserPart, { besideResults }: BedrockFamily): boolean {
  if (besideResults !== "noTextDocuments") return besideResults === "all";
  return part.type === "text" || part.kind === "image" || part.mediaType === "application/pdf";
}

function userMessage(
  answers: readonly BedrockBlock[],
  parts: readonly UserPart[],
  names: DocumentNames,
  tools: RenderTools,
): BedrockMessage {
  const content: BedrockBlock[] = [...answers];
  for (const part of parts) put(content, userBlocks(part, names, tools), part, tools);
  // Converse refuses a document in a message without text.
  const bare = content.some((block) => "document" in block) && !content.some((block) => "text" in block);
  if (bare) content.splice(answers.length, 0, attachedText());
  return { role: "user", content: content.length > 0 ? content : [{ text: nothingShownText }] };
}

function toolResult(
  result: ResultPart,
  moved: UserPart[],
  names: DocumentNames,
  { failedAsText }: BedrockFamily,
  tools: RenderTools,
): BedrockBlock {
  const isText = failedAsText && result.isError;
  const content = result.parts.flatMap((part) => {
    if (!isText || part.type === "text") return userBlocks(part, names, tools);
    const text = "[shown after the results]";
    const reason = "the target accepts only text in a failed result";
    tools.reportLoss(part, { code: "moved", by: "target", reason, instead: text });
    moved.push({ type: "text", text: `[of the failed call of ${result.name}]`, origin: part.origin }, part);
    return [{ text }];
  });
  return tools.trace(
    {
      toolResult: {
        toolUseId: result.callId,
        content: content.length > 0 ? content : [{ text: noOutputText }],
        status: result.isError ? ("error" as const) : ("success" as const),
      },
    },
    result,
  );
}

/** Facts for the blocks of the model. */
interface ReplyFacts {
  readonly isClaude: boolean;
  /** Calls and results of the service itself that are not sent, with the reason. */
  readonly stray: ReadonlyMap<AssistantPart, string>;
}

function assistantMessage(turn: AssistantTurn, facts: ReplyFacts, tools: RenderTools): BedrockMessage {
  const content: BedrockBlock[] = [];
  for (const part of turn.parts) put(content, assistantBlocks(part, facts, tools), part, tools);
  return { role: "assistant", content };
}

function assistantBlocks(
  part: AssistantPart,
  { isClaude, stray }: ReplyFacts,
  tools: RenderTools,
): readonly BedrockBlock[] {
  switch (part.type) {
    case "text":
      return [tools.trace(textBlock(part), part)];
    case "reasoning":
      return reasoning(part, isClaude, tools);
    case "call": {
      const { id: toolUseId, name, arguments: input } = part;
      const rest = copyJsonObject(part.providerFields ?? {});
      return [tools.trace({ toolUse: { ...rest, toolUseId, name, input: copyJson(input) } }, part)];
    }
    case "opaque": {
      const block = stray.has(part) ? undefined : opaqueBlock(part.data);
      if (block !== undefined) return [tools.trace(block, part)];
      const reason = stray.get(part) ?? "Converse does not accept this block";
      tools.reportLoss(part, { code: "opaque", by: "history", reason, instead: unknownBlockText });
      return [tools.trace({ text: unknownBlockText }, part)];
    }
    default:
      return unreachable(part);
  }
}

/** The model's own block of these words, such as an answer with its citations; otherwise a text. */
function textBlock({ text, providerFields = {} }: TextPart): BedrockBlock {
  if (blockWords(providerFields) !== text) return { text };
  return opaqueBlock(providerFields) ?? { text };
}

function reasoning(part: ReasoningPart, isClaude: boolean, tools: RenderTools): readonly BedrockBlock[] {
  const { text, signature, redacted } = part;
  if (redacted) {
    const redactedContent = decodeBase64(signature);
    if (redactedContent !== undefined) {
      return [tools.trace({ reasoningContent: { redactedContent } }, part)];
    }
    tools.reportLoss(part, {
      code: "reasoning",
      by: "history",
      reason: "redacted reasoning that is no base64",
    });
    return [];
  }
  if (isClaude) {
    const reasoningText = { ...copyJsonObject(part.providerFields ?? {}), text, signature };
    return [tools.trace({ reasoningContent: { reasoningText } }, part)];
  }
  tools.reportLoss(part, {
    code: "reasoning",
    by: "target",
    reason: "this model refuses signed reasoning",
  });
  return [];
}

/**
 * A placeholder keeps the turn from being empty. An empty turn would need a filler, which a later block would
 * remove again.
 */
const unknownBlockText = "[a block that cannot be sent again]";

const cachePoint = () => ({ cachePoint: { type: "default" as const } });

/**
 * Appends a part's blocks to a message, and a cache point if the cached prefix ends here. Claude refuses a
 * cache point after a document other than PDF: it is placed before such a document, or left out at the start
 * of a message.
 *
 * @see https://github.com/strands-agents/harness-sdk/issues/1966 (stored copy, 2026-11-21)
 */
function put(content: BedrockBlock[], blocks: readonly BedrockBlock[], part: Part, tools: RenderTools): void {
  const at = content.length;
  for (const block of blocks) content.push(block);
  if (!tools.endsCache(part)) return;
  const last = blocks.at(-1);
  const behindText = last !== undefined && "document" in last && last.document.format !== "pdf";
  const place = behindText ? at : content.length;
  const before = content[place - 1];
  if (before !== undefined && !("cachePoint" in before)) content.splice(place, 0, cachePoint());
}

/** Renders a part of a message or a result. Empty for a file of zero bytes, which Converse refuses. */
function userBlocks(
  part: UserPart,
  names: DocumentNames,
  tools: RenderTools,
): readonly (BedrockText | BedrockImage | BedrockDocument)[] {
  switch (part.type) {
    case "text":
      return [tools.trace({ text: part.text }, part)];
    case "media":
      if (part.bytes.length > 0) return [tools.trace(medium(part, { bytes: part.bytes }, names), part)];
      tools.reportLoss(part, {
        code: "unsupported",
        by: "target",
        reason: "the target refuses empty files",
      });
      return [];
    case "reference":
      return [tools.trace(medium(part, { s3Location: { uri: s3Address(part) } }, names), part)];
    default:
      return unreachable(part);
  }
}

/**
 * Sends text files as bytes too: Converse refuses a text source without citations.
 *
 * @see https://github.com/strands-agents/harness-sdk/pull/3582 (stored copy, 2026-11-21)
 */
function medium(
  part: MediaPart | ReferencePart,
  source: BedrockSource,
  names: DocumentNames,
): BedrockImage | BedrockDocument {
  const image = imageFormats[part.mediaType];
  if (image !== undefined) return { image: { format: image, source } };
  const format = documentFormats[part.mediaType] ?? "txt";
  return { document: { name: names.nameFor(part), format, source } };
}

function s3Address({ reference }: ReferencePart): string {
  const address = reference.kind === "file" ? reference.id : reference.url;
  if (address.startsWith("s3://")) return address;
  throw new TypeError(`references: expected an S3 URI (s3://…), got ${describe(address)}`);
}

// Types of a Converse request, as far as a projection writes it. Each is assignable to its counterpart in
// `@aws-sdk/client-bedrock-runtime` without importing it. Values are mutable, as in that package.
//
// @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stored copy,
//   2026-11-21), and the types of `@aws-sdk/client-bedrock-runtime` 3.1162

/** The conversation, and the instructions if there are any. */
export interface BedrockRequest {
  messages: BedrockMessage[];
  system?: BedrockSystemBlock[];
}

/** One turn. */
interface BedrockMessage {
  role: "user" | "assistant";
  content: BedrockBlock[];
}

/** Instructions, or a cache point after them. */
type BedrockSystemBlock = BedrockText | BedrockCachePoint;

/** A block of a message. */
export type BedrockBlock =
  | BedrockText
  | BedrockImage
  | BedrockDocument
  | BedrockCachePoint
  | { toolUse: { toolUseId: string; name: string; input: Json } }
  | { toolResult: BedrockToolResult }
  | { reasoningContent: BedrockReasoning };

/** Text, never blank. */
interface BedrockText {
  text: string;
}

/** An image. */
interface BedrockImage {
  image: { format: "png" | "jpeg" | "gif" | "webp"; source: BedrockSource };
}

/** A document, with a name that is unique in the request. */
interface BedrockDocument {
  document: { name: string; format: "pdf" | "txt" | "md" | "csv" | "html"; source: BedrockSource };
}

/** Bytes, which the client encodes, or an S3 URI. */
type BedrockSource = { bytes: Uint8Array } | { s3Location: { uri: string } };

/** Up to here a prompt is to be cached. */
interface BedrockCachePoint {
  cachePoint: { type: "default" };
}

/** The answer to a call. */
interface BedrockToolResult {
  toolUseId: string;
  content: (BedrockText | BedrockImage | BedrockDocument)[];
  status: "success" | "error";
}

/** Reasoning, or redacted reasoning. */
type BedrockReasoning =
  | { reasoningText: { text: string; signature: string } }
  | { redactedContent: Uint8Array };
