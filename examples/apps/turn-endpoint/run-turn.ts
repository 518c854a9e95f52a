import type { BlobStore } from "sessile/blobs";
import { assistantMessage, toolCalls } from "sessile/content";
import type { EntryDraft, Session, SessionEntry } from "sessile/session";
import type { Model } from "../support/model.js";
import { HttpFailure } from "./http-failure.js";
import { orAborted } from "./or-aborted.js";
import { runTurnTool, type TurnTools } from "./tools.js";

/** Options of {@link runTurn}. */
export interface RunTurnOptions {
  readonly session: Session;
  readonly blobs: Pick<BlobStore, "get">;
  readonly model: Model;
  /** Whose words what is left of a reply that was cut off is said to be. */
  readonly maker: { readonly provider: string; readonly model: string };
  readonly tools: TurnTools;
  readonly rounds: number;
  readonly signal: AbortSignal;
  /** Told of each piece of a reply as it comes. */
  readonly onText: (text: string) => void;
  /** Told of each entry once it is sure to last. */
  readonly onEntry: (entry: SessionEntry) => void;
}

/**
 * The model and its tools, until it calls none: everything that is said goes into the session before anybody is told that it is
 * there. Of a reply that breaks off, what had come by then is kept, since somebody has read it.
 *
 * @throws the signal's reason; HttpFailure where the model fails, or calls tools for too many rounds
 */
export async function runTurn(options: RunTurnOptions): Promise<void> {
  const { session, tools, rounds, signal } = options;
  for (let round = 0; round < rounds; round++) {
    const message = await reply(options);
    await keep(options, [{ type: "message", message }]);
    const calls = toolCalls(message);
    if (calls.length === 0) return;
    for (const call of calls) {
      signal.throwIfAborted();
      const work = runTurnTool(tools, call, { session, blobs: options.blobs, signal });
      await keep(options, await orAborted(work, signal));
    }
  }
  const message = `the model still calls tools after ${rounds} rounds`;
  throw new HttpFailure(502, { code: "TOO_MANY_ROUNDS", message });
}

/** Characters of a reply that broke off. */
const maxKept = 2 ** 20;

async function reply(options: RunTurnOptions) {
  const { session, model, maker, signal, onText } = options;
  let said = "";
  const hear = (text: string) => {
    if (said.length < maxKept) said += text;
    onText(text);
  };
  const context = await session.context();
  signal.throwIfAborted();
  try {
    return await orAborted(model.generate(context, { signal, onText: hear }), signal);
  } catch (error) {
    const failure = signal.aborted ? signal.reason : modelFailure(error);
    if (said !== "") {
      const stopReason = signal.aborted ? "aborted" : "error";
      const init = { ...maker, stopReason, errorMessage: String(failure.message) } as const;
      await keep(options, [{ type: "message", message: assistantMessage(init, said) }]);
    }
    throw failure;
  }
}

async function keep(
  { session, onEntry }: Pick<RunTurnOptions, "session" | "onEntry">,
  drafts: readonly EntryDraft[],
) {
  for (const entry of await session.append(drafts)) onEntry(entry);
}

const maxMessage = 500;

/** In the provider's words: whoever runs the server is told that the key is wrong, or the model unknown. */
function modelFailure(error: unknown): HttpFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new HttpFailure(502, { code: "MODEL_FAILED", message: message.slice(0, maxMessage).toWellFormed() });
}
