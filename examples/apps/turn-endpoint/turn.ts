import type { ServerResponse } from "node:http";
import type Anthropic from "@anthropic-ai/sdk";
import {
  assistantMessage,
  type BlobStore,
  type EntryDraft,
  type Session,
  type SessionEntry,
  type ToolCall,
  toolCalls,
} from "sessile";
import { runViewTool, type ViewableSession, viewTool, viewToolName } from "sessile/attachments";
import { failureOf, HttpFailure, openEventStream } from "../support/http.js";
import { failedResult } from "../support/tools.js";
import type { Model } from "./claude.js";
import type { TurnLimits } from "./limits.js";
import { messageOf, readPrompt, type TurnPrompt, type TurnRequest } from "./prompt.js";
import { type RunningTurn, type ServedSession, summaryOf } from "./served-session.js";

/** Options of {@link runTurn}. */
export interface RunTurnOptions {
  readonly session: Session;
  readonly blobs: Pick<BlobStore, "get">;
  readonly model: Model;
  /** The provider and model of a reply that broke off. */
  readonly maker: { readonly provider: string; readonly model: string };
  readonly tools: TurnTools;
  readonly rounds: number;
  readonly signal: AbortSignal;
  /** Called with each piece of a reply as it arrives. */
  readonly onText: (text: string) => void;
  /** Called with each entry once it is durable. */
  readonly onEntry: (entry: SessionEntry) => void;
}

/**
 * Asks the model and runs its tools, until it calls none. Every message is durable before it is announced.
 * The text of a reply that breaks off is stored, because it was shown.
 *
 * @throws the signal's reason; HttpFailure if the model fails, or calls tools for too many rounds
 */
async function runTurn(options: RunTurnOptions): Promise<void> {
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

/** Maximum characters to store of a reply that broke off. */
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

/** The provider's message, such as that the key is invalid or the model unknown. */
function modelFailure(error: unknown): HttpFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new HttpFailure(502, { code: "MODEL_FAILED", message: message.slice(0, maxMessage).toWellFormed() });
}

/** The dependencies of turns. */
export interface TurnDependencies {
  readonly served: ServedSession;
  readonly blobs: BlobStore;
  readonly model: Model;
  readonly maker: RunTurnOptions["maker"];
  readonly tools: TurnTools;
  /** Directories that attachments may lie in. */
  readonly roots: readonly string[];
  readonly limits: TurnLimits;
  /** Called with errors after the response has begun; it logs those that are the server's fault. */
  readonly report: (error: unknown) => void;
}

/**
 * Answers a turn. Until the user's message is durable, a failure is an HTTP status and nothing is stored;
 * after that it is an event. The turn runs to its end also if the client disconnects.
 *
 * @throws HttpFailure 400 and 409; errors of the stores
 */
export async function postTurn(
  response: ServerResponse,
  request: TurnRequest,
  places: TurnDependencies,
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
  /** Absent if it was there before. */
  readonly entry?: SessionEntry;
}

/** Stores the user's message; for another reply the leaf is one already. */
async function ask(
  { message, attachments, again }: TurnRequest,
  { signal }: RunningTurn,
  { served, blobs, roots }: TurnDependencies,
): Promise<Asked> {
  const { session } = served;
  if (again === true) {
    const leaf = session.leafId === null ? undefined : await session.entry(session.leafId);
    if (leaf?.type === "message" && leaf.message.role === "user") return { errors: [] };
    const message = "the leaf is no message of the user, so that no reply can follow it";
    throw new HttpFailure(409, { code: "NOTHING_TO_ANSWER", message });
  }
  const read = await readPrompt(message, attachments, { roots, sessionId: session.id, signal });
  const entry = await session.appendMessage(await messageOf(read, { blobs, signal }), { signal });
  return { entry, errors: read.errors };
}

async function answer(
  response: ServerResponse,
  turn: RunningTurn,
  { entry, errors }: Asked,
  places: TurnDependencies,
): Promise<void> {
  const { session } = places.served;
  const events = openEventStream(response, places.limits);
  const tree = await session.tree();
  const onEntry = (entry: SessionEntry) => events.send("entry", { ...summaryOf(tree, entry, entry), entry });
  if (entry !== undefined) onEntry(entry);
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
  // Before the last event, so that the client can begin its next turn at once.
  turn.end();
  events.send(...outcome);
  events.end();
}

/** Without the path, as in the model's text. */
function named({ path, code, reason }: TurnPrompt["errors"][number]) {
  return { name: path.split(/[/\\]/).at(-1) ?? "", code, reason };
}

/** The arguments of a tool. */
export interface ToolContext {
  readonly session: Session;
  readonly blobs: Pick<BlobStore, "get">;
  readonly signal: AbortSignal;
}

/** Runs one call, and returns the entries to append, the result last. */
export type TurnTool = (call: ToolCall, places: ToolContext) => Promise<readonly EntryDraft[]>;

/** Tools by name. */
export type TurnTools = ReadonlyMap<string, TurnTool>;

/** The tool that views an attachment again, for requests that send each attachment once. */
export const viewingTools: TurnTools = new Map([[viewToolName, view]]);

/** The declarations of the tools for a model. */
export const viewingToolDeclarations: readonly Anthropic.Tool[] = [viewTool("anthropic")];

async function view(call: ToolCall, { session, blobs, signal }: ToolContext): Promise<readonly EntryDraft[]> {
  const drafts: EntryDraft[] = [];
  // The view and the result are one append.
  const viewed: ViewableSession = {
    leafId: session.leafId,
    tree: () => session.tree(),
    entry: (id) => session.entry(id),
    append: async (views) => void drafts.push(...views),
  };
  const message = await runViewTool(viewed, call, { blobs, signal });
  return [...drafts, { type: "message", message }];
}

/** Runs a call. A failure is a result too, which the model sees. */
async function runTurnTool(
  tools: TurnTools,
  call: ToolCall,
  places: ToolContext,
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

/** Waits for work, and rejects with the signal's reason if it aborts, also if the work ignores the signal. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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
