import type { AssistantMessage, Context } from "sessile/content";

/**
 * What an agent needs of a language model. A real one turns the context into its provider's request and the reply back
 * into a message; the loop around it stays the same.
 */
export interface Model {
  /** The next assistant message. Rejects when the signal aborts. */
  generate(context: Context, options: { readonly signal: AbortSignal }): Promise<AssistantMessage>;
}
