/** Anthropic's content blocks as blocks of user messages and results. Nothing is opened or fetched. */

import { describeResource, type ImageBlock, type TextBlock } from "../../content/index.js";
import { textDigest } from "../shared/ids.js";
import { type ForeignObject, readObject, readText, toArray, unknownBlocks } from "../shared/values.js";

/** A block of a user message or a result. */
export type ShownBlock = TextBlock | ImageBlock;

/** The content of a message or a result. A text is one block; an unknown block is its JSON and its media. */
export function shownBlocks(content: unknown): readonly ShownBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content.toWellFormed() }];
  return toArray(content).flatMap(shownBlock);
}

function shownBlock(block: unknown): readonly ShownBlock[] {
  const fields = readObject(block);
  if (fields === undefined) return typeof block === "string" ? shownBlocks(block) : [];
  switch (fields.type) {
    case "text":
      return typeof fields.text === "string" ? [{ type: "text", text: fields.text.toWellFormed() }] : [];
    case "image":
      return mediaBlocks(fields, readObject(fields.source) ?? {});
    case "document":
      return [...aboutDocument(fields), ...mediaBlocks(fields, readObject(fields.source) ?? {})];
    default:
      return unknownBlocks(fields);
  }
}

/** The title and the context of a document, which the model reads before it. */
function aboutDocument({ title, context }: ForeignObject): readonly TextBlock[] {
  const texts = [readText(title), readText(context)].filter((text) => text !== undefined && /\S/.test(text));
  return texts.length === 0 ? [] : [{ type: "text", text: texts.join("\n") }];
}

function mediaBlocks(block: ForeignObject, source: ForeignObject): readonly ShownBlock[] {
  const { data, media_type: mediaType, url, content } = source;
  if (source.type === "base64" && typeof data === "string") {
    const fallback = block.type === "image" ? "image/png" : "application/pdf";
    return [{ type: "image", data, mimeType: readText(mediaType) ?? fallback }];
  }
  if (source.type === "text" && typeof data === "string")
    return [{ type: "text", text: data.toWellFormed() }];
  if (source.type === "content") return shownBlocks(content);
  if (typeof url === "string") return [link(url.toWellFormed())];
  return unknownBlocks(block);
}

function link(uri: string): TextBlock {
  const resourceId = `res_${textDigest(uri).slice(0, 16)}`;
  const resource = { resourceId, kind: "link", source: "import", uri } as const;
  return { type: "text", text: describeResource(resource), resource };
}

/** The text of content, with a line feed between its blocks. */
export function plainText(content: unknown): string {
  return shownBlocks(content)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
}

/**
 * A value without the bytes in it: an image is in the message already. The same value if there are none. The
 * depth of a record is bounded by its reader.
 */
export function withoutBytes(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return mapped(value, withoutBytes);
  const fields = value as ForeignObject;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(fields)) {
    const member = fields[key];
    if (typeof member === "string") {
      const isBytes = key === "base64" || (key === "data" && fields.type === "base64");
      if (!isBytes) continue;
      copy ??= { ...fields };
      delete copy[key];
    } else {
      const next = withoutBytes(member);
      if (next === member) continue;
      copy ??= { ...fields };
      copy[key] = next;
    }
  }
  return copy ?? value;
}

/** The same array if no item changes. */
function mapped(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const next = change(items[at]);
    if (next === items[at]) continue;
    copy ??= [...items];
    copy[at] = next;
  }
  return copy ?? items;
}
