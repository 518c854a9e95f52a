import type Anthropic from "@anthropic-ai/sdk";
import { viewToolName } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import type { AssistantMessage, Context, ReplayPolicy } from "sessile/content";
import { cacheConversation, type Loss, project } from "sessile/projections";
import { anthropicMessages, readAnthropicReply } from "sessile/projections/anthropic";

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

/** Options of {@link Model.generate}. */
export interface GenerateOptions {
  readonly signal: AbortSignal;
  /** Called with each piece of text as it comes, by a model that can tell; all of them are in the message again. */
  readonly onText?: (text: string) => void;
}

/**
 * What an agent needs of a language model. A real one turns the context into its provider's request and the reply back
 * into a message; the loop around it stays the same.
 */
export interface Model {
  /** The next assistant message. Rejects when the signal aborts. */
  generate(context: Context, options: GenerateOptions): Promise<AssistantMessage>;
}
