// Every subpath, so that the declarations of each are compiled.
import { memorySessionStore, type Session } from "sessile";

export * as all from "sessile";
export * as blobs from "sessile";
export * as content from "sessile";
export * as projections from "sessile";
export * as session from "sessile";
export * as adaptersAcp from "sessile/acp";
export * as projectionsAcp from "sessile/acp";
export * as adaptersAiSdk from "sessile/ai-sdk";
export * as projectionsAiSdk from "sessile/ai-sdk";
export * as projectionsAnthropic from "sessile/anthropic";
export * as interopAtif from "sessile/atif";
export * as attachments from "sessile/attachments";
export * as projectionsBedrock from "sessile/bedrock";
export * as adaptersClaudeAgent from "sessile/claude-agent";
export * as projectionsClaudeAgent from "sessile/claude-agent";
export * as projectionsClaudeAgentNode from "sessile/claude-agent";
export * as interopClaudeCode from "sessile/claude-code";
export * as interopCodex from "sessile/codex";
export * as projectionsCodex from "sessile/codex";
export * as compaction from "sessile/compaction";
export * as blobsConformance from "sessile/conformance";
export * as sessionConformance from "sessile/conformance";
export * as contextTokens from "sessile/context-tokens";
export * as cost from "sessile/cost";
export * as errors from "sessile/errors";
export * as estimate from "sessile/estimate";
export * as projectionsGemini from "sessile/gemini";
export * as interopGemini from "sessile/gemini-cli";
export * as interop from "sessile/interop";
export * as adaptersLanggraph from "sessile/langgraph";
export * as limits from "sessile/limits";
export * as projectionsMcp from "sessile/mcp";
export * as media from "sessile/media";
export * as memory from "sessile/memory";
export * as attachmentsNode from "sessile/node";
export * as blobsNode from "sessile/node";
export * as interopNode from "sessile/node";
export * as sessionNode from "sessile/node";
export * as sessionRepair from "sessile/node";
export * as projectionsOpenai from "sessile/openai";
export * as adaptersOpenaiAgents from "sessile/openai-agents";
export * as interopOpencode from "sessile/opencode";
export * as postgres from "sessile/postgres";
export * as r2 from "sessile/r2";
export * as s3 from "sessile/s3";
export * as sessionSchema from "sessile/schema";
export * as tetherSchema from "sessile/schema";
export * as sqlite from "sessile/sqlite";
export * as sync from "sessile/sync";
export * as tether from "sessile/tether";
export * as viewer from "sessile/viewer";

/** What a program does with a session. */
export async function use(): Promise<string> {
  const session: Session = await memorySessionStore().create({ cwd: "/" });
  await session.close();
  return session.id;
}
