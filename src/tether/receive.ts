/** The way of a checked message into a session. */

import { type IngestOptions, ingest } from "../attachments/index.js";
import { type UserMessage, userMessage } from "../content/index.js";
import { type CheckedUserMessage, ensureChecked } from "./check.js";

/**
 * Converts a checked message to a user message for a session. Its images are stored in the blob store, byte
 * for byte, and the message refers to them as resources after the text. They are durable once it resolves, so
 * that the message can be appended. Projections prefix the text with the user's name. Without images the
 * content is a string; with images, an empty text is left out. A value that did not pass the check in this
 * process is checked here.
 *
 * @throws SessileError as {@link checkFrame} and the store
 * @example
 * ```ts
 * const checked = checkFrame(json);
 * if (checked.kind === "userMessage") await session.appendMessage(await receiveMessage(checked, { blobs }));
 * ```
 */
export async function receiveMessage(
  checked: CheckedUserMessage,
  options: Pick<IngestOptions, "blobs" | "newId" | "signal">,
): Promise<UserMessage> {
  const { frame, images } = ensureChecked(checked);
  const { text, user } = frame.payload;
  const { blobs, newId, signal } = options;
  const resources = await ingest(
    images.map(({ bytes }) => ({ bytes })),
    { blobs, newId, signal, source: "upload" },
  );
  const texts = text === "" && resources.length > 0 ? [] : [text];
  const message = userMessage(...texts, ...resources);
  return user?.name === undefined ? message : { ...message, name: user.name };
}
