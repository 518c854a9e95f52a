import type { AssistantMessage, Context } from "sessile/content";

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
