// An MCP server for an agent, over stdio or HTTP: see README.md.
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { parseArgs } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { cacheConversation } from "sessile";
import { replayWithin } from "sessile/attachments";
import { FrameRing, tetherLimits } from "sessile/tether";
import { anthropicModel } from "sessile/turn";
import { imageTools } from "../support/image-tools.js";
import { startLocalProvider } from "../support/local-provider.js";
import { agentHome, tetherAgent } from "../support/tether-agent.js";
import { fileTools } from "../support/tools.js";
import { type TetherInstance, tetherMcpServer } from "./tether-server.js";
import { startMcpHttp, WholeLines } from "./transports.js";

const modelName = "claude-opus-5-5";
const instance = "agent";
/** Large enough for five images of 10 MiB, so that even these get a readable refusal. */
const maxLineBytes = 72 * 2 ** 20;
/** The largest frame and its MCP envelope. */
const maxBodyBytes = tetherLimits.maxWireBytes + 64 * 1024;

const { values: given } = parseArgs({
  options: {
    stdio: { type: "boolean" },
    http: { type: "boolean" },
    dir: { type: "string", default: ".tether" },
    // Bytes of the frames in the ring. Default 128 MiB.
    "ring-bytes": { type: "string" },
  },
});
if (given.http) await serveHttp(given.dir);
else await serveStdio(given.dir);

async function serveStdio(dir: string): Promise<void> {
  const lines = new WholeLines(maxLineBytes);
  const transport = new StdioServerTransport(lines, process.stdout, { maxBufferSize: maxLineBytes });
  await tetherMcpServer(await startInstances(dir)).connect(transport);
  // The host has gone. Every append is durable when it resolves, so nothing has to be flushed.
  const end = () => process.exit();
  process.stdout.on("error", end);
  lines.on("error", ({ message }) => {
    console.error(message);
    process.exit(1);
  });
  process.stdin.on("end", end).pipe(lines);
}

async function serveHttp(dir: string): Promise<void> {
  const instances = await startInstances(dir);
  const { PORT, TETHER_TOKEN = "" } = process.env;
  const token = TETHER_TOKEN === "" ? randomBytes(24).toString("base64url") : TETHER_TOKEN;
  const makeServer = () => tetherMcpServer(instances);
  const { url } = await startMcpHttp({ makeServer, token, maxBodyBytes, port: Number(PORT ?? 0) });
  console.log(TETHER_TOKEN === "" ? `${url} ${token}` : url);
}

async function startInstances(dir: string): Promise<ReadonlyMap<string, TetherInstance>> {
  const { blobs, workspace } = agentHome(dir);
  await mkdir(workspace, { recursive: true });
  const agent = tetherAgent({
    ...{ dir, instance },
    model: anthropicModel(await startClient(), { model: modelName }),
    tools: [...fileTools(workspace), ...imageTools(workspace, blobs)],
    project: {
      // Requests repeat the latest images, so that the user can ask about them; the view tool shows older ones.
      replay: replayWithin({ maxCount: 20, maxBytes: tetherLimits.maxFrameBytes }),
      cache: cacheConversation,
    },
    onRequest: ({ losses }) => {
      for (const { code, reason } of losses) console.error(`${code}: ${reason}`);
    },
  });
  const bytes = given["ring-bytes"];
  const ring = new FrameRing(bytes === undefined ? {} : { maxBytes: Number(bytes) });
  return new Map([[instance, { agent, ring }]]);
}

async function startClient(): Promise<Anthropic> {
  if (process.env.ANTHROPIC_API_KEY !== undefined) return new Anthropic();
  const { url } = await startLocalProvider();
  return new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
}
