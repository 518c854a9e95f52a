/** A context as a provider would get it: the body of the request, its losses, and its size. */

import { isResource } from "../../content/index.js";
import { withMedia } from "../../content/internal.js";
import { decodeBase64 } from "../../core/base64.js";
import { isRecord } from "../../core/shape.js";
import { aiSdkMessages } from "../../frameworks/ai-sdk/index.js";
import { anthropicMessages } from "../../providers/anthropic/index.js";
import { bedrockConverse } from "../../providers/bedrock/index.js";
import { prefixText } from "../../providers/cost/internal.js";
import { geminiContents, geminiInteractions } from "../../providers/gemini/index.js";
import { type Loss, type Projection, project, type Target, toBody } from "../../providers/index.js";
import { toolsAsRecorded } from "../../providers/internal.js";
import { openaiChat, openaiResponses } from "../../providers/openai/index.js";
import type { LeftOutImage, PageImage } from "../page-data.js";
import type { SeenContext } from "./rows.js";

/** A provider's interface, and the model for sessions that used none of its. */
interface SentTarget {
  readonly title: string;
  /** As messages name it. */
  readonly provider: string;
  readonly model: string;
  make(model: string): Target<object>;
}

/** A target of the page. */
export type SentTargetName =
  | "anthropic"
  | "responses"
  | "chat"
  | "gemini"
  | "interactions"
  | "bedrock"
  | "aiSdk";

export const sentTargets: Readonly<Record<SentTargetName, SentTarget>> = {
  anthropic: {
    title: "Anthropic Messages",
    provider: "anthropic",
    model: "claude-opus-5-5",
    make: (model) => anthropicMessages({ model }),
  },
  responses: {
    title: "OpenAI Responses",
    provider: "openai",
    model: "gpt-5.6",
    make: (model) => openaiResponses({ model }),
  },
  chat: {
    title: "OpenAI Chat Completions",
    provider: "openai",
    model: "gpt-5.6",
    make: (model) => openaiChat({ model }),
  },
  gemini: {
    title: "Gemini generateContent",
    provider: "google",
    model: "gemini-3-pro-preview",
    make: (model) => geminiContents({ model }),
  },
  interactions: {
    title: "Gemini Interactions",
    provider: "google",
    model: "gemini-3.8-flash",
    make: (model) => geminiInteractions({ model }),
  },
  bedrock: {
    title: "Bedrock Converse",
    provider: "amazon-bedrock",
    model: "anthropic.claude-opus-5-5",
    make: (model) => bedrockConverse({ model }),
  },
  aiSdk: {
    title: "AI SDK messages",
    provider: "anthropic",
    model: "claude-opus-5-5",
    make: (modelId) => aiSdkMessages({ model: { provider: "anthropic", modelId } }),
  },
};

/** The model of a request: the one in force if it is the target's, else the target's default. */
export function modelFor(target: SentTargetName, model: SeenContext["context"]["model"]): string {
  const { provider, model: fallback } = sentTargets[target];
  return model?.provider === provider ? model.modelId : fallback;
}

/** A request, with its report. */
export interface SentRequest {
  /** JSON with indentation, and with base64 shortened. */
  readonly body: string;
  /** Bytes of the body as sent. */
  readonly bytes: number;
  readonly losses: readonly Loss[];
  readonly byPolicy: readonly Loss[];
  readonly warnings: Projection<object>["warnings"];
  readonly attachments: Projection<object>["attachments"];
  readonly usage: Projection<object>["usage"];
  /** Whether it repeats what the model answered, in words. */
  readonly prefix: string;
  /** Images of the context that are not in the page, so that the body lacks them. */
  readonly absent: number;
}

/** Projects a context with the images of the page. */
export async function sentRequest(
  seen: SeenContext,
  target: SentTargetName,
  model: string,
  images: { get(key: string): PageImage | undefined; readonly leftOut: readonly LeftOutImage[] },
): Promise<SentRequest> {
  const context = withImages(seen, images);
  const projection = await project(context, sentTargets[target].make(model), {
    blobs: { get: async (ref) => imageBytes(images.get(ref)) },
    tools: toolsAsRecorded,
  });
  const body = toBody(projection, { model });
  const leftOut = new Set(images.leftOut.map(({ key }) => key));
  const { losses, byPolicy, warnings, attachments, usage } = projection;
  return {
    body: shortBody({ model, ...projection.value }),
    bytes: body.size,
    ...{ losses, byPolicy, warnings, attachments, usage },
    prefix: prefixText(projection.prefix, model),
    absent: keysIn(seen).filter((key) => leftOut.has(key)).length,
  };
}

/** The context with the data of its inline images, which the page keeps apart. */
function withImages(
  { context }: SeenContext,
  images: { get(key: string): PageImage | undefined },
): SeenContext["context"] {
  const restore = (block: unknown): unknown => {
    const [key] = inlineKeys(block);
    if (key === undefined) return block;
    const { type, data } = block as { readonly type?: unknown; readonly data?: unknown };
    const base64 = images.get(key)?.base64 ?? "";
    const whole = type === "opaque" ? withMedia(data, (id) => images.get(id)?.base64) : base64;
    return { ...(block as object), data: whole ?? data };
  };
  const items = context.items.map((item) => {
    const { message } = item;
    if (!("content" in message) || typeof message.content === "string") return item;
    const blocks: readonly unknown[] = message.content;
    if (!blocks.some((block) => inlineKeys(block).length > 0)) return item;
    return { ...item, message: { ...message, content: blocks.map(restore) } as typeof message };
  });
  return { ...context, items };
}

/** The keys of the inline images of a block, which the page keeps apart. */
function inlineKeys(block: unknown): readonly string[] {
  if (!isRecord(block)) return [];
  if (Array.isArray(block.viewerMedia)) return block.viewerMedia.flatMap((each) => inlineKeys(each));
  return typeof block.viewerKey === "string" ? [block.viewerKey] : [];
}

/** The keys of all images in a context. */
function keysIn({ items }: SeenContext): readonly string[] {
  return items.flatMap(({ message }) => {
    const blocks: readonly unknown[] =
      "content" in message && typeof message.content !== "string" ? message.content : [];
    return blocks.flatMap((block) => {
      const { resource, resources } = isRecord(block) ? block : {};
      const named: readonly unknown[] = Array.isArray(resources) ? resources : [resource];
      const keys = named.flatMap((each) => (isResource(each) && each.kind === "image" ? [each.blob] : []));
      return [...keys, ...inlineKeys(block)];
    });
  });
}

function imageBytes(image: PageImage | undefined): Uint8Array | undefined {
  return image === undefined ? undefined : decodeBase64(image.base64);
}

const longestData = 200;

/** JSON for people: long base64 and bytes are replaced by their size. */
function shortBody(value: object): string {
  return JSON.stringify(
    value,
    (_key, part: unknown) => {
      if (part instanceof Uint8Array) return `[${part.length} bytes]`;
      if (typeof part !== "string" || part.length <= longestData) return part;
      const data = /^(data:[^,]{0,100};base64,)?[A-Za-z0-9+/]{200}/.exec(part);
      return data === null || /[^A-Za-z0-9+/=]/.test(part.slice(data[1]?.length ?? 0))
        ? part
        : `${data[1] ?? ""}[${Math.floor((part.length * 3) / 4)} bytes]`;
    },
    2,
  );
}
