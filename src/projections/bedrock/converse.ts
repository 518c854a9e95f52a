import { stringArgument } from "../../internal/arguments.js";
import { decodeBase64 } from "../../internal/base64.js";
import { copyJson } from "../../internal/copy-json.js";
import { unreachable } from "../../internal/unreachable.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import { DocumentNames } from "../media-part.js";
import { noOutputText, nothingShownText } from "../placeholders.js";
import type {
  AssistantTurn,
  Part,
  ReasoningPart,
  ResultPart,
  SaidPart,
  ShownPart,
  TextPart,
  UserTurn,
} from "../request.js";
import type { RenderTools, Target } from "../target.js";
import { claudeLimits } from "./limits.js";
import { resultTypes, shownBlocks, takenTypes } from "./media.js";
import { type BedrockFamily, converseApi, modelFacts } from "./model.js";
import { opaqueBlock } from "./opaque.js";
import type {
  BedrockBlock,
  BedrockMessage,
  BedrockRequest,
  BedrockSystemBlock,
  BedrockText,
} from "./shapes.js";

/** Options of {@link bedrockConverse}. */
export interface BedrockConverseOptions {
  /** As in the request: a model's id, or an inference profile's. What the model takes goes by the name in it. */
  readonly model: string;
  /** The id of the model behind an ARN that does not name it. Default `model`. */
  readonly baseModel?: string;
  /** Whose signatures are the model's own: the provider of messages that it made. Default `amazon-bedrock`. */
  readonly provider?: string;
  /** Of those messages, where the harness has several accounts. */
  readonly account?: string;
  /** Default `limitProfiles.bedrockConverse`, for Claude with images and documents counted together as well. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to Amazon Bedrock's `Converse`: `messages`, and `system` where there are instructions.
 *
 * Results come first in their message, each with its status; images and documents stand within them or behind them, as the model's
 * family takes them, and in a message of their own behind a short one of the model if it takes them beside no result. Bytes go as they are. Documents have neutral names. Reasoning goes back with its signature, withheld
 * reasoning as it was. Cache points are for Claude. References are addresses in S3.
 *
 * A request with calls wants `toolConfig` beside the projection, even where no tool is to be called any more.
 *
 * @throws TypeError when `model` is no text, and from `project` when a reference is no address in S3.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html and
 *   https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use.html (stored copies, 2026-11-21)
 * @example
 * ```ts
 * import { ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
 *
 * const { value } = await project(await session.context(), bedrockConverse({ model }), { blobs });
 * const tools = [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }];
 * const command = new ConverseCommand({ modelId: model, ...value, toolConfig: { tools } });
 * const reply = await client.send(command);
 * ```
 */
export function bedrockConverse(options: BedrockConverseOptions): Target<BedrockRequest> {
  const model = stringArgument("model", options?.model);
  const { baseModel = model, provider = "amazon-bedrock", account } = options;
  const { family, caches, isClaude } = modelFacts(baseModel);
  const { profile = isClaude ? claudeLimits : limitProfiles.bedrockConverse } = options;
  return {
    name: "bedrock-converse",
    maker: { provider, model, api: converseApi, ...(account === undefined ? {} : { account }) },
    accepts: { user: takenTypes, toolResult: resultTypes(family.inResults), references: ["file", "url"] },
    rules: { trimsAssistant: true, ...(isClaude ? {} : { callId }) },
    limits: { profile },
    estimate: { image: "anthropic", pdf: "anthropic" },
    ...(caches ? { maxCacheMarkers: 4 } : {}),
    render({ system, turns }, tools) {
      const names = new DocumentNames();
      const messages = turns.flatMap((turn) =>
        turn.role === "user"
          ? userMessages(turn, names, family, tools)
          : [assistantMessage(turn, isClaude, tools)],
      );
      return system.length === 0 ? { messages } : { messages, system: systemBlocks(system, tools) };
    },
  };
}

function systemBlocks(system: readonly TextPart[], tools: RenderTools): BedrockSystemBlock[] {
  return system.flatMap((part): readonly BedrockSystemBlock[] => {
    const block = tools.mark({ text: part.text }, part);
    return tools.endsCache(part) ? [block, cachePoint()] : [block];
  });
}

/**
 * Ids of Kimi's calls, such as `functions.read:0`, go as they are. Claude behind the API takes Anthropic's own pattern.
 *
 * @see https://github.com/run-llama/llama_index/pull/22775 (stored copy, 2026-11-22): `[a-zA-Z0-9_.:-]+`, at most 64
 */
const callId = { character: /[A-Za-z0-9_.:-]/, maxLength: 64 };

/** The messages of a turn: one, or the results, a word of the model, and what its family takes beside no result. */
function userMessages(
  turn: UserTurn,
  names: DocumentNames,
  family: BedrockFamily,
  tools: RenderTools,
): BedrockMessage[] {
  const { results } = turn;
  const moved: ShownPart[] = [];
  const answers: BedrockBlock[] = [];
  for (const result of results) {
    put(answers, [toolResult(result, moved, names, family, tools)], result, tools);
  }
  const parts = [...moved, ...turn.parts];
  const refused = results.length === 0 ? -1 : parts.findIndex((part) => !isTakenBeside(part, family));
  if (refused === -1) return [userMessage(answers, parts, names, tools)];
  const [before, part] = [parts[refused - 1], parts[refused]];
  // The words about an attachment go with it.
  const at = before?.type === "text" && isOfOneBlock(before, part) ? refused - 1 : refused;
  const rest = userMessage([], parts.slice(at), names, tools);
  // As it will be when a text is said behind it.
  if (parts[at]?.type !== "text" && !isAttachedText(rest.content[0])) rest.content.unshift(attachedText());
  return [
    userMessage(answers, parts.slice(0, at), names, tools),
    { role: "assistant", content: [{ text: "[results received]" }] },
    rest,
  ];
}

function isOfOneBlock(a: ShownPart, b: ShownPart | undefined): boolean {
  return a.origin.item === b?.origin.item && a.origin.block === b.origin.block;
}

const attachedText = (): BedrockText => ({ text: "[attached:]" });
const isAttachedText = (block: BedrockBlock | undefined) =>
  block !== undefined && "text" in block && block.text === "[attached:]";

function isTakenBeside(part: ShownPart, { besideResults }: BedrockFamily): boolean {
  if (besideResults !== "noTextDocuments") return besideResults === "all";
  return part.type === "text" || part.kind === "image" || part.mediaType === "application/pdf";
}

function userMessage(
  answers: readonly BedrockBlock[],
  parts: readonly ShownPart[],
  names: DocumentNames,
  tools: RenderTools,
): BedrockMessage {
  const content: BedrockBlock[] = [...answers];
  for (const part of parts) put(content, shownBlocks(part, names, tools), part, tools);
  // A document is refused where no text stands in its message.
  const bare = content.some((block) => "document" in block) && !content.some((block) => "text" in block);
  if (bare) content.splice(answers.length, 0, attachedText());
  return { role: "user", content: content.length > 0 ? content : [{ text: nothingShownText }] };
}

function toolResult(
  result: ResultPart,
  moved: ShownPart[],
  names: DocumentNames,
  { failedAsText }: BedrockFamily,
  tools: RenderTools,
): BedrockBlock {
  const isText = failedAsText && result.isError;
  const content = result.parts.flatMap((part) => {
    if (!isText || part.type === "text") return shownBlocks(part, names, tools);
    const text = "[shown after the results]";
    const reason = "the target takes text only in the result of a call that failed";
    tools.lose(part, { code: "moved", by: "target", reason, instead: text });
    moved.push({ type: "text", text: `[of the failed call of ${result.name}]`, origin: part.origin }, part);
    return [{ text }];
  });
  return tools.mark(
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

function assistantMessage(turn: AssistantTurn, isClaude: boolean, tools: RenderTools): BedrockMessage {
  const content: BedrockBlock[] = [];
  for (const part of turn.parts) put(content, saidBlocks(part, isClaude, tools), part, tools);
  return { role: "assistant", content };
}

function saidBlocks(part: SaidPart, isClaude: boolean, tools: RenderTools): readonly BedrockBlock[] {
  switch (part.type) {
    case "text":
      return [tools.mark({ text: part.text }, part)];
    case "reasoning":
      return reasoning(part, isClaude, tools);
    case "call": {
      const { id: toolUseId, name, arguments: input } = part;
      return [tools.mark({ toolUse: { toolUseId, name, input: copyJson(input) } }, part)];
    }
    case "opaque": {
      const block = opaqueBlock(part.data);
      if (block !== undefined) return [tools.mark(block, part)];
      const reason = "a block that Converse does not know";
      tools.lose(part, { code: "opaque", by: "history", reason, instead: unknownBlockText });
      return [tools.mark({ text: unknownBlockText }, part)];
    }
    default:
      return unreachable(part);
  }
}

function reasoning(part: ReasoningPart, isClaude: boolean, tools: RenderTools): readonly BedrockBlock[] {
  const { text, signature, redacted } = part;
  if (redacted) {
    const redactedContent = decodeBase64(signature);
    if (redactedContent !== undefined) {
      return [tools.mark({ reasoningContent: { redactedContent } }, part)];
    }
    tools.lose(part, { code: "reasoning", by: "history", reason: "withheld reasoning that is no base64" });
    return [];
  }
  if (isClaude) return [tools.mark({ reasoningContent: { reasoningText: { text, signature } } }, part)];
  tools.lose(part, {
    code: "reasoning",
    by: "target",
    reason: "reasoning with a signature, which this model takes none of",
  });
  return [];
}

/** In its place rather than nothing, since a turn with nothing in it would have to be filled, until something followed. */
const unknownBlockText = "[a block that cannot be sent again]";

const cachePoint = () => ({ cachePoint: { type: "default" as const } });

/**
 * Puts a part's blocks into a message, and a cache point behind them where one belongs; before them where the last is a document
 * other than PDF, behind which Claude takes none, and nowhere where nothing would be before it.
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
