/** The parts of Codex's items as blocks, and the texts of its harness among them. */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { plainContent } from "../../content/internal.js";
import { base64Bytes } from "../../core/base64.js";
import { type ForeignObject, readObject, readText, toArray, unknownBlocks } from "../shared/values.js";
import { openings } from "./agent.js";

/** A block of a user message or a result. */
export type ContentBlock = TextBlock | ImageBlock;

/** A part of a message, and the harness text that it is, if any. */
interface Part {
  readonly block: ContentBlock;
  /** The `customType` of the message that it becomes. */
  readonly harness: string | undefined;
}

/** A message of the user, or of the harness in the user's place. */
export interface UserPiece {
  /** The `customType` of a harness text; undefined for the user's own text. */
  readonly harness: string | undefined;
  readonly content: string | readonly ContentBlock[];
}

/**
 * The pieces of a message of the role `user`: runs of the user's text and of the harness's texts. The
 * `<image>` texts around an image fold into it.
 */
export function userPieces(item: ForeignObject): readonly UserPiece[] {
  const kinds = toArray(readObject(item.internal_chat_message_metadata_passthrough)?.content_item_kinds);
  const parts = contentParts(item.content, kinds);
  const pieces: { readonly harness: string | undefined; readonly blocks: ContentBlock[] }[] = [];
  for (const { block, harness } of parts) {
    const last = pieces.at(-1);
    if (last !== undefined && last.harness === harness) last.blocks.push(block);
    else pieces.push({ harness, blocks: [block] });
  }
  if (pieces.length === 0) return [{ harness: undefined, content: "" }];
  return pieces.map(({ harness, blocks }) => ({ harness, content: plainContent(blocks) }));
}

/** The blocks of a tool's output: text, parts, or the object of early versions. */
export function outputBlocks(output: unknown): readonly ContentBlock[] {
  const given = readObject(output);
  const value = given === undefined ? output : (given.content_items ?? given.content ?? output);
  const object = readObject(value);
  return object === undefined ? contentBlocks(value) : unknownBlocks(object);
}

/** Parts as blocks, without a look at who wrote them. */
export function contentBlocks(content: unknown): readonly ContentBlock[] {
  return contentParts(content, []).map(({ block }) => block);
}

/** The objects of an array; other members are left out. */
export function objectsIn(value: unknown): readonly ForeignObject[] {
  return toArray(value).flatMap((each) => {
    const object = readObject(each);
    return object === undefined ? [] : [object];
  });
}

/** The text of a message's parts. */
export function contentTexts(content: unknown): string {
  if (typeof content === "string") return content.toWellFormed();
  return toArray(content)
    .map((part) => readText(readObject(part)?.text) ?? "")
    .join("");
}

function contentParts(content: unknown, kinds: readonly unknown[]): readonly Part[] {
  if (typeof content === "string") {
    const text = content.toWellFormed();
    return text === "" ? [] : [{ block: textBlock(text), harness: harnessType(text, kinds[0]) }];
  }
  const given = toArray(content);
  return given.flatMap((each, at): readonly Part[] => {
    const part = readObject(each);
    if (part === undefined) return [];
    const text = readText(part.text);
    if (text !== undefined) {
      const isTag = isImageTag(text, "<image", given[at + 1]) || isImageTag(text, "</image>", given[at - 1]);
      return isTag || text === "" ? [] : [{ block: textBlock(text), harness: harnessType(text, kinds[at]) }];
    }
    return partBlocks(part).map((block) => ({ block, harness: undefined }));
  });
}

/** Codex names an image in texts around it since 0.98. */
function isImageTag(text: string, tag: string, neighbour: unknown): boolean {
  return text.startsWith(tag) && text.length < 4096 && readObject(neighbour)?.type === "input_image";
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

const dataUrl = /^data:([a-z0-9.+-]{1,127}\/[a-z0-9.+-]{1,127});base64,/i;

/** An image in base64 is an image; an address stays text; any other part is its JSON and its media. */
function partBlocks(part: ForeignObject): readonly ContentBlock[] {
  const { image_url: image, type } = part;
  const url = readText(image) ?? readText(readObject(image)?.url) ?? "";
  const [head, mimeType] = dataUrl.exec(url) ?? [];
  if (head !== undefined && mimeType !== undefined) {
    const data = url.slice(head.length);
    if (data !== "" && base64Bytes(data) !== undefined) return [{ type: "image", data, mimeType }];
    return [textBlock(`[${mimeType} that is not base64]`)];
  }
  if (url === "") return unknownBlocks(part);
  return [textBlock(`[${readText(type) ?? "part"} ${url.slice(0, 2048)}]`)];
}

/** The `customType` of initial context, which a harness repeats after a compaction. */
export const initialContextType = "sessile.initial_context";

/** The working directory that the environment in a text names. */
export function textDirectory(text: string): string | undefined {
  const [, tag, line] =
    /<cwd>([^<\n]{1,4096})<\/cwd>|^Current working directory: (.{1,4096})$/m.exec(text) ?? [];
  return tag ?? line;
}

/** Harness texts that belong to their place in the conversation. */
const placed =
  /^<(turn_aborted|subagent_notification|user_shell_command|skill|hook_prompt|goal_context)[\s>]/;

function harnessType(text: string, kind: unknown): string | undefined {
  const known = readText(kind);
  if (known?.startsWith("user.") === true) return undefined;
  const [, name] = placed.exec(text.trimStart()) ?? [];
  if (name !== undefined) return `codex.${name}`;
  return openings.test(text.trimStart()) || (known !== undefined && known !== "unknown")
    ? initialContextType
    : undefined;
}
