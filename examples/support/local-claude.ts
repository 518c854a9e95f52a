import Anthropic from "@anthropic-ai/sdk";
import { type ClaudeOptions, claude } from "./claude.js";
import { type LocalProvider, startLocalProvider } from "./local-provider.js";
import type { Model } from "./model.js";

/** A model behind the official client, which speaks to a provider on this machine. */
export interface LocalClaude extends LocalProvider {
  readonly model: Model;
}

/** Starts the provider, and a client of it. */
export async function startLocalClaude(options: Omit<ClaudeOptions, "client">): Promise<LocalClaude> {
  const provider = await startLocalProvider();
  const client = new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 });
  return { ...provider, model: claude({ client, ...options }) };
}
