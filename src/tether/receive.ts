import { type IngestOptions, ingest } from "../attachments/index.js";
import { type UserMessage, userMessage } from "../content/index.js";
import { assuredMessage, type CheckedUserMessage } from "./check.js";

/**
 * Somebody's message for a session: its images go to the blob store, and the message holds resources in their place, behind
 * the text. Durable when it resolves, so that the message can be appended. The user's name becomes the message's, which
 * projections put before what was said. Without images the content is the text alone; without text there is no block of text.
 * The bytes are those that the check decoded, and are kept exactly as they came. A value that only has the type of a checked
 * message is checked here.
 *
 * @throws SessileError what {@link checkFrame} and the store throw
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
  const { frame, images } = assuredMessage(checked);
  const { text, user } = frame.payload;
  const { blobs, newId, signal } = options;
  const resources = await ingest(
    images.map(({ bytes }) => ({ bytes })),
    { blobs, ...(newId && { newId }), ...(signal && { signal }), source: "upload" },
  );
  const said = text === "" && resources.length > 0 ? [] : [text];
  const message = userMessage(...said, ...resources);
  return user?.name === undefined ? message : { ...message, name: user.name };
}
