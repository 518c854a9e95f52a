// One turn: the model and its tools, until the model calls none. The turn belongs to the server, not to a
// request: any number of tabs may watch it, and it ends only by itself, by an abort, or with the process.
import { jsonSchema, type LanguageModel, streamText, type Tool, type ToolSet, tool } from "ai";
import type { BlobStore, Session } from "sessile";
import { aiSdkMessages, aiSdkStream } from "sessile/ai-sdk";
import { replayWithin } from "sessile/attachments";
import { runTurn, type TurnModel } from "sessile/turn";
import type { z } from "zod";

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
 * and the whole reply before the session says that it is idle. Returns why there is no whole reply, unless it was
 * stopped.
 */
export async function answer(
  session: Session,
  { signal }: RunningTurn,
  { blobs, model, tools }: TurnParts,
): Promise<string | undefined> {
  let messageId: string | undefined;
  try {
    const { reason } = await runTurn(session, {
      model: turnModel(model),
      tools: Object.entries(tools).map(([name, { description, inputSchema, run }]) => {
        return { name, description, parameters: inputSchema, parallel: true, run };
      }),
      ...{ blobs, signal, maxSteps: maxRounds, project: { replay } },
      onDelta({ type, ...delta }, reply) {
        messageId ??= reply.id;
        if (type !== "toolCall" && "text" in delta)
          session.publish({ type: `${type}_delta`, delta: delta.text, messageId });
      },
    });
    return reason === "steps" ? `the model still calls tools after ${maxRounds} rounds` : undefined;
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).slice(0, 500).toWellFormed();
  }
}

/** A model of the AI SDK, as `runTurn` asks it. Its tools have no `execute`: the turn runs them. */
function turnModel(model: ChatModel): TurnModel {
  const target = aiSdkMessages({ model });
  return {
    target,
    declare: (tools) =>
      tools.map(({ name, description, schema }) => [
        name,
        tool({ description, inputSchema: jsonSchema(schema) }),
      ]),
    ask({ value, tools, signal }) {
      const declared: ToolSet = Object.fromEntries(tools as readonly [string, Tool][]);
      // The error is in the stream.
      const options = { tools: declared, abortSignal: signal, maxOutputTokens, onError: () => {} };
      return aiSdkStream(streamText({ model, ...value, ...options }).fullStream, { model, signal });
    },
  };
}
