import type { Chat, ChatImage } from "./chat.js";
import type { ImageSend, OutgoingPlan } from "./plan-outgoing.js";
import { TelegramError } from "./telegram-error.js";

/** A message that showed the answer while it was written. */
export interface ShownMessage {
  readonly messageId: number;
  readonly text: string;
}

/**
 * Carries out a plan. Where there are no images, the message that is there already becomes the first text. Where there are some,
 * they go out first and the text behind them, and then that message is deleted: it stands above the images, and so the text is in the
 * chat at every moment.
 *
 * @returns which images were not taken, in any way
 * @throws TelegramError when text could not be sent
 */
export async function sendAnswer(
  chat: Chat,
  plan: OutgoingPlan,
  images: readonly ChatImage[],
  shown?: ShownMessage,
): Promise<readonly number[]> {
  const failed: number[] = [];
  for (const send of plan.images) {
    if (!(await sendImage(chat, send, images[send.image]))) failed.push(send.image);
  }
  const captionLost = plan.images.some(
    ({ image, caption }) => caption !== undefined && failed.includes(image),
  );
  const texts = captionLost ? plan.textsWithoutCaption : plan.texts;
  const kept = plan.images.length === 0 && (await replaceText(chat, shown, texts[0]));
  for (const text of kept ? texts.slice(1) : texts) await chat.sendText(text);
  // One that cannot be deleted any more stays.
  if (shown !== undefined && !kept) await chat.deleteMessage(shown.messageId).catch(ignoreRefusal);
  return failed;
}

async function sendImage(chat: Chat, { methods, caption }: ImageSend, image?: ChatImage): Promise<boolean> {
  if (image === undefined) return false;
  for (const method of methods) {
    try {
      await chat.sendImage(method, image, caption);
      return true;
    } catch (error) {
      ignoreRefusal(error);
    }
  }
  return false;
}

/** Whether the message now has the text: somebody may have deleted it. */
async function replaceText(
  chat: Chat,
  shown: ShownMessage | undefined,
  text: string | undefined,
): Promise<boolean> {
  if (shown === undefined || text === undefined) return false;
  try {
    if (shown.text !== text) await chat.editText(shown.messageId, text);
    return true;
  } catch (error) {
    ignoreRefusal(error);
    return false;
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof TelegramError)) throw error;
}
