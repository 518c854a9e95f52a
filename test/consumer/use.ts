// Every subpath, so that the declarations of each are compiled.
import { memorySessionStore, type Session } from "sessile/session";

export * as all from "sessile";
export * as adaptersAcp from "sessile/adapters/acp";
export * as adaptersAiSdk from "sessile/adapters/ai-sdk";
export * as adaptersClaudeAgent from "sessile/adapters/claude-agent";
export * as adaptersLanggraph from "sessile/adapters/langgraph";
export * as adaptersOpenaiAgents from "sessile/adapters/openai-agents";
export * as attachments from "sessile/attachments";
export * as attachmentsNode from "sessile/attachments/node";
export * as blobs from "sessile/blobs";
export * as blobsConformance from "sessile/blobs/conformance";
export * as blobsNode from "sessile/blobs/node";
export * as compaction from "sessile/compaction";
export * as content from "sessile/content";
export * as contextTokens from "sessile/context-tokens";
export * as cost from "sessile/cost";
export * as errors from "sessile/errors";
export * as estimate from "sessile/estimate";
export * as interop from "sessile/interop";
export * as interopAtif from "sessile/interop/atif";
export * as interopClaudeCode from "sessile/interop/claude-code";
export * as interopCodex from "sessile/interop/codex";
export * as interopGemini from "sessile/interop/gemini";
export * as interopNode from "sessile/interop/node";
export * as interopOpencode from "sessile/interop/opencode";
export * as limits from "sessile/limits";
export * as media from "sessile/media";
export * as memory from "sessile/memory";
export * as postgres from "sessile/postgres";
export * as projections from "sessile/projections";
export * as projectionsAcp from "sessile/projections/acp";
export * as projectionsAiSdk from "sessile/projections/ai-sdk";
export * as projectionsAnthropic from "sessile/projections/anthropic";
export * as projectionsBedrock from "sessile/projections/bedrock";
export * as projectionsClaudeAgent from "sessile/projections/claude-agent";
export * as projectionsClaudeAgentNode from "sessile/projections/claude-agent/node";
export * as projectionsCodex from "sessile/projections/codex";
export * as projectionsGemini from "sessile/projections/gemini";
export * as projectionsMcp from "sessile/projections/mcp";
export * as projectionsOpenai from "sessile/projections/openai";
export * as r2 from "sessile/r2";
export * as s3 from "sessile/s3";
export * as session from "sessile/session";
export * as sessionConformance from "sessile/session/conformance";
export * as sessionNode from "sessile/session/node";
export * as sessionRepair from "sessile/session/repair";
export * as sessionSchema from "sessile/session/schema";
export * as sqlite from "sessile/sqlite";
export * as sync from "sessile/sync";
export * as tether from "sessile/tether";
export * as tetherSchema from "sessile/tether/schema";
export * as viewer from "sessile/viewer";

/** What a program does with a session. */
export async function use(): Promise<string> {
  const session: Session = await memorySessionStore().create({ cwd: "/" });
  await session.close();
  return session.id;
}
