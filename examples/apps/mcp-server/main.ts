// An MCP server through which a host talks to an agent, with images in both directions. Its model is Anthropic's where
// ANTHROPIC_API_KEY is in the environment, and else a script behind a provider on this machine.
//
//   npx tsx examples/apps/mcp-server/main.ts                            the story: runs itself over stdio, and talks to it
//   npx tsx examples/apps/mcp-server/main.ts --stdio [--dir DIR]        for a host that starts it
//   npx tsx examples/apps/mcp-server/main.ts --http [--dir DIR]         on 127.0.0.1, at PORT or a free one; prints its address and,
//                                                                where TETHER_TOKEN is not in the environment, a token
//
// A host's configuration: { "command": "npx", "args": ["tsx", "examples/apps/mcp-server/main.ts", "--stdio"] }
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { replayWithin, viewTool } from "sessile/attachments";
import { FrameRing, tetherImage, tetherLimits } from "sessile/tether";
import { check } from "../support/check.js";
import type { Model } from "../support/claude.js";
import { claude } from "../support/claude.js";
import { imageToolDeclarations, imageTools } from "../support/image-tools.js";
import { startLocalProvider } from "../support/local-provider.js";
import { makePng } from "../support/make-media.js";
import { agentHome, tetherAgent } from "../support/tether-agent.js";
import { fileTools, toolDeclarations } from "../support/tools.js";
import { type TetherInstance, tetherMcpServer } from "./tether-server.js";
import { startMcpHttp, WholeLines } from "./transports.js";

const program = fileURLToPath(import.meta.url);
const modelName = "claude-opus-5-5";
const instance = "agent";
/** Five images of 10 MiB, which are too many and too much, still get an answer in words. */
const maxLineBytes = 72 * 2 ** 20;
/** A whole frame and what MCP has around it. */
const maxBodyBytes = tetherLimits.maxWireBytes + 64 * 1024;

const { values: given } = parseArgs({
  options: {
    stdio: { type: "boolean" },
    http: { type: "boolean" },
    dir: { type: "string", default: ".tether" },
    // Of frames that can still be read. Default 128 MiB.
    "ring-bytes": { type: "string" },
  },
});
if (given.stdio) await serveStdio(given.dir);
else if (given.http) await serveHttp(given.dir);
else await tellStory();

// The server.

async function serveStdio(dir: string): Promise<void> {
  const lines = new WholeLines(maxLineBytes);
  const transport = new StdioServerTransport(lines, process.stdout, { maxBufferSize: maxLineBytes });
  await tetherMcpServer(await startInstances(dir)).connect(transport);
  // Nobody is left to answer. A session is whole at any moment, so that nothing has to be waited for.
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
  const tools = new Map([...fileTools(workspace, blobs), ...imageTools(workspace, blobs)]);
  const declarations = [...toolDeclarations, ...imageToolDeclarations].filter(({ name }) => tools.has(name));
  const model: Model = claude({
    client: await startClient(),
    model: modelName,
    blobs,
    tools: [...declarations, viewTool("anthropic")],
    // What was shown lately is shown again, so that one can ask about it; the tool brings back what is older.
    replay: replayWithin({ maxCount: 20, maxBytes: tetherLimits.maxFrameBytes }),
    onLosses: (losses) => {
      for (const { code, reason } of losses) console.error(`${code}: ${reason}`);
    },
  });
  const agent = tetherAgent({ dir, instance, model, tools });
  const bytes = given["ring-bytes"];
  const ring = new FrameRing(bytes === undefined ? {} : { maxBytes: Number(bytes) });
  return new Map([[instance, { agent, ring }]]);
}

async function startClient(): Promise<Anthropic> {
  if (process.env.ANTHROPIC_API_KEY !== undefined) return new Anthropic();
  const { url } = await startLocalProvider();
  return new Anthropic({ apiKey: "none", baseURL: url, maxRetries: 0 });
}

// The story, and what has to be true of it.

async function tellStory(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-mcp-"));
  await using provider = await startLocalProvider();
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL = "" } = process.env;
  const real = ANTHROPIC_API_KEY !== undefined;
  const env = real
    ? { ANTHROPIC_API_KEY, ...(ANTHROPIC_BASE_URL === "" ? {} : { ANTHROPIC_BASE_URL }) }
    : { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: provider.url };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, program, "--stdio", "--dir", dir],
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  const client = new Client({ name: "story", version: "1.0.0" });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    check(
      "it has two tools",
      tools.map(({ name }) => name),
      ["tether_send", "tether_read"],
    );

    console.log("\nAn image goes in");
    const image = makePng(320, 200);
    const sent = tetherImage(image);
    const seen = await ask(client, { text: "What is attached?", images: [sent] });
    console.log(`  ${seen.text}`);
    if (!real) {
      check("the model sees it", seen.text.startsWith("An image of 320 x 200 pixels: res_"));
      check("byte for byte", JSON.stringify(provider.requests.at(-1)).includes(sent.data));
    }
    const stored = join(dir, "sessions", "blobs");
    const [name = ""] = await readdir(stored);
    check("it is stored under its digest", /^[0-9a-f]{64}\.png$/.test(name));
    check("as it came", Buffer.compare(await readFile(join(stored, name)), image), 0);
    const [log] = await logsIn(join(dir, "sessions"));
    check("the session names it, and does not hold it", log?.includes(sent.data.slice(0, 60)), false);

    console.log("\nAn image comes out");
    const drawn = await ask(client, { text: "Show 3, 1, 4, 1, 5 as a chart." });
    console.log(`  ${drawn.text}`);
    const [chart] = drawn.images;
    check("the answer has one image", [drawn.images.length, chart?.mimeType], [1, "image/png"]);
    const file = await readFile(join(dir, "workspace", "chart.png")).catch(() => Buffer.alloc(0));
    if (!real) check("byte for byte the tool's", chart?.data, file.toString("base64"));

    console.log("\nWhat is refused");
    const five = await call(client, "tether_send", { text: "Five.", images: Array(5).fill(sent) });
    check("five images", five.isError, true);
    console.log(`  ${textOf(five)}`);
    const gif = await call(client, "tether_send", {
      text: "A GIF?",
      images: [{ ...sent, media_type: "image/gif" }],
    });
    check("an image that is not what it says", gif.isError, true);
    console.log(`  ${textOf(gif)}`);
  } finally {
    await client.close();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Answer {
  readonly text: string;
  readonly images: readonly { readonly data: string; readonly mimeType: string }[];
}

/** Sends, and reads until the answer is whole. */
async function ask(client: Client, message: Readonly<Record<string, unknown>>): Promise<Answer> {
  const sent = JSON.parse(textOf(await call(client, "tether_send", message)));
  let after_seq = sent.seq;
  for (;;) {
    const read = await call(client, "tether_read", { after_seq, wait_ms: 30_000, types: ["assistant.done"] });
    const { frames, next_seq } = JSON.parse(textOf(read));
    const done = frames.find(({ msg_id }: { readonly msg_id: string }) => msg_id === sent.answer_id);
    if (done !== undefined) {
      return {
        text: done.payload.text,
        images: read.content.flatMap((part) => (part.type === "image" ? [part] : [])),
      };
    }
    after_seq = next_seq;
  }
}

type Result = Extract<Awaited<ReturnType<Client["callTool"]>>, { readonly content: unknown }>;

async function call(client: Client, name: string, args: Readonly<Record<string, unknown>>): Promise<Result> {
  return (await client.callTool({ name, arguments: { instance, ...args } })) as Result;
}

function textOf({ content: [first] }: Result): string {
  return first?.type === "text" ? first.text : "";
}

/** The session files of a store. */
async function logsIn(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir, { recursive: true });
  const logs = names.filter((name) => name.endsWith(".jsonl"));
  return Promise.all(logs.map((name) => readFile(join(dir, name), "utf8")));
}
