/** The preview of a message in a list: the user's text, without the descriptors of attachments. */

import { blockResource } from "../../content/index.js";
import { collapsed, spaced } from "../../core/text.js";
import type { SessionEntry, UnknownEntry } from "../../log/internal.js";

export const maxPreviewLength = 200;

/**
 * The preview of a user message: its text without descriptors, or the names of its attachments if it has no
 * text. Undefined for any other entry, and without both.
 */
export function firstText(entry: SessionEntry | UnknownEntry | undefined): string | undefined {
  if (entry?.type !== "message" || entry.message.role !== "user") return undefined;
  const { content } = entry.message;
  if (typeof content === "string") return partPreview([{ text: content }]);
  return partPreview(
    content.map((block) => {
      const resource = blockResource(block);
      if (resource !== undefined) return resource.name === undefined ? {} : { name: resource.name };
      return block.type === "text" ? { text: block.text } : {};
    }),
  );
}

/**
 * The preview of parts in order: the texts, or the names if no text remains. Texts of other writers may
 * contain descriptors as plain text; these count as attachments.
 */
export function partPreview(
  parts: readonly { readonly text?: string; readonly name?: string }[],
): string | undefined {
  const names: string[] = [];
  const named = (name: string | undefined) => {
    const line = name === undefined ? "" : spaced(name);
    if (line) names.push(line);
  };
  const texts = parts.flatMap(({ text, name }) => {
    named(name);
    return text === undefined ? [] : [withoutDescriptors(text, named)];
  });
  return cut(texts.join(" ")) ?? cut(names.join(", "));
}

/** The texts that `describeResource` and `describeImage` make. No part of them has brackets. Linear. */
const descriptor =
  /\[(image|file|link)( [^[\]]{0,9999}|), (?:res_[0-9a-f]{16}|[^[\],/]{0,127}\/[^[\],]{0,127}, [\d.]{1,20} [kM]?B)\]|\[(image|file), [^[\]]{0,9999}, [\d.]{1,20} [kM]?B, res_[0-9a-f]{16}\]/g;

function withoutDescriptors(text: string, named: (name: string | undefined) => void): string {
  // Most texts have no bracket.
  if (!text.includes("[")) return text;
  const replaced = text.replace(descriptor, (found: string, kind?: string, facts = "") => {
    const parts = facts.split(", ");
    // Media type and size are before the id; a link has its address there.
    named(kind === "link" ? parts[0] : found.endsWith("B]") ? facts : parts.slice(0, -2).join(", "));
    return " ";
  });
  return replaced === text ? text : collapsed(replaced, /[^\S\n]{2,4096}/g);
}

function cut(text: string): string | undefined {
  // A character has one or two UTF-16 units.
  const start = text.trim().slice(0, 2 * maxPreviewLength);
  const shown =
    start.length > maxPreviewLength && /[\ud800-\udfff]/.test(start)
      ? Array.from(start).slice(0, maxPreviewLength).join("")
      : start.slice(0, maxPreviewLength);
  // A slice of a long string retains all of it.
  const copy = shown.length < text.length ? (JSON.parse(JSON.stringify(shown)) as string) : shown;
  return copy || undefined;
}
