/** The parts of a user message: the user's own, and those that opencode added. */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { plainContent, shownBlocks } from "../../content/internal.js";
import { isRecord } from "../../core/shape.js";
import { type ForeignObject, readText } from "../shared/values.js";
import type { DraftEntry, ForeignRecord } from "../types.js";
import { metadataAnnotation } from "./annotations.js";

type Content = string | readonly (TextBlock | ImageBlock)[];

/** Adjacent parts of one origin: one entry. */
export interface UserRun {
  /** The origin of parts that are not the user's. */
  readonly customType: string | undefined;
  readonly content: Content;
  /** The id of the first part, or its index. */
  readonly part: string | number;
}

/** The outcome of a part. */
export interface PartOutcome {
  readonly record: ForeignRecord;
  readonly outcome: "mapped" | "unmapped";
  /** The type is not known. */
  readonly isNew: boolean;
}

/** The runs of a message. */
export interface UserRuns extends Iterable<UserRun> {
  readonly length: number;
  readonly records: readonly PartOutcome[];
  /** Of all runs. */
  readonly content: readonly (TextBlock | ImageBlock)[];
}

/** Texts that opencode sends for parts without one (read in 1.1.65 to 1.18.33, 2026-11-23). */
const compactionText = "What did we do so far?";
const subtaskText = "The following tool was executed by the user";

/** Types of parts that no model is sent. */
const unsentTypes = new Set(["snapshot", "patch", "agent", "retry", "step-start", "step-finish"]);

/** @param isCompacted the message asks for a compaction that was completed, and is not sent itself */
export function userRuns(parts: readonly ForeignRecord[], isCompacted: boolean): UserRuns {
  const runs: {
    customType: string | undefined;
    blocks: (TextBlock | ImageBlock)[];
    part: string | number;
  }[] = [];
  const records: PartOutcome[] = [];
  for (const [index, record] of parts.entries()) {
    const { value } = record;
    const read = isCompacted && value.type !== "compaction" ? [] : partBlocks(value);
    const isOwn = value.type === "compaction" && isCompacted;
    const isNew = !isKnown(value) && !isOwn;
    const isAnnotation = value.ignored === true && metadataAnnotation(value.metadata) !== undefined;
    records.push({
      record,
      outcome: read.length > 0 || isOwn || isAnnotation ? "mapped" : "unmapped",
      isNew,
    });
    if (isOwn) continue;
    for (const { block, customType } of read) {
      const last = runs.at(-1);
      if (last !== undefined && last.customType === customType) last.blocks.push(block);
      else runs.push({ customType, blocks: [block], part: readText(value.id) ?? index });
    }
  }
  const list = runs.map(({ customType, blocks, part }) => ({
    customType,
    part,
    content: plainContent(blocks),
  }));
  const content = runs.flatMap(({ blocks }) => blocks);
  return { length: list.length, records, content, [Symbol.iterator]: () => list[Symbol.iterator]() };
}

function isKnown({ type }: ForeignObject): boolean {
  const sent = type === "text" || type === "file" || type === "compaction" || type === "subtask";
  return sent || (typeof type === "string" && unsentTypes.has(type));
}

/** A block, and the origin of one that is not the user's. */
interface OwnedBlock {
  readonly block: TextBlock | ImageBlock;
  readonly customType: string | undefined;
}

/** The block of a part that a model is sent, the words and media of an unknown part; none of any other. */
function partBlocks(part: ForeignObject): readonly OwnedBlock[] {
  const { type, synthetic, ignored } = part;
  if (type === "compaction")
    return [{ block: { type: "text", text: compactionText }, customType: "opencode.compaction" }];
  if (type === "subtask")
    return [{ block: { type: "text", text: subtaskText }, customType: "opencode.subtask" }];
  if (type === "text") {
    const text = readText(part.text);
    if (text === undefined || text === "" || ignored === true) return [];
    return [{ block: { type, text }, customType: synthetic === true ? "opencode.synthetic" : undefined }];
  }
  const block = type === "file" ? fileBlock(part) : undefined;
  const blocks = isKnown(part) ? (block === undefined ? [] : [block]) : unknownPart(part);
  return blocks.map((each) => ({ block: each, customType: undefined }));
}

/** The words and the media of a part of a newer version, whose other members may be the program's own. */
export function unknownPart(part: ForeignObject): readonly (TextBlock | ImageBlock)[] {
  return shownBlocks({ type: "opaque", data: part });
}

const dataUrl = /^data:([^;,]{0,255})(?:;[^;,]{0,255}){0,16};base64,/;

/**
 * A file as the model is sent it: its bytes, or its name if there are none. Undefined for a text or folder,
 * which opencode sends as synthetic text beside the part.
 */
export function fileBlock({ mime, url, filename }: ForeignObject): TextBlock | ImageBlock | undefined {
  if (mime === "text/plain" || mime === "application/x-directory") return undefined;
  const address = readText(url) ?? "";
  const mimeType = readText(mime) ?? "application/octet-stream";
  const [head, named = ""] = dataUrl.exec(address.slice(0, 1000)) ?? [];
  if (head !== undefined)
    return { type: "image", data: address.slice(head.length), mimeType: readText(mime) ?? named };
  const name = readText(filename) ?? "file";
  const where = address === "" || address.startsWith("data:") ? "" : `: ${address.slice(0, 1000)}`;
  return { type: "text", text: `[Attached ${mimeType}: ${name}${where}]` };
}

/** An entry of another type than a user message, restored from the metadata of an export by Sessile. */
export function annotatedDraft(
  draft: ForeignObject,
  blocks: readonly (TextBlock | ImageBlock)[],
): DraftEntry | undefined {
  if (draft.type === "custom_message") {
    const { customType, display, details } = draft;
    if (typeof customType !== "string") return undefined;
    const known = {
      type: "custom_message",
      customType,
      content: plainContent(blocks),
      display: display === true,
    };
    return { ...known, ...(details === undefined ? {} : { details }) } as DraftEntry;
  }
  const isBash =
    draft.type === "message" && isRecord(draft.message) && draft.message.role === "bashExecution";
  return draft.type === "branch_summary" || isBash ? (draft as unknown as DraftEntry) : undefined;
}
