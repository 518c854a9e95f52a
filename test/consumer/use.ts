// Every subpath, so that the declarations of each are compiled.
import { memorySessionStore, type Session } from "sessile";

export * as all from "sessile";
export * as acp from "sessile/acp";
export * as aiSdk from "sessile/ai-sdk";
export * as anthropic from "sessile/anthropic";
export * as attachments from "sessile/attachments";
export * as azure from "sessile/azure";
export * as bedrock from "sessile/bedrock";
export * as claudeAgent from "sessile/claude-agent";
export * as claudeCode from "sessile/claude-code";
export * as codex from "sessile/codex";
export * as compaction from "sessile/compaction";
export * as conformance from "sessile/conformance";
export * as contextTokens from "sessile/context-tokens";
export * as cost from "sessile/cost";
export * as errors from "sessile/errors";
export * as estimate from "sessile/estimate";
export * as gemini from "sessile/gemini";
export * as geminiCli from "sessile/gemini-cli";
export * as interop from "sessile/interop";
export * as kimiCode from "sessile/kimi-code";
export * as langgraph from "sessile/langgraph";
export * as limits from "sessile/limits";
export * as mcp from "sessile/mcp";
export * as media from "sessile/media";
export * as memory from "sessile/memory";
export * as mysql from "sessile/mysql";
export * as node from "sessile/node";
export * as openai from "sessile/openai";
export * as openaiAgents from "sessile/openai-agents";
export * as opencode from "sessile/opencode";
export * as postgres from "sessile/postgres";
export * as qwenCode from "sessile/qwen-code";
export * as r2 from "sessile/r2";
export * as s3 from "sessile/s3";
export * as schema from "sessile/schema";
export * as sqlite from "sessile/sqlite";
export * as sync from "sessile/sync";
export * as tether from "sessile/tether";
export * as turn from "sessile/turn";
export * as viewer from "sessile/viewer";

/** What a program does with a session. */
export async function use(): Promise<string> {
  const session: Session = await memorySessionStore().create({ cwd: "/" });
  await session.close();
  return session.id;
}
