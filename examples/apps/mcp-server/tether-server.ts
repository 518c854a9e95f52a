import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { SessileError } from "sessile/errors";
import {
  type FrameQuery,
  type FrameReading,
  type FrameRing,
  readTetherSend,
  tetherReadResult,
  tetherSendTool,
} from "sessile/tether";
import type { TetherAgent } from "../support/tether-agent.js";

/** An agent, and the ring of its latest frames. */
export interface TetherInstance {
  readonly agent: TetherAgent;
  readonly ring: FrameRing;
}

const maxWaitMs = 30_000;
const maxFrames = 1000;
const maxIdLength = 256;
/**
 * Characters of one result: an MCP client over stdio accepts ten million bytes a line. A result has at least
 * one frame.
 */
const maxReadBytes = 8 * 2 ** 20;
/** The types of frames that a read returns by default. */
const answers = ["assistant.delta", "assistant.done"];

/** The tool `tether_read` as a server lists it. */
const tetherReadTool: Tool = {
  name: "tether_read",
  description:
    "Reads what an agent answered. Call it again with the next_seq of the last result as after_seq. Images follow the text, where {_mcp_index: N} stands for the Nth of them, counted from 0.",
  inputSchema: {
    type: "object",
    properties: {
      instance: { type: "string", description: "Instance handle or ID" },
      session_id: { type: "string", description: "Session ID. Defaults to 'default'." },
      after_seq: { type: "integer", minimum: 0, description: "Only frames behind this one. Defaults to 0." },
      types: {
        type: "array",
        items: { type: "string" },
        description: "Types of frames. Defaults to assistant.delta and assistant.done.",
      },
      limit: { type: "integer", minimum: 1, maximum: maxFrames, description: "The most frames." },
      wait_ms: {
        type: "integer",
        minimum: 0,
        maximum: maxWaitMs,
        description: "How long to wait where there is no frame yet. Defaults to 0.",
      },
    },
    required: ["instance"],
  },
};

/** An MCP server with the two tools, for one connection. */
export function tetherMcpServer(instances: ReadonlyMap<string, TetherInstance>): McpServer {
  const mcp = new McpServer({ name: "sessile-tether", version: "1.0.0" }, { capabilities: { tools: {} } });
  const send: Tool = { ...tetherSendTool, inputSchema: structuredClone<Tool["inputSchema"]>(sendSchema) };
  mcp.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [send, tetherReadTool] }));
  mcp.server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    try {
      if (params.name === "tether_send") return await sendMessage(instances, params.arguments);
      if (params.name === "tether_read") return await readFrames(instances, params.arguments, signal);
      throw invalid("name", "tether_send or tether_read");
    } catch (error) {
      if (!(error instanceof SessileError)) throw error;
      const text = JSON.stringify({ code: error.code, message: error.message });
      return { isError: true, content: [{ type: "text", text }] };
    }
  });
  return mcp;
}

const { inputSchema } = tetherSendTool;
const sendSchema = { ...inputSchema, required: [...inputSchema.required] };

/**
 * Returns the message's number once it is durable (`kept`), or at once if it waits behind another message
 * (`queued`). The answer goes into the ring in the background. `failed`: the answer is in the ring, with the
 * reason.
 */
async function sendMessage(
  instances: ReadonlyMap<string, TetherInstance>,
  args: unknown,
): Promise<CallToolResult> {
  const { instance, message } = readTetherSend(args);
  const { agent, ring } = instanceOf(instances, instance);
  // Every frame of the answer repeats the id, and the ring counts only payloads.
  if (message.frame.session.id.length > maxIdLength) {
    throw invalid("session_id", `at most ${maxIdLength} characters`);
  }
  const seq = ring.append(message.frame);
  const waits = agent.isBusy(message.frame);
  const begun = new Promise<string>((resolve) => {
    const frames = agent.answer(message.frame, { onKept: () => resolve("kept") });
    void append(frames, ring).finally(() => resolve("failed"));
  });
  const status = waits ? "queued" : await begun;
  const { msg_id } = message.frame;
  const text = JSON.stringify({ msg_id, answer_id: `re:${msg_id}`, seq, status });
  return { content: [{ type: "text", text }] };
}

async function append(frames: ReturnType<TetherAgent["answer"]>, ring: FrameRing): Promise<void> {
  for await (const frame of frames) ring.append(frame);
}

async function readFrames(
  instances: ReadonlyMap<string, TetherInstance>,
  args: Readonly<Record<string, unknown>> = {},
  signal: AbortSignal,
): Promise<CallToolResult> {
  const { instance, session_id = "default", after_seq, types = answers, limit, wait_ms } = args;
  const { ring } = instanceOf(instances, instance);
  if (typeof session_id !== "string") throw invalid("session_id", "a string");
  if (!Array.isArray(types) || !types.every((type) => typeof type === "string")) {
    throw invalid("types", "an array of strings");
  }
  const query: FrameQuery = {
    session: { channel: "mcp", id: session_id },
    types,
    after: integer("after_seq", after_seq, 0, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: integer("limit", limit, maxFrames, { min: 1, max: maxFrames }),
    maxBytes: maxReadBytes,
  };
  const waitMs = integer("wait_ms", wait_ms, 0, { min: 0, max: maxWaitMs });
  const { content } = tetherReadResult(
    waitMs === 0 ? ring.read(query) : await waitFor(ring, query, waitMs, signal),
  );
  return { content };
}

/**
 * Waits for a frame. After the time it returns the frames at hand; it ends if the client cancels its request.
 */
async function waitFor(
  ring: FrameRing,
  query: FrameQuery,
  waitMs: number,
  cancelled: AbortSignal,
): Promise<FrameReading> {
  const late = AbortSignal.timeout(waitMs);
  try {
    return await ring.wait({ ...query, signal: AbortSignal.any([cancelled, late]) });
  } catch (error) {
    if (cancelled.aborted || !late.aborted) throw error;
    return ring.read(query);
  }
}

function instanceOf(instances: ReadonlyMap<string, TetherInstance>, name: unknown): TetherInstance {
  const found = typeof name === "string" ? instances.get(name) : undefined;
  if (found === undefined) throw invalid("instance", [...instances.keys()].join(" or "));
  return found;
}

function integer(
  path: string,
  value: unknown,
  fallback: number,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw invalid(path, `an integer from ${min} to ${max}`);
}

function invalid(path: string, expected: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}
