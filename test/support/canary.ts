/** A text that is looked for in every byte of a store: as it is, in base64, and in hexadecimal digits. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** ASCII without characters that JSON escapes. */
export const canary = "c4nary-7f3a91d0e2";

/** The forms of the canary in bytes: base64 at each of its three offsets, without the characters at the ends. */
function formsOf(text: string): readonly string[] {
  const inBase64 = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.from(`${"x".repeat(offset)}${text}`)
      .toString("base64")
      .replace(/=+$/, "");
    const core = encoded.slice(offset === 0 ? 0 : 4, -2);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [text, ...inBase64, Buffer.from(text).toString("hex")];
}

/** The forms of a text that bytes contain. */
function formsIn(bytes: Uint8Array, text = canary): readonly string[] {
  const searched = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return formsOf(text).filter((form) => searched.includes(form));
}

/** Whether bytes contain the canary in any form. */
export function bytesWithCanary(bytes: Uint8Array, text = canary): boolean {
  return formsIn(bytes, text).length > 0;
}

/** The files below a directory whose bytes, or whose names, contain the canary in any form. */
export function filesWithCanary(directory: string, text = canary): readonly string[] {
  const found: string[] = [];
  for (const { name, parentPath } of readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
  )) {
    const path = join(parentPath, name);
    if (path.includes(text) || formsIn(readFileSync(path), text).length > 0) found.push(path);
  }
  return found;
}

const identifiers = new Set([
  ...["type", "role", "id", "parentId", "timestamp", "provider", "model", "modelId", "api", "stopReason"],
  ...["toolCallId", "toolName", "customType", "targetId", "fromId", "firstKeptEntryId", "retain", "strategy"],
  ...["kind", "resourceId", "thinkingLevel", "partId", "archivedAt", "namespace", "blob", "contentSha256"],
  ...["mimeType", "mediaType", "action"],
]);

/** A value with the canary in each of its texts, but for ids and names of types. */
export function withCanary<T>(value: T, key = "", owner: unknown = undefined): T {
  const isCall = (owner as { type?: unknown } | undefined)?.type === "toolCall";
  if (identifiers.has(key) && !(isCall && key !== "type" && key !== "id" && key !== "namespace"))
    return value;
  if (isCall && key === "name") return value;
  if (typeof value === "string") return `${canary}${value}` as T;
  if (Array.isArray(value)) return value.map((item) => withCanary(item)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withCanary(member, name, value)]),
  ) as T;
}
