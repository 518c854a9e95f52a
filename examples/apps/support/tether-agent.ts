import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import type { BlobStore, Session, SessionStore } from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import {
  type AssistantDeltaFrame,
  type AssistantDoneFrame,
  assistantDelta,
  assistantDone,
  type CheckedUserMessage,
  finishTurn,
  readFrame,
  receiveMessage,
  type TetherFrame,
  type TetherSession,
  tetherSessionId,
  windowContext,
} from "sessile/tether";
import { runTurn, steer, type TurnEnd, type TurnOptions } from "sessile/turn";

/** Options of {@link tetherAgent}. An image in a result of a tool is sent with the answer. */
export interface TetherAgentOptions
  extends Pick<TurnOptions, "model" | "tools" | "project" | "onRequest" | "retry"> {
  /** The directory of its sessions and blobs, laid out by {@link agentHome}. */
  readonly dir: string;
  /** The agent's name: one conversation with two agents is two sessions. */
  readonly instance: string;
  /** Characters of the newest part of a conversation that the model gets. Default 400 000. */
  readonly maxCharacters?: number;
  /** Default five minutes. */
  readonly maxTurnMs?: number;
  /** Messages of all conversations that wait or are being answered. Default 16. */
  readonly maxTurns?: number;
}

/** Options of {@link TetherAgent.answer}. */
export interface AnswerOptions {
  readonly signal?: AbortSignal;
  /** Called with the id of the message's entry once it is durable. */
  readonly onKept?: (entryId: string) => void;
}

/** A piece of an answer, or its end. */
export type AnswerFrame = AssistantDeltaFrame | AssistantDoneFrame;

/** An agent that receives and sends frames, with one session for each conversation. */
export interface TetherAgent {
  /**
   * Answers a message, given as bytes, text or a value, with pieces of the answer and then its end. The
   * message is checked here, also if the sender checked it. Messages of one conversation are answered in the
   * order of the calls, one at a time. A failure is an answer too. The turn begins with the call and runs to
   * its end, also if the frames are not read. The frames have the id of the message, prefixed with `re:`.
   *
   * @throws SessileError errors of `readFrame`; INVALID_MESSAGE for a frame that is not a message, and if
   *   the id of the message or its conversation is too long for the frames of an answer
   */
  answer(received: unknown, options?: AnswerOptions): AsyncIterable<AnswerFrame>;
  /** Whether a message of this conversation is being answered; another one would wait. */
  isBusy(frame: Pick<TetherFrame, "session">): boolean;
}

/** Makes an agent from a model, tools and a directory. */
export function tetherAgent(options: TetherAgentOptions): TetherAgent {
  const { dir, instance, maxTurns = 16 } = options;
  const home = agentHome(dir);
  const turns = new TurnQueue();
  const idOf = ({ session }: Pick<TetherFrame, "session">) => tetherSessionId(session, instance);
  return {
    answer(received, { signal, onKept } = {}) {
      const message = messageIn(received);
      const { frame } = message;
      const { session: to, msg_id } = frame;
      assertNames({ "session.channel": to.channel, "session.id": to.id, msg_id });
      const msgId = `re:${msg_id ?? randomUUID()}`;
      const { frames, push, end } = stream<AnswerFrame>();
      const turn = async () => {
        const late = AbortSignal.timeout(options.maxTurnMs ?? 300_000);
        const stop = signal === undefined ? late : AbortSignal.any([late, signal]);
        const noteOf = (error: unknown) => (stop.aborted ? stopped : failure(error));
        const pieces = new TextPieces((text) => push(assistantDelta(to, text, { msgId })));
        try {
          await using session = await openOrCreate(home.sessions, idOf(frame), resolve(dir));
          const said = await receiveMessage(message, { blobs: home.blobs, signal: stop });
          // Durable at once, also behind a turn that the last process left.
          const id = await steer(session, said);
          onKept?.(id);
          const { maxCharacters = 400_000, model, tools = [], project = {}, onRequest, retry } = options;
          const note = await runTurn(session, {
            ...{ model, tools, project, blobs: home.blobs, signal: stop, maxSteps },
            ...(onRequest && { onRequest }),
            ...(retry && { retry }),
            select: (context) => windowContext(context, maxCharacters),
            onDelta: (delta, { id }) => delta.type === "text" && pieces.add(delta.text, id),
          }).then(({ reason }) => endings[reason], noteOf);
          pieces.flush();
          push(await doneFrame(session, to, home, msgId, note));
        } catch (error) {
          push(assistantDone(to, noteOf(error), undefined, { msgId }));
        }
        end();
      };
      if (turns.size < maxTurns) turns.add(idOf(frame), turn);
      else {
        push(assistantDone(to, "Too many messages are waiting. Say it again later.", undefined, { msgId }));
        end();
      }
      return frames;
    },
    isBusy: (frame) => turns.has(idOf(frame)),
  };
}

/** The sender's own check is not trusted. */
function messageIn(received: unknown): CheckedUserMessage {
  const checked = readFrame(received);
  if (checked.kind === "userMessage") return checked;
  throw new SessileError("INVALID_MESSAGE", 'type: expected "user.message"', {
    details: { path: "type", expected: '"user.message"' },
  });
}

const maxNameLength = 1000;

/** Each frame of an answer repeats the names, and the ring keeps the frames. */
function assertNames(names: Readonly<Record<string, string | undefined>>): void {
  for (const [path, name = ""] of Object.entries(names)) {
    if (name.length <= maxNameLength) continue;
    const expected = `at most ${maxNameLength} characters`;
    throw new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
      details: { path, expected },
    });
  }
}

const maxSteps = 20;
const stopped = "Stopped before the answer was whole.";
/** What is said of a turn that ended otherwise than by an answer. */
const endings: Partial<Record<TurnEnd["reason"], string>> = {
  aborted: stopped,
  steps: `I still call tools after ${maxSteps} rounds.`,
  busy: "Another process is answering this conversation.",
};

/**
 * The text for the sender: the code of an error, because its message may have paths, or one line of the model
 * client's message.
 */
function failure(error: unknown): string {
  if (error instanceof SessileError) return `I could not answer: ${error.code}.`;
  return `I could not answer: ${oneLine(error instanceof Error ? error.message : String(error), 200)}`;
}

/**
 * Untrusted text as one line of a terminal: no control characters or line breaks, at most `width` characters.
 */
function oneLine(text: string, width: number): string {
  // Text far behind the end of the line is not needed.
  const line = text
    .slice(0, 8 * width)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= width ? line : `${characters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** The end of the turn, with the reason for each omitted image, and for an answer that is not whole. */
async function doneFrame(
  session: Session,
  to: TetherSession,
  { blobs }: AgentHome,
  msgId: string,
  note: string | undefined,
): Promise<AssistantDoneFrame> {
  const context = await session.context();
  const items = context.items.map((item) => {
    if (item.message.role !== "assistant") return item;
    // The client's words of a failure may have paths.
    const { errorMessage: _, ...message } = item.message;
    return { ...item, message };
  });
  const { frame, omitted } = await finishTurn(to, { ...context, items }, { blobs, msgId });
  const notes = omitted.map(({ reason }) => `[An image is left out: ${reason}.]`);
  const { text } = frame.payload;
  const whole = [[text, ...notes].filter((part) => part !== "").join("\n"), note ?? ""];
  return { ...frame, payload: { ...frame.payload, text: whole.filter((part) => part !== "").join("\n\n") } };
}

async function openOrCreate(sessions: SessionStore, id: string, cwd: string): Promise<Session> {
  try {
    return await sessions.open(id, { mode: "write" });
  } catch (error) {
    if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
    return sessions.create({ id, cwd });
  }
}

/** A stream of pushed values for one reader. A reader that stops loses the rest. */
function stream<T>() {
  let to: ReadableStreamDefaultController<T> | undefined;
  const frames = new ReadableStream<T>({
    start(controller) {
      to = controller;
    },
    cancel() {
      to = undefined;
    },
  });
  return { frames, push: (value: T) => to?.enqueue(value), end: () => to?.close() };
}

/** Characters after which a piece is sent at once. */
const pieceLength = 200;
const pieceMs = 300;

/**
 * Collects streamed text into pieces, each of a minimum length or after a minimum time. One frame for each
 * word would fill a ring of a thousand frames with one answer.
 */
class TextPieces {
  readonly #give: (text: string) => void;
  #text = "";
  #givenAt = Number.NEGATIVE_INFINITY;
  #replyId = "";

  constructor(give: (text: string) => void) {
    this.#give = give;
  }

  add(text: string, replyId: string): void {
    if (replyId !== this.#replyId) this.flush();
    this.#replyId = replyId;
    this.#text += text;
    if (this.#text.length >= pieceLength || performance.now() - this.#givenAt >= pieceMs) this.flush();
  }

  /** Sends the rest. */
  flush(): void {
    if (this.#text === "") return;
    this.#give(this.#text);
    this.#text = "";
    this.#givenAt = performance.now();
  }
}

/**
 * Runs the turns of one conversation in the order of the calls, and those of several conversations
 * concurrently.
 */
class TurnQueue {
  readonly #last = new Map<string, Promise<void>>();
  /** Turns that have not ended. */
  size = 0;

  /** Whether a turn of this conversation is running or waits. */
  has(conversation: string): boolean {
    return this.#last.has(conversation);
  }

  /** @param turn must not reject */
  add(conversation: string, turn: () => Promise<void>): void {
    this.size++;
    const mine = (this.#last.get(conversation) ?? Promise.resolve()).then(turn).finally(() => {
      this.size--;
      // The last turn removes the conversation.
      if (this.#last.get(conversation) === mine) this.#last.delete(conversation);
    });
    this.#last.set(conversation, mine);
  }
}

/** The stores and the workspace of an agent. */
export interface AgentHome {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  /** The directory in which its tools work. */
  readonly workspace: string;
}

/**
 * Opens an agent's directory: `sessions/` with a file for each conversation,
 * `sessions/blobs/<sha256>.<extension>` with the bytes that they name, and `workspace/`.
 */
export function agentHome(dir: string): AgentHome {
  const sessions = join(dir, "sessions");
  const blobs = fileBlobStore({ dir: sessions, layout: "flat" });
  return {
    sessions: fileSessionStore({ dir: sessions, blobs }),
    blobs,
    workspace: join(dir, "workspace"),
  };
}
