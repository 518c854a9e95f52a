/**
 * Documents on demand. A loaded one is a tool result with the document as a resource; unloading is a context
 * edit of that result. A document is loaded if the context shows it.
 */
import { ingest } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import { type ContextItem, isResource, type Resource, type StoredResource } from "../content/index.js";
import { encodeUtf8 } from "../core/bytes.js";
import { isRecord } from "../core/shape.js";
import type { EntryDraft } from "../session/index.js";
import type { DocumentInfo, DocumentSource } from "./blocks.js";
import { cleanLine } from "./text.js";
import { toolNames } from "./tools.js";

/** The `source` of a resource that a memory loaded. */
const documentSource = "document";

const maxName = 120;

/** A document that the context shows. */
export interface LoadedDocument {
  readonly label: string;
  readonly name: string;
  /** The entry of the tool result. */
  readonly entryId: string;
  readonly resource: StoredResource;
}

/** The part of a tool result for programs, in `details.memory`. */
export interface ResultDetails {
  readonly label?: string;
  /** The entry or version whose whole text the result tells the model. */
  readonly shows?: string | null;
  /** The name of the document that the result holds. */
  readonly document?: string;
  /** The code of a refusal. */
  readonly code?: string;
}

/** The `details.memory` of an item; undefined for an item that is no result of a memory's tool. */
export function resultDetails({ message }: ContextItem): ResultDetails | undefined {
  if (message.role !== "toolResult" || !isRecord(message.details)) return undefined;
  const { memory } = message.details;
  return isRecord(memory) ? (memory as ResultDetails) : undefined;
}

/** The documents that items show, in order. */
export function loadedDocuments(items: readonly ContextItem[]): readonly LoadedDocument[] {
  return items.flatMap((item) => {
    const { label, document } = resultDetails(item) ?? {};
    const { message } = item;
    if (typeof label !== "string" || typeof document !== "string" || message.role !== "toolResult") return [];
    for (const block of message.content) {
      if (block.type !== "text" || !isResource(block.resource) || !isDocument(block.resource)) continue;
      return [{ label, name: document, entryId: item.entryId, resource: block.resource as StoredResource }];
    }
    return [];
  });
}

/** Whether a memory loaded the resource. */
export function isDocument({ source, kind }: Resource): boolean {
  return source === documentSource && kind !== "link";
}

/** Loads a document and stores its bytes; undefined if the source does not list it, or does not have it. */
export async function loadDocument(
  source: DocumentSource,
  name: string,
  options: { readonly blobs: Pick<BlobStore, "put">; readonly signal?: AbortSignal | undefined },
): Promise<StoredResource | undefined> {
  const { blobs, signal } = options;
  // The model chooses the name: a source need not defend itself against paths and the like.
  const listed = await source.list({ signal });
  const found = listed.find((each) => each.name === name) ?? listed.find((each) => listedName(each) === name);
  const loaded = found && (await source.load(found.name, { signal }));
  if (loaded === undefined) return undefined;
  const bytes = typeof loaded === "string" ? encodeUtf8(loaded.toWellFormed()) : loaded;
  const resource = await ingest({ bytes, name }, { blobs, signal, source: "tool", mismatch: "file" });
  return { ...resource, source: documentSource };
}

/** The name of a document as the prompt lists it. */
export function listedName({ name }: DocumentInfo): string {
  return cleanLine(name, maxName);
}

/** The edits that put documents away. The results stay in the log, and another edit brings them back. */
export function unloadDrafts(documents: readonly LoadedDocument[]): readonly EntryDraft[] {
  return documents.map(({ entryId, name }) => ({
    type: "context_edit",
    targetId: entryId,
    replacement: {
      content: `[The document ${listedName({ name })} was put away; ${toolNames.load} shows it again.]`,
    },
  }));
}
