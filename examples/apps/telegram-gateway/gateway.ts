import { SessileError } from "sessile/errors";
import { tetherLimits } from "sessile/limits";
import { type FrameImage, readFrame, tetherImage, userMessageFrame } from "sessile/tether";
import type { TetherAgent } from "../support/tether-agent.js";
import type { BotApi } from "./bot-api.js";
import { fieldsOf, integerOf, TelegramError, TooManyBytes, textOf } from "./bot-api.js";
import { chatQueues } from "./chat-queues.js";
import type { Inbox, Taken, Task } from "./inbox.js";
import { imageTypesTaken, type PhotoToFetch, planIncoming, tooLarge } from "./incoming.js";
import { LiveMessage } from "./live-message.js";
import { type Chat, chatOf, isBlank, planOutgoing, sendAnswer } from "./outgoing.js";
import { pollUpdates, type Update } from "./poll.js";
import { type Clock, systemClock, withRetries } from "./retry.js";

/** Options of {@link runGateway}. */
export interface GatewayOptions {
  readonly api: BotApi;
  readonly agent: TetherAgent;
  readonly inbox: Inbox;
  /** Stops polling and new answers; running answers are finished. */
  readonly signal: AbortSignal;
  /** Whether a chat is answered. Default all: anyone can write to a bot. */
  readonly mayWrite?: (chatId: number) => boolean;
  readonly clock?: Clock;
  /** Called with a line for the log, which never contains the token. */
  readonly onProblem?: (problem: string) => void;
}

/** Each running task may hold several copies of an image. Telegram keeps unread updates for a day. */
const bounds = { maxRunning: 8, maxWaiting: 200 };

/**
 * Carries messages between Telegram and an agent until the signal aborts. Text and photos go to the agent as
 * frames, and its answers go back.
 *
 * @throws TelegramError for an unknown token
 */
export async function runGateway(options: GatewayOptions): Promise<void> {
  const { api, inbox, signal, clock = systemClock, onProblem } = options;
  const queues = chatQueues((taken: WaitingTask) => finish(taken, options, clock), bounds);
  for (const taken of inbox.waiting) queues.add(taken.task.chatId, taken);
  try {
    for await (const updates of pollUpdates(api, { clock, signal, ...(onProblem && { onProblem }) })) {
      const taken = takeOver(updates, options);
      if (taken.length > 0) await inbox.take(taken);
      for (const one of taken) if (isWaiting(one)) queues.add(one.task.chatId, one);
      await queues.room(signal);
    }
  } finally {
    await queues.close();
  }
}

/** The new updates of a batch, each with its task. */
function takeOver(
  updates: readonly Update[],
  { inbox, mayWrite = () => true, onProblem }: GatewayOptions,
): readonly Taken[] {
  const albums = new Set(inbox.albums);
  const taken = new Map<number, Taken>();
  for (const update of updates) {
    const { update_id: updateId } = update;
    if (inbox.has(updateId) || taken.has(updateId)) continue;
    const plan = planIncoming(update, albums);
    const allowed = plan.kind !== "ignore" && mayWrite(plan.chatId);
    if (plan.kind !== "ignore" && !allowed) onProblem?.(`chat ${plan.chatId} may not write`);
    if (allowed && plan.album !== undefined) albums.add(plan.album);
    taken.set(updateId, allowed ? { updateId, task: plan } : { updateId });
  }
  return [...taken.values()];
}

type WaitingTask = Taken & { readonly task: Task };

function isWaiting(taken: Taken): taken is WaitingTask {
  return taken.task !== undefined;
}

/** Runs a task and records that it is done. Never rejects. */
async function finish({ updateId, task }: WaitingTask, options: GatewayOptions, clock: Clock): Promise<void> {
  const { api, inbox, onProblem } = options;
  try {
    const chat = chatOf(api, task.chatId, clock);
    try {
      if (task.kind === "reply") await chat.sendText(task.text);
      else await answer(updateId, task, chat, options, clock);
    } catch (error) {
      const refused = error instanceof Refusal;
      // A refused message is the sender's mistake and is not logged.
      if (!refused || error.cause !== undefined) onProblem?.(wordsOf(refused ? error.cause : error));
      await chat.sendText(refused ? error.message : "Something went wrong. Please try again.");
    }
  } catch (error) {
    onProblem?.(wordsOf(error));
  }
  await inbox.done(updateId).catch((error: unknown) => onProblem?.(wordsOf(error)));
}

async function answer(
  updateId: number,
  task: Extract<Task, { readonly kind: "message" }>,
  chat: Chat,
  { api, agent, onProblem }: GatewayOptions,
  clock: Clock,
): Promise<void> {
  // Progress is not retried: it is soon out of date.
  const withoutRetries = chatOf(api, task.chatId, clock, (call) => call());
  await withoutRetries.showTyping().catch((error: unknown) => onProblem?.(wordsOf(error)));
  const session = { channel: "telegram", id: String(task.chatId) };
  const images = task.photo === undefined ? [] : [await fetchPhoto(task.photo, api, clock)];
  // The frame is checked here, and again by the agent.
  const frame = userMessageFrame(
    session,
    { text: task.text, ...(images.length > 0 && { images }), ...(task.user && { user: task.user }) },
    { msgId: `telegram-${updateId}` },
  );
  const live = new LiveMessage(withoutRetries, clock);
  try {
    let text = "";
    let ended = false;
    for await (const answered of agent.answer(frame)) {
      const said = readFrame(answered);
      if (said.kind === "assistantDelta") {
        text += said.frame.payload.text;
        live.show(text);
      } else if (said.kind === "assistantDone") {
        ended = true;
        await send(said.frame.payload.text, said.images, chat, live, onProblem);
      }
    }
    if (!ended) throw new Error(noAnswer);
  } finally {
    await live.end();
  }
}

async function send(
  text: string,
  images: readonly FrameImage[],
  chat: Chat,
  live: LiveMessage,
  onProblem: GatewayOptions["onProblem"],
): Promise<void> {
  const failed = await sendAnswer(chat, planOutgoing({ text, images }), images, await live.end());
  if (failed.length > 0) onProblem?.(`images that could not be sent: ${failed.length}`);
  // The sender waits: an empty answer is an error that is reported.
  if (isBlank(text) && failed.length === images.length) throw new Error(noAnswer);
}

const noAnswer = "the agent gave no answer";

/** A refusal for the sender of a message; with a cause if it is not the sender's mistake alone. */
class Refusal extends Error {}

/** Telegram's size and type are not trusted: the download is bounded, and the bytes are sniffed. */
async function fetchPhoto({ fileId, size }: PhotoToFetch, api: BotApi, clock: Clock) {
  const maxBytes = tetherLimits.maxImageBytes;
  try {
    const file = fieldsOf(await withRetries(() => api.call("getFile", { file_id: fileId }), clock));
    const told = integerOf(file?.file_size) ?? size ?? 0;
    if (told > maxBytes) throw new Refusal(tooLarge(told));
    const path = textOf(file?.file_path);
    if (path === undefined) throw new TelegramError("getFile", "the answer has no file_path");
    return tetherImage(await withRetries(() => api.download(path, { maxBytes }), clock));
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  // getFile gives files of 20 MB at most: https://core.telegram.org/bots/api#getfile, read 2026-11-22.
  if (error instanceof TooManyBytes || isTooBig(error)) return new Refusal(tooLarge());
  if (error instanceof SessileError) return new Refusal(`That is no image. ${imageTypesTaken}`);
  if (!(error instanceof TelegramError)) return error;
  return new Refusal("That image could not be fetched. Please send it again.", { cause: error });
}

function isTooBig(error: unknown): boolean {
  return error instanceof TelegramError && /file is too big/.test(error.message);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
