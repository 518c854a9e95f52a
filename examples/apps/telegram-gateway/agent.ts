import { mkdir } from "node:fs/promises";
import type Anthropic from "@anthropic-ai/sdk";
import { replayWithin, viewTool } from "sessile/attachments";
import { tetherLimits } from "sessile/limits";
import { claude } from "../support/claude.js";
import { imageToolDeclarations, imageTools } from "../support/image-tools.js";
import { agentHome, type TetherAgent, tetherAgent } from "../support/tether-agent.js";

/** An agent for anybody: it looks at images, and draws. What it keeps is in the directory. */
export async function drawingAgent(dir: string, client: Anthropic): Promise<TetherAgent> {
  const { blobs, workspace } = agentHome(dir);
  await mkdir(workspace, { recursive: true });
  // Nothing that reads files or runs programs: whoever writes to a bot can make it use its tools.
  const tools = new Map([...imageTools(workspace, blobs)].filter(([name]) => name === "plot"));
  const model = claude({
    client,
    model: "claude-opus-5-5",
    blobs,
    tools: [...imageToolDeclarations.filter(({ name }) => tools.has(name)), viewTool("anthropic")],
    // What was shown lately is shown again, so that one can ask about it; the tool brings back what is older.
    replay: replayWithin({ maxCount: 20, maxBytes: tetherLimits.maxFrameBytes }),
  });
  return tetherAgent({ dir, instance: "telegram", model, tools });
}
