import {
  type BlobStore,
  memorySessionStore,
  type ToolCall,
  type ToolResultMessage,
  userMessage,
} from "sessile";
import { runTurn, type Tool } from "sessile/turn";
import { scriptedModel } from "../../support/turn.js";

/** The result that a turn has for a call. */
export async function runTool(
  tools: readonly Tool[],
  { id, name, arguments: args }: ToolCall,
  blobs: BlobStore,
): Promise<ToolResultMessage> {
  const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
  const model = scriptedModel((_request, count) => (count === 0 ? [[name, id, args]] : "Done."));
  await runTurn(session, { model, tools, blobs, message: userMessage("Go.") });
  const result = (await session.context()).items.find(({ message }) => message.role === "toolResult");
  if (result?.message.role !== "toolResult") throw new Error(`${name} has no result`);
  return result.message;
}
