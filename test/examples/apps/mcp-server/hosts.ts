import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { SequencedFrame } from "sessile/tether";
import { root } from "../../../../scripts/entries.mjs";
import { runsSources } from "../../support/programs.js";

/** The transport between a host and the server. */
export type Over = "stdio" | "http";

/** A server process, and the SDK's client of it. */
export interface Host extends AsyncDisposable {
  readonly client: Client;
  /** Kills the server. */
  kill(): Promise<void>;
  /** The server's standard error so far. */
  readonly errors: () => string;
}

/** Options of a server. */
export interface HostOptions {
  readonly over: Over;
  readonly dir: string;
  /** The address of its model's provider. */
  readonly provider: string;
  readonly args?: readonly string[];
}

export async function startHost({ over, dir, provider, args = [] }: HostOptions): Promise<Host> {
  const command = [...runsSources, "examples/apps/mcp-server/main.ts", `--${over}`, "--dir", dir, ...args];
  const env = { PATH: process.env.PATH ?? "", ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: provider };
  const client = new Client({ name: "test", version: "1.0.0" });
  return over === "stdio" ? overStdio(client, command, env) : overHttp(client, command, env);
}

type Environment = Readonly<Record<string, string>>;

async function overStdio(client: Client, args: readonly string[], env: Environment): Promise<Host> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    env,
    cwd: root,
    stderr: "pipe",
    maxBufferSize: 64 * 2 ** 20,
  });
  let errors = "";
  transport.stderr?.on("data", (text: Buffer) => {
    errors += text.toString();
  });
  await client.connect(transport);
  const { pid } = transport;
  return {
    client,
    errors: () => errors,
    async kill() {
      const closed = new Promise<void>((resolve) => {
        client.onclose = resolve;
      });
      process.kill(pid as number, "SIGKILL");
      await closed;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function overHttp(client: Client, args: readonly string[], env: Environment): Promise<Host> {
  const child = spawn(process.execPath, args, { env, cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text: Buffer) => {
    errors += text.toString();
  });
  const [url = "", token = ""] = (await firstLine(child)).split(" ");
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    client,
    errors: () => errors,
    kill,
    async [Symbol.asyncDispose]() {
      await client.close();
      await kill();
    },
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  for await (const piece of stdout ?? []) {
    text += String(piece);
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  throw new Error(`the server ended and said only: ${text}`);
}

/** The result of a tool. */
export async function call(client: Client, name: string, args: object): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: { instance: "agent", ...args } })) as CallToolResult;
}

/** The JSON of a result's text. */
export function jsonOf({ content: [first] }: CallToolResult) {
  return first?.type === "text" ? JSON.parse(first.text) : undefined;
}

/** The images behind the text. */
export function imagesOf({ content }: CallToolResult) {
  return content.flatMap((part) => (part.type === "image" ? [part] : []));
}

/** Sends a message, and reads until its answer is complete: the last result, and its frame. */
export async function ask(client: Client, message: object, session: object = {}) {
  const sent = await call(client, "tether_send", { ...message, ...session });
  if (sent.isError) throw new Error(JSON.stringify(sent.content));
  const { seq, answer_id } = jsonOf(sent);
  for (let after_seq = seq; ; ) {
    const args = { after_seq, types: ["assistant.done"], wait_ms: 20_000, ...session };
    const result = await call(client, "tether_read", args);
    const { frames, next_seq } = jsonOf(result);
    const done = frames.find((frame: SequencedFrame) => frame.msg_id === answer_id);
    if (done !== undefined) return { result, done, text: done.payload.text as string };
    after_seq = next_seq;
  }
}
