/**
 * A turn: the question is appended, the model is asked, the answer is appended. The ids of both entries
 * derive from the client's key, so a repeated request finds the turn, or finishes it.
 */
import {
  blockResource,
  type Resource,
  type Session,
  type SessionEntry,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import type { Model } from "../support/claude.js";
import { HttpFailure } from "../support/http.js";

/** A question of a client. */
export interface Question {
  /** Unique within the session: the request's `Idempotency-Key`. */
  readonly key: string;
  readonly text: string;
  readonly attachments: readonly Resource[];
}

/** A finished turn: both entries are in the log. */
export interface Turn {
  readonly questionId: string;
  readonly answerId: string;
  readonly answer: string;
}

/**
 * Runs a turn, or returns the one that has this key. Any process can do so: the first answer that is appended
 * counts, and a second one is discarded.
 *
 * @param options.turnMs after this time an unanswered question blocks the session no longer
 * @throws HttpFailure 409 TURN_RUNNING if another question waits for its answer; 409 TURN_OVERTAKEN if
 *   another turn went on before this one had its answer; 422 KEY_REUSED if the key belongs to another
 *   question
 */
export async function runTurn(
  session: Session,
  { key, text, attachments }: Question,
  { model, signal, turnMs }: { readonly model: Model; readonly signal: AbortSignal; readonly turnMs: number },
): Promise<Turn> {
  const [questionId, answerId] = [`${key}.question`, `${key}.answer`];
  const answered = async (): Promise<Turn | undefined> => {
    const answer = await session.entry(answerId);
    return answer && { questionId, answerId, answer: textOf(answer) };
  };
  const asked = await session.entry(questionId);
  if (asked !== undefined && textOf(asked) !== text) {
    throw new HttpFailure(422, { code: "KEY_REUSED", message: "the key belongs to another question" });
  }
  const known = await answered();
  if (known !== undefined) return known;
  if (asked === undefined) {
    await assertIdle(session, turnMs);
    const message = userMessage(text, ...attachments);
    await session.append([{ type: "message", id: questionId, message }]).catch((error: unknown) => {
      throw SessileError.is(error, "CONCURRENT_WRITER") ? turnRuns() : error;
    });
  }
  const message = await model.generate(await session.context(questionId), { signal });
  try {
    await session.append([{ type: "message", id: answerId, message }], { after: questionId });
  } catch (error) {
    if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
    await session.refresh();
  }
  const turn = await answered();
  if (turn === undefined) throw overtaken();
  return turn;
}

/** A question without an answer belongs to a running turn, or to a process that died. */
async function assertIdle(session: Session, turnMs: number): Promise<void> {
  const turn = await session.turnState();
  if (turn.state !== "awaitingReply") return;
  const waiting = await session.entry(turn.entryId);
  if (waiting !== undefined && Date.now() - Date.parse(waiting.timestamp) < turnMs) throw turnRuns();
}

function turnRuns(): HttpFailure {
  const body = { code: "TURN_RUNNING", message: "another turn of this session runs" };
  return new HttpFailure(409, body, { "retry-after": "1" });
}

function overtaken(): HttpFailure {
  const message = "the session went on without an answer to this question; ask again with another key";
  return new HttpFailure(409, { code: "TURN_OVERTAKEN", message });
}

/** The text of a message, without descriptors of attachments. */
export function textOf(entry: SessionEntry | UnknownEntry): string {
  if (entry.type !== "message" || !("content" in entry.message)) return "";
  const { content } = entry.message;
  if (typeof content === "string") return content;
  return content
    .flatMap((block) => (block.type === "text" && !blockResource(block) ? [block.text] : []))
    .join("\n");
}
