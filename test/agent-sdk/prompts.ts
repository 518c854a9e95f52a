/**
 * What we give to the Claude Agent SDK, assigned to its own types without a cast: read by the type checker alone (a step
 * of scripts/check.mjs), and never run, since that would want the SDK's program and an account.
 */
import { query, type SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";
import { type Context, project } from "sessile";
import {
  type AgentUserMessage,
  type AttachmentContentBlock,
  claudeAgentMessages,
  resolveAttachmentsToContentBlocks,
  selectPromptMode,
} from "sessile/claude-agent";

type QueryPrompt = Parameters<typeof query>[0]["prompt"];

/** As a server does it. */
export async function answer(message: string, attachments: readonly string[]): Promise<void> {
  const resolved = await resolveAttachmentsToContentBlocks(message, attachments);
  const prompt: QueryPrompt = selectPromptMode(message, resolved, { sessionId: "s1" });
  for await (const event of query({ prompt })) console.log(event.type);
}

/** A session's turn. */
export async function* turnOf(context: Context): AsyncGenerator<SDKUserMessage> {
  const { value } = await project(context, claudeAgentMessages({ sessionId: "s1" }));
  const messages: SDKUserMessage[] = value;
  yield* messages;
}

export const asMessage = (message: AgentUserMessage): SDKUserMessage => message;

export const asContent = (blocks: AttachmentContentBlock[]): SDKUserMessage["message"]["content"] => blocks;

/** Were the SDK's types not found they would be `any`, and everything above would pass: these must not. */
export const wrong: readonly SDKUserMessage[] = [
  // @ts-expect-error there is no such block
  { type: "user", message: { role: "user", content: [{ type: "picture" }] }, parent_tool_use_id: null },
  // @ts-expect-error an image has no such type
  { type: "user", message: { role: "user", content: [image("image/tiff")] }, parent_tool_use_id: null },
  // @ts-expect-error parent_tool_use_id has to be there
  { type: "user", message: { role: "user", content: [image("image/png")] } },
  { type: "user", message: { role: "user", content: [image("image/png")] }, parent_tool_use_id: null },
];

function image<T extends string>(media_type: T) {
  return { type: "image" as const, source: { type: "base64" as const, media_type, data: "" } };
}
