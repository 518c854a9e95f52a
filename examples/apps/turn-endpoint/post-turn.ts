import type { ServerResponse } from "node:http";
import type { BlobStore } from "sessile/blobs";
import type { SessionEntry } from "sessile/session";
import type { Model } from "../support/model.js";
import { summaryOf } from "./entry-summary.js";
import { openEventStream } from "./event-stream.js";
import { failureOf } from "./http-failure.js";
import type { TurnLimits } from "./limits.js";
import { messageOf, readPrompt, type TurnPrompt } from "./prompt.js";
import { type RunTurnOptions, runTurn } from "./run-turn.js";
import type { RunningTurn, ServedSession } from "./served-session.js";
import type { TurnTools } from "./tools.js";
import type { TurnRequest } from "./turn-request.js";

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
