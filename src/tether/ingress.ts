import type { IngestOptions } from "../attachments/index.js";
import type { UserMessage } from "../content/index.js";
import type { CheckedUserMessage } from "./check.js";

/**
 * Somebody's message for a session: its images go to the blob store, and the message holds resources in their place, behind
 * the text. Durable when it resolves, so that the message can be appended. The user's name becomes the message's, which
 * projections put before what was said.
 *
 * @throws SessileError what the store throws
 * @example
 * ```ts
 * const checked = readFrame(body);
 * if (checked.kind === "userMessage") await session.appendMessage(await receiveMessage(checked, { blobs }));
 * ```
 */
export declare function receiveMessage(
  checked: CheckedUserMessage,
  options: Pick<IngestOptions, "blobs" | "newId" | "signal">,
): Promise<UserMessage>;
