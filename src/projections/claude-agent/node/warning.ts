import type { AttachmentError } from "./failure.js";
import { plainName } from "./plain-name.js";

const maxBullets = 3;

/** What the model reads of attachments that failed, in a few lines whatever they are called; "" where none did. */
export function warningText(errors: readonly AttachmentError[], attachments: number): string {
  if (errors.length === 0) return "";
  const bullets = errors.slice(0, maxBullets).map(({ path, reason }) => `- "${plainName(path)}": ${reason}`);
  const more = errors.length - bullets.length;
  return [
    `Warning: ${errors.length} of ${attachments} attachments could not be used and are not shown here:`,
    ...bullets,
    ...(more === 0 ? [] : [`and ${more} additional`]),
  ].join("\n");
}
