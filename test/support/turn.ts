import type Anthropic from "@anthropic-ai/sdk";
import type { AssistantMessage, Session, ToolCall } from "sessile";
import { anthropicMessages, anthropicStream } from "sessile/anthropic";
import { type ModelRequest, type Tool, type TurnModel, tool } from "sessile/turn";
import { messageOf, type ScriptedReply } from "./providers/anthropic/replies.js";
import { anthropicStreamed } from "./providers/streamed.js";

type Value = ReturnType<ReturnType<typeof anthropicMessages>["render"]>;

/** What a scripted model does with a request: a reply, its beginning, or a failure. */
export type Said =
  | string
  | readonly Call[]
  | { readonly reply: ScriptedReply }
  /** The text, and then the end of the connection or an error. */
  | { readonly cut: string; readonly error?: unknown }
  | { readonly fail: unknown };

/** A call of a scripted reply: a name, an id and the arguments. */
export type Call = readonly [name: string, id: string, input?: unknown];

/** A model in this process: Anthropic's target, and a function in place of its client. */
export function scriptedModel(
  script: (request: ModelRequest<Value>, count: number) => Said | Promise<Said>,
  { model = "claude-opus-5", ...options }: Partial<Parameters<typeof anthropicMessages>[0]> = {},
  /** Called before each event of a reply. */
  step: () => void = () => undefined,
): TurnModel<Value> & { readonly requests: ModelRequest<Value>[] } {
  const requests: ModelRequest<Value>[] = [];
  return {
    target: anthropicMessages({ model, ...options }),
    declare: (tools) =>
      tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    requests,
    async ask(request) {
      requests.push(structuredClone({ ...request, signal: undefined }) as never);
      request.signal.throwIfAborted();
      const said = await script(request, requests.length - 1);
      if (typeof said === "object" && "fail" in said) throw said.fail;
      // In pieces of a few characters.
      const events = anthropicStreamed(messageOf(replyOf(said), model, requests.length), 6);
      const shown = typeof said === "object" && "cut" in said ? cutAt(events, said.error) : events;
      return anthropicStream(yieldAll(shown, request.signal, step), { model, signal: request.signal });
    },
  };
}

function replyOf(said: Exclude<Said, { readonly fail: unknown }>): ScriptedReply {
  if (typeof said === "string") return { content: [{ type: "text", text: said, citations: null }] };
  if ("reply" in said) return said.reply;
  if ("cut" in said) return { content: [{ type: "text", text: said.cut, citations: null }] };
  const caller = { type: "direct" } as const;
  const content = said.map(([name, id, input = {}]) => ({
    type: "tool_use" as const,
    id,
    name,
    input,
    caller,
  }));
  return { content: content as Anthropic.ContentBlock[] };
}

function cutAt(events: readonly object[], error: unknown): readonly object[] {
  const text = events.findLastIndex((event) => "type" in event && event.type === "content_block_delta");
  return [...events.slice(0, text + 1), ...(error === undefined ? [] : [{ type: "error", error }])];
}

async function* yieldAll(
  events: readonly object[],
  signal: AbortSignal,
  step: () => void,
): AsyncGenerator<{ type: string }> {
  for (const event of events) {
    await undefined;
    step();
    signal.throwIfAborted();
    yield event as { type: string };
  }
}

/** A tool that counts its runs. */
export function countingTool(name: string, more: Partial<Tool> = {}): Tool & { readonly ran: string[] } {
  const ran: string[] = [];
  return {
    ...tool({
      name,
      description: `The tool ${name}.`,
      parameters: { type: "object" },
      run: (_input, { call }: { readonly call: ToolCall }) => {
        ran.push(call.id);
        return `ran ${call.id}`;
      },
    }),
    ...more,
    ran,
  };
}

/** The messages of a session in short: a user's text, `assistant: text <call>`, `result id: text`. */
export async function shortHistory(session: Session): Promise<readonly string[]> {
  const { items } = await session.context();
  return items.map(({ message }) => {
    switch (message.role) {
      case "assistant":
        return `assistant${ending(message)}: ${message.content.map(shortBlock).join(" ")}`;
      case "toolResult":
        return `result ${message.toolCallId}${message.isError ? "!" : ""}: ${message.content.map(shortBlock).join(" ")}`;
      case "compactionSummary":
        return "summary";
      default:
        return `${message.role}: ${"content" in message ? shortContent(message.content) : ""}`;
    }
  });
}

function ending({ stopReason }: AssistantMessage): string {
  return stopReason === "aborted" || stopReason === "error" ? `(${stopReason})` : "";
}

function shortContent(content: unknown): string {
  return Array.isArray(content) ? content.map(shortBlock).join(" ") : String(content);
}

function shortBlock(block: unknown): string {
  const { type, text, id, thinking } = block as Record<string, unknown>;
  if (type === "text") return String(text).split("\n")[0] ?? "";
  if (type === "toolCall") return `<${id}>`;
  return type === "thinking" ? `(${thinking})` : `[${type}]`;
}
