import { PassThrough } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { CallToolResult, GetPromptResult } from "@modelcontextprotocol/sdk/types.js";

/** What the server gives. */
export interface Offered {
  readonly prompt?: GetPromptResult;
  readonly toolResult?: CallToolResult;
}

/** An official client, connected to an official server. */
export interface McpPeers extends AsyncDisposable {
  readonly client: Client;
}

/** The name of the prompt and of the tool. */
export const offeredName = "session";

/**
 * A server and a client that speak over streams, line by line, as they would over the standard streams of a process: what the
 * one is given, the other has to read from bytes.
 */
export async function connectMcp({ prompt, toolResult }: Offered): Promise<McpPeers> {
  const server = new McpServer({ name: "sessile-test", version: "1.0.0" });
  if (prompt !== undefined) server.registerPrompt(offeredName, {}, () => prompt);
  if (toolResult !== undefined) server.registerTool(offeredName, {}, () => toolResult);
  const client = new Client({ name: "sessile-test", version: "1.0.0" });
  const [up, down] = [new PassThrough(), new PassThrough()];
  // Both ends of a stream of lines are alike; the client's own class would start a process.
  await Promise.all([
    server.connect(new StdioServerTransport(up, down)),
    client.connect(new StdioServerTransport(down, up)),
  ]);
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
