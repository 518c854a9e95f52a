import type Anthropic from "@anthropic-ai/sdk";
import { viewToolName } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import type { ReplayPolicy } from "sessile/content";
import { cacheConversation, type Loss, project } from "sessile/projections";
import { anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";
import type { Model } from "./model.js";

/** What {@link claude} needs. */
export interface ClaudeOptions {
  readonly client: Anthropic;
  readonly model: string;
  /** Where the bytes of attachments are. */
  readonly blobs: Pick<BlobStore, "get">;
  readonly tools: readonly Anthropic.Tool[];
  /** Which attachments of earlier turns go out again. Default none. */
  readonly replay?: ReplayPolicy;
  /** Told of what a request lacks that the session has, such as an image whose bytes are gone. */
  readonly onLosses?: (losses: readonly Loss[]) => void;
}

const maxTokens = 4096;

/** A model behind the official client: the context to a request, and the reply to a message. */
export function claude({ client, model, blobs, tools, replay, onLosses }: ClaudeOptions): Model {
  const target = anthropicMessages({ model });
  const invites = tools.some(({ name }) => name === viewToolName);
  return {
    async generate(context, { signal, onText }) {
      const options = {
        blobs,
        cache: cacheConversation,
        signal,
        viewTool: invites,
        ...(replay && { replay }),
      };
      const { value, losses } = await project(context, target, options);
      if (losses.length > 0) onLosses?.(losses);
      const request = { model, max_tokens: maxTokens, tools: [...tools], ...value };
      if (onText === undefined)
        return readAnthropicReply(await client.messages.create(request, { signal }), { model });
      const stream = client.messages.stream(request, { signal }).on("text", (text) => onText(text));
      return readAnthropicReply(await stream.finalMessage(), { model });
    },
  };
}
