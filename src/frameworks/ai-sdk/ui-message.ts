/** Messages and stream chunks of the AI SDK's user interfaces, as far as the adapter reads them. */

import { isRecord } from "../../core/shape.js";

/** A message of `useChat`, versions 6 and 7. Fields that are not named here are kept. */
export interface UiMessage {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: { type: string }[];
}

/** A chunk of a UI message stream. */
export interface UiChunk {
  type: string;
}

/** A part with the fields that its type has. */
export type UiPart = { type: string; [field: string]: unknown };

/** A part whose `url` may be a data URL with the bytes of a file. */
export interface FilePart {
  readonly type: "file" | "reasoning-file";
  readonly url: string;
  readonly mediaType?: unknown;
  readonly filename?: unknown;
}

export function isFilePart(part: unknown): part is FilePart {
  return (
    isRecord(part) && (part.type === "file" || part.type === "reasoning-file") && typeof part.url === "string"
  );
}

/** The parts of a message; empty for a value that is no message. */
export function messageParts(message: unknown): readonly unknown[] {
  return isRecord(message) && Array.isArray(message.parts) ? message.parts : [];
}

/** The head of a data URL with base64, such as `data:image/png;base64,`; undefined for any other text. */
export function dataUrlHead(url: string): string | undefined {
  if (!url.startsWith("data:")) return undefined;
  const head = url.slice(0, url.indexOf(",") + 1);
  return head.endsWith(";base64,") ? head : undefined;
}
