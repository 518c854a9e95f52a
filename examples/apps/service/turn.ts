/**
 * A turn: the question is stored under the client's key, and answered by `runTurn`. A repeated request finds the answer, or
 * sees to it that there is one.
 */
import {
  blockResource,
  cacheConversation,
  type Resource,
  type Session,
  type SessionEntry,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { runTurn, type TurnOptions } from "sessile/turn";
import { HttpFailure } from "../support/http.js";
import { limits } from "./limits.js";

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
 * Answers a question, or returns the answer that it has. Any process can do so: one has the turn at a time, and a
 * question that comes meanwhile is stored, and answered behind the others.
 *
 * @param options.signal ends the work of this process; another one goes on with it
 * @throws HttpFailure 409 TURN_RUNNING if another process has the turn; 422 KEY_REUSED if the key belongs to another
 *   question
 */
export async function answerQuestion(
  session: Session,
  { key, text, attachments }: Question,
  { model, blobs, signal }: Pick<TurnOptions, "model" | "blobs"> & { readonly signal: AbortSignal },
): Promise<Turn> {
  const questionId = `${key}.question`;
  const asked = await session.entry(questionId);
  if (asked !== undefined && textOf(asked) !== text)
    throw new HttpFailure(422, { code: "KEY_REUSED", message: "the key belongs to another question" });
  const known = await answerTo(session, questionId);
  if (known !== undefined) return known;
  const close = () => void session.close();
  signal.addEventListener("abort", close);
  try {
    const message = userMessage(text, ...attachments);
    const options = { model, project: { cache: cacheConversation }, reply: { ttlMs: limits.claimMs } };
    await runTurn(session, { ...options, message, messageId: questionId, ...(blobs && { blobs }) });
    const turn = await answerTo(session, questionId);
    if (turn !== undefined) return turn;
  } finally {
    signal.removeEventListener("abort", close);
  }
  const body = { code: "TURN_RUNNING", message: "another turn of this session runs; ask again" };
  throw new HttpFailure(409, body, { "retry-after": "1" });
}

/** The first whole reply behind a question. */
async function answerTo(session: Session, questionId: string): Promise<Turn | undefined> {
  const tree = await session.tree();
  for (let node = tree.children(questionId)[0]; node !== undefined; node = tree.children(node.id)[0]) {
    const entry = node.type === "message" ? await session.entry(node.id) : undefined;
    if (entry?.type !== "message" || entry.message.role !== "assistant") continue;
    const { stopReason } = entry.message;
    if (stopReason === "toolUse" || stopReason === "aborted" || stopReason === "error") continue;
    return { questionId, answerId: entry.id, answer: textOf(entry) };
  }
  return undefined;
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
