/** Blocks as parts of opencode: texts, files, reasoning and calls. */

import type { AssistantMessage, ImageBlock, TextBlock, ToolCall } from "../../content/index.js";
import { unreachable } from "../../core/arguments.js";
import { encodeBase64 } from "../../core/base64.js";
import { decodeUtf8 } from "../../core/bytes.js";
import { isRecord } from "../../core/shape.js";
import { describedReply } from "../shared/write-blocks.js";
import type { WriteSource } from "../types.js";
import { metadataFor, signedBy } from "./signatures.js";

/** A part without its ids. */
export interface DraftPart {
  readonly type: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly state?: unknown;
  readonly [member: string]: unknown;
}

type Shown = string | readonly (TextBlock | ImageBlock)[];

/** Longer texts of files are named only. */
const maxFileText = 256 * 1024;

export class PartWriter {
  readonly #source: WriteSource;

  constructor(source: WriteSource) {
    this.#source = source;
  }

  /** The parts of a message in the user's place. */
  async shown(content: Shown, entryId: string, members: object): Promise<readonly DraftPart[]> {
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const parts: DraftPart[] = [];
    for (const block of blocks) {
      const file = await this.file(block, entryId);
      if (file !== undefined && typeof file !== "string") parts.push(file);
      else if (file !== "") parts.push({ type: "text", text: file ?? blockText(block), ...members });
    }
    return parts;
  }

  /**
   * The file part of an attachment. For one that opencode does not send its text, and undefined for a block
   * without an attachment.
   */
  async file(block: TextBlock | ImageBlock, entryId: string): Promise<DraftPart | string | undefined> {
    if (block.type === "text" && block.resource === undefined) return undefined;
    const isLink = block.type === "text" && block.resource?.kind === "link";
    const found = isLink ? undefined : await this.#source.media(block, entryId);
    const name = block.type === "text" ? (block.resource?.name ?? "") : "";
    if (found !== undefined && isSent(found.mediaType)) {
      const url = `data:${found.mediaType};base64,${encodeBase64(found.bytes)}`;
      return { type: "file", mime: found.mediaType, ...(name === "" ? {} : { filename: name }), url };
    }
    if (found !== undefined || isLink) {
      const text = `${found?.mediaType ?? "a link"}: opencode does not send it`;
      this.#source.find({ code: "described", entryId, text });
    }
    const isText = found?.mediaType.startsWith("text/") === true && found.bytes.length <= maxFileText;
    const inside = isText ? decodeUtf8(found.bytes) : undefined;
    return inside === undefined ? blockText(block) : `${blockText(block)}\n${inside}`;
  }

  /** The parts of a reply. Each call is a part that waits for its result. */
  reply(message: AssistantMessage, entryId: string): { readonly parts: readonly DraftPart[] } {
    const called = new Set<string>();
    for (const { type } of message.content)
      if (type === "opaque") this.#drop(entryId, "opaque", "a provider's own block");
    const parts = describedReply(message).content.flatMap((block): readonly DraftPart[] => {
      const metadata = metadataFor(block, message);
      const members = metadata === undefined ? {} : { metadata };
      const isUnsigned = metadata === undefined && (signedBy(block) ?? "") !== "";
      switch (block.type) {
        case "text":
          if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of a text, of another protocol");
          return block.text === "" && metadata === undefined
            ? []
            : [{ type: "text", text: block.text, ...members }];
        case "image":
          return [{ type: "text", text: blockText(block) }];
        case "thinking":
          return this.#reasoning(block, entryId, { members, isUnsigned, time: message.timestamp });
        case "toolCall":
          if (called.has(block.id)) {
            this.#drop(entryId, "entry", `a second call with the id ${block.id} in one message`);
            return [];
          }
          called.add(block.id);
          if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of a call, of another protocol");
          return [callPart(block, metadata)];
        case "opaque":
          return [];
        default:
          return unreachable(block);
      }
    });
    return { parts };
  }

  #reasoning(
    block: AssistantMessage["content"][number] & { readonly type: "thinking" },
    entryId: string,
    { members, isUnsigned, time }: { members: object; isUnsigned: boolean; time: number },
  ): readonly DraftPart[] {
    if (isUnsigned) this.#drop(entryId, "reasoning", "the signature of reasoning, of another protocol");
    const isEmpty = block.thinking === "" || (block.redacted === true && isUnsigned);
    if (isEmpty && !("metadata" in members)) return [];
    const start = Math.max(0, Math.trunc(time) || 0);
    return [{ type: "reasoning", text: block.thinking, time: { start, end: start }, ...members }];
  }

  #drop(entryId: string, code: "reasoning" | "opaque" | "entry", text: string): void {
    this.#source.find({ code, entryId, text });
  }
}

function blockText(block: TextBlock | ImageBlock): string {
  return block.type === "text" ? block.text : `[image, ${block.mimeType}]`;
}

/** The types that opencode puts into a request: not texts, which it reads when they are attached. */
function isSent(mediaType: string): boolean {
  return mediaType.startsWith("image/") || mediaType === "application/pdf";
}

/** The schema takes an object for the arguments. */
function callPart(
  { id, name, arguments: input, namespace }: ToolCall,
  metadata: Readonly<Record<string, unknown>> | undefined,
): DraftPart {
  const sessile = {
    ...(isRecord(input) ? {} : { isWrapped: true }),
    ...(namespace === undefined ? {} : { namespace }),
  };
  const more = Object.keys(sessile).length === 0 ? {} : { sessile };
  return {
    type: "tool",
    callID: id,
    tool: name,
    state: { status: "pending", input: isRecord(input) ? input : { value: input ?? null }, raw: "" },
    ...(metadata === undefined && Object.keys(more).length === 0
      ? {}
      : { metadata: { ...metadata, ...more } }),
  };
}
