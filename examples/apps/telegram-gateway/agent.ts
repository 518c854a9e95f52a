import { mkdir } from "node:fs/promises";
import type Anthropic from "@anthropic-ai/sdk";
import { cacheConversation } from "sessile";
import { replayWithin } from "sessile/attachments";
import { tetherLimits } from "sessile/limits";
import { anthropicModel } from "sessile/turn";
import { imageTools } from "../support/image-tools.js";
import { agentHome, type TetherAgent, tetherAgent } from "../support/tether-agent.js";

/** An agent that sees images and draws charts. Its sessions and blobs are in the directory. */
export async function drawingAgent(dir: string, client: Anthropic): Promise<TetherAgent> {
  const { blobs, workspace } = agentHome(dir);
  await mkdir(workspace, { recursive: true });
  const model = anthropicModel(client, { model: "claude-opus-5-5" });
  // No tool reads files or runs programs: anyone in an allowed chat can make the bot use its tools.
  const tools = imageTools(workspace, blobs).filter(({ name }) => name === "plot");
  // Requests repeat the latest images, so that the user can ask about them; the view tool shows older ones.
  const replay = replayWithin({ maxCount: 20, maxBytes: tetherLimits.maxFrameBytes });
  return tetherAgent({
    dir,
    instance: "telegram",
    model,
    tools,
    project: { replay, cache: cacheConversation },
  });
}
