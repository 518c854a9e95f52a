import type { ServerResponse } from "node:http";
import type Anthropic from "@anthropic-ai/sdk";
import { runViewTool, type ViewableSession, viewTool, viewToolName } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import { assistantMessage, type ToolCall, toolCalls } from "sessile/content";
import type { EntryDraft, Session, SessionEntry } from "sessile/session";
import type { Model } from "../support/claude.js";
import { failureOf, HttpFailure, openEventStream } from "../support/http.js";
import { failedResult } from "../support/tools.js";
import type { TurnLimits } from "./limits.js";
import { messageOf, readPrompt, type TurnPrompt, type TurnRequest } from "./prompt.js";
import { type RunningTurn, type ServedSession, summaryOf } from "./served-session.js";

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

/** What turns need. */
export interface TurnPlaces {
  readonly served: ServedSession;
  readonly blobs: BlobStore;
  readonly model: Model;
  readonly maker: RunTurnOptions["maker"];
  readonly tools: TurnTools;
  /** Directories that attachments may lie in. */
  readonly roots: readonly string[];
  readonly limits: TurnLimits;
  /** Told of what goes wrong once the answer has begun; it keeps what is the server's fault. */
  readonly report: (error: unknown) => void;
}

/**
 * Answers a turn. Until the user's message is in the session, a failure is a status and nothing has happened; from then on it is
 * an event. The turn does not depend on who listens: it runs to its end where the client goes away.
 *
 * @throws HttpFailure 400 and 409; what storing throws
 */
export async function postTurn(
  response: ServerResponse,
  request: TurnRequest,
  places: TurnPlaces,
): Promise<void> {
  const { served, limits } = places;
  const turn = served.begin(limits.turnMs);
  try {
    const asked = await ask(request, turn, places);
    await answer(response, turn, asked, places);
  } finally {
    turn.end();
  }
}

interface Asked extends Pick<TurnPrompt, "errors"> {
  readonly entry: SessionEntry;
}

/** Puts the user's message into the session. */
async function ask(
  { message, attachments }: TurnRequest,
  { signal }: RunningTurn,
  { served, blobs, roots }: TurnPlaces,
): Promise<Asked> {
  const { session } = served;
  const read = await readPrompt(message, attachments, { roots, sessionId: session.id, signal });
  const entry = await session.appendMessage(await messageOf(read, { blobs, signal }), { signal });
  return { entry, errors: read.errors };
}

async function answer(
  response: ServerResponse,
  turn: RunningTurn,
  { entry, errors }: Asked,
  places: TurnPlaces,
): Promise<void> {
  const { session } = places.served;
  const events = openEventStream(response, places.limits);
  const onEntry = (written: SessionEntry) => events.send("entry", summaryOf(session, written, written));
  onEntry(entry);
  if (errors.length > 0) events.send("warning", { failed: errors.map(named) });
  const onText = (text: string) => events.send("delta", { text });
  const outcome: readonly [event: string, data: unknown] = await runTurn({
    session,
    blobs: places.blobs,
    model: places.model,
    maker: places.maker,
    tools: places.tools,
    rounds: places.limits.rounds,
    signal: turn.signal,
    onText,
    onEntry,
  }).then(
    () => ["done", { leafId: session.leafId }],
    (error: unknown) => {
      places.report(error);
      return ["error", { error: failureOf(error).body }];
    },
  );
  // Before the client is told, so that it finds the way free for its next one.
  turn.end();
  events.send(...outcome);
  events.end();
}

/** Without the path, as the model is told of it. */
function named({ path, code, reason }: TurnPrompt["errors"][number]) {
  return { name: path.split(/[/\\]/).at(-1) ?? "", code, reason };
}

/** What a tool of a turn works with. */
export interface TurnToolPlaces {
  readonly session: Session;
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal: AbortSignal;
}

/** Runs one call, and gives what is to be appended: its result last. */
export type TurnTool = (call: ToolCall, places: TurnToolPlaces) => Promise<readonly EntryDraft[]>;

/** Tools by name. */
export type TurnTools = ReadonlyMap<string, TurnTool>;

/** The one tool that a model needs if attachments are sent once: to view one again. */
export const viewingTools: TurnTools = new Map([[viewToolName, view]]);

/** The tools as a model is told of them. */
export const viewingToolDeclarations: readonly Anthropic.Tool[] = [viewTool("anthropic")];

async function view(
  call: ToolCall,
  { session, blobs, signal }: TurnToolPlaces,
): Promise<readonly EntryDraft[]> {
  const drafts: EntryDraft[] = [];
  // The view is written with the result in one append, and the page is told of both.
  const viewed: ViewableSession = {
    leafId: session.leafId,
    tree: session.tree,
    entry: (id) => session.entry(id),
    append: async (views) => void drafts.push(...views),
  };
  const message = await runViewTool(viewed, call, { blobs, signal });
  return [...drafts, { type: "message", message }];
}

/** Runs a call. What goes wrong is a result too: the model is to see it. */
export async function runTurnTool(
  tools: TurnTools,
  call: ToolCall,
  places: TurnToolPlaces,
): Promise<readonly EntryDraft[]> {
  try {
    const tool = tools.get(call.name);
    if (tool === undefined) throw new Error(`there is no tool ${call.name}`);
    return await tool(call, places);
  } catch (error) {
    places.signal.throwIfAborted();
    const text = error instanceof Error ? error.message : String(error);
    return [{ type: "message", message: failedResult(call, text) }];
  }
}

/** Work, as long as the signal lets it: rejects with the signal's reason even where the work does not listen to it. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
  });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
