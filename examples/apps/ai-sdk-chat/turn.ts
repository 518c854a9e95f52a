// One turn: the model and its tools, until the model calls none. The turn belongs to the server, not to a
// request: any number of tabs may watch it, and it ends only by itself, by an abort, or with the process.
import { generateId, type LanguageModel, streamText, type ToolSet, tool } from "ai";
import {
  assistantMessage,
  type BlobStore,
  project,
  type Session,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
  toolResult,
  toolStarted,
} from "sessile";
import { aiSdkMessages, aiSdkStream } from "sessile/ai-sdk";
import { replayWithin } from "sessile/attachments";
import type { z } from "zod";
import { failedResult } from "../support/tools.js";

/** A model object of the AI SDK; a name alone has no provider to project for. */
export type ChatModel = Exclude<LanguageModel, string>;

/** Tools by name. A tool that throws gives the model its message. */
export type ChatTools = Readonly<
  Record<
    string,
    {
      readonly description: string;
      readonly inputSchema: z.ZodType;
      readonly run: (input: unknown, options: { readonly signal: AbortSignal }) => Promise<string>;
    }
  >
>;

/** What every turn uses. */
export interface TurnParts {
  readonly blobs: BlobStore;
  readonly model: ChatModel;
  readonly tools: ChatTools;
}

const maxRounds = 10;
const maxOutputTokens = 8192;
const maxTurnMs = 600_000;
/** Images of earlier turns that a request repeats. */
const replay = replayWithin({ maxCount: 10, maxBytes: 10 * 2 ** 20 });

/** A turn that runs. Its pages follow the session: see `uiReplies`. */
export class RunningTurn {
  readonly #stop = new AbortController();
  readonly signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(maxTurnMs)]);

  abort(): void {
    this.#stop.abort(new Error("stopped"));
  }
}

/**
 * Answers the message at the leaf. Text is published as it comes. Every step is in the session before its tools run,
 * and the whole reply before the session says that it is idle. If the reply breaks off, its text is stored with the
 * reason. Returns the reason, if nothing could be stored.
 */
export async function answer(
  session: Session,
  turn: RunningTurn,
  parts: TurnParts,
): Promise<string | undefined> {
  const { signal } = turn;
  const messageId = generateId();
  for (let round = 0; round < maxRounds; round++) {
    const message = await step(session, turn, parts, messageId);
    const id = round === 0 ? { id: messageId } : {};
    if (message.content.length > 0) await session.append([{ type: "message", ...id, message }]);
    if (message.stopReason === "aborted") return undefined;
    if (message.stopReason === "error") {
      return message.content.length > 0 ? undefined : (message.errorMessage ?? "the model failed");
    }
    const calls = toolCalls(message);
    if (calls.length === 0) return undefined;
    // After a crash these entries tell a call that may have had effects from one that was never begun.
    await session.append(calls.map((call) => toolStarted.draft({ toolCallId: call.id })));
    const results = await Promise.all(calls.map((call) => runCall(call, parts.tools, signal)));
    await session.append(results.map((result) => ({ type: "message", message: result })));
  }
  return `the model still calls tools after ${maxRounds} rounds`;
}

/** One request to the model: the session's context to messages of the AI SDK, and its reply to a message. */
async function step(
  session: Session,
  turn: RunningTurn,
  { blobs, model, tools }: TurnParts,
  messageId: string,
) {
  const { signal } = turn;
  const target = aiSdkMessages({ model });
  try {
    const { value } = await project(await session.context(), target, { blobs, replay, signal });
    const result = streamText({
      model,
      ...value,
      tools: declared(tools),
      abortSignal: signal,
      maxOutputTokens,
      // The error is in the stream.
      onError: () => {},
    });
    const stream = aiSdkStream(result.fullStream, { model, signal });
    for await (const delta of stream) {
      if (delta.type === "text") session.publish({ type: "text_delta", delta: delta.text, messageId });
      if (delta.type === "thinking")
        session.publish({ type: "thinking_delta", delta: delta.text, messageId });
    }
    return await stream.message();
  } catch (error) {
    const stopReason = signal.aborted ? "aborted" : "error";
    const errorMessage = wordsOf(signal.aborted ? signal.reason : error);
    return assistantMessage({ ...target.model, stopReason, errorMessage });
  }
}

/** Without `execute`: the calls come out of the step, and run after it is stored. */
function declared(tools: ChatTools): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, { description, inputSchema }]) => [
      name,
      tool({ description, inputSchema }),
    ]),
  );
}

async function runCall(call: ToolCall, tools: ChatTools, signal: AbortSignal): Promise<ToolResultMessage> {
  try {
    const found = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
    if (found === undefined) throw new Error(`there is no tool ${call.name}`);
    return toolResult(call, await found.run(found.inputSchema.parse(call.arguments), { signal }));
  } catch (error) {
    return failedResult(call, wordsOf(error));
  }
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500).toWellFormed();
}
