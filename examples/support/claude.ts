import type Anthropic from "@anthropic-ai/sdk";
import type { BlobStore } from "sessile/blobs";
import { cacheConversation, project } from "sessile/projections";
import { anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";
import type { Model } from "./model.js";

/** What {@link claude} needs. */
export interface ClaudeOptions {
  readonly client: Anthropic;
  readonly model: string;
  /** Where the bytes of attachments are. */
  readonly blobs: Pick<BlobStore, "get">;
  readonly tools: readonly Anthropic.Tool[];
}

const maxTokens = 4096;

/** A model behind the official client: the context to a request, and the reply to a message. */
export function claude({ client, model, blobs, tools }: ClaudeOptions): Model {
  const target = anthropicMessages({ model });
  return {
    async generate(context, { signal, onText }) {
      const { value } = await project(context, target, { blobs, cache: cacheConversation, signal });
      const request = { model, max_tokens: maxTokens, tools: [...tools], ...value };
      if (onText === undefined) return readAnthropicReply(await client.messages.create(request, { signal }));
      const stream = client.messages.stream(request, { signal }).on("text", (text) => onText(text));
      return readAnthropicReply(await stream.finalMessage());
    },
  };
}
