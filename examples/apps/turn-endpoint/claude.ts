import type Anthropic from "@anthropic-ai/sdk";
import { type AssistantMessage, type BlobStore, type Context, cacheConversation, project } from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { viewToolName } from "sessile/attachments";

/** Options of {@link claude}. */
export interface ClaudeOptions {
  readonly client: Anthropic;
  readonly model: string;
  /** The store of the attachments' bytes. */
  readonly blobs: Pick<BlobStore, "get">;
  readonly tools: readonly Anthropic.Tool[];
}

const maxTokens = 4096;

/** A model behind the official client: the context to a request, and the reply to a message. */
export function claude({ client, model, blobs, tools }: ClaudeOptions): Model {
  const target = anthropicMessages({ model });
  const invites = tools.some(({ name }) => name === viewToolName);
  return {
    async generate(context, { signal, onText }) {
      const options = { blobs, cache: cacheConversation, signal, viewTool: invites };
      const { value } = await project(context, target, options);
      const request = { model, max_tokens: maxTokens, tools: [...tools], ...value };
      if (onText === undefined)
        return readAnthropicReply(await client.messages.create(request, { signal }), { model });
      const stream = client.messages.stream(request, { signal }).on("text", (text) => onText(text));
      return readAnthropicReply(await stream.finalMessage(), { model });
    },
  };
}

/** Options of {@link Model.generate}. */
export interface GenerateOptions {
  readonly signal: AbortSignal;
  /** Called with each piece of text as it arrives, if the model streams. The message has the whole text. */
  readonly onText?: (text: string) => void;
}

/**
 * A language model, as an agent uses it. It turns a context into its provider's request, and the reply into a
 * message.
 */
export interface Model {
  /** The next assistant message. Rejects when the signal aborts. */
  generate(context: Context, options: GenerateOptions): Promise<AssistantMessage>;
}
