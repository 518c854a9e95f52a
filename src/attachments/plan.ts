import type { BlobStore } from "../blobs/index.js";
import type { Context } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { type DecideAttachmentsOptions, type DecidedAttachment, decideAttachments } from "./decide.js";
import { attachmentText } from "./placeholder-text.js";

/** Options of {@link planAttachments}. */
export interface PlanAttachmentsOptions extends DecideAttachmentsOptions {
  /** Where the bytes are. Without it none are sent, and each place says that they are missing. */
  readonly blobs?: Pick<BlobStore, "get">;
  /** Whether the model has the tool that `viewTool` declares, and descriptors tell it to use that. Default false. */
  readonly viewTool?: boolean;
}

/** What one request makes of a resource at one place. */
export interface PlannedAttachment extends DecidedAttachment {
  /** What stands at the place in words: the descriptor, and why there is no more; empty where it is omitted. */
  readonly text: string;
  /** To be sent after the text; there if and only if the decision is `full`. Verified against their digest. */
  readonly bytes?: Uint8Array;
}

/** What one request makes of a context's resources. */
export interface AttachmentPlan {
  /** One for each place of a resource in the context, in order. */
  readonly attachments: readonly PlannedAttachment[];
  /** Ids that a view of the current turn asks for and the context does not hold. */
  readonly unplacedViews: readonly string[];
}

/**
 * Decides, for each place of a resource in a context, whether its bytes are sent, its descriptor, or nothing, and says why;
 * a projection only has to render it. The policy decides, the boundary can lessen. A resource's bytes go at most once in a
 * request. Links and bytes of unknown type are only ever described. Bytes that are missing or damaged leave a text that
 * says so: it is never pretended that they were seen.
 *
 * @throws SessileError what the blob store throws, besides BLOB_CORRUPT
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const plan = await planAttachments(await session.context(), { target: "anthropic", blobs });
 * for (const { resource, decision, reason } of plan.attachments) console.log(resource.resourceId, decision, reason);
 * ```
 */
export async function planAttachments(
  context: Pick<Context, "items" | "views" | "observations">,
  options: PlanAttachmentsOptions,
): Promise<AttachmentPlan> {
  const { attachments: decided, unplacedViews } = await decideAttachments(context, options);
  const payload = payloadReader(options);
  const sent = new Set<string>();
  const attachments: PlannedAttachment[] = [];
  for (const attachment of decided) {
    options.signal?.throwIfAborted();
    const { resource } = attachment;
    let { decision, reason } = attachment;
    let bytes: Uint8Array | undefined;
    if (decision === "full" && resource.kind !== "link") {
      if (sent.has(resource.resourceId)) [decision, reason] = ["describe", "sentAlready"];
      else {
        const found = await payload(resource.blob);
        if (typeof found === "string") [decision, reason] = ["describe", found];
        else {
          bytes = found;
          sent.add(resource.resourceId);
        }
      }
    }
    const text = attachmentText(resource, decision, reason, attachment.observation, options);
    const planned = { ...attachment, decision, reason, text };
    attachments.push(bytes === undefined ? planned : { ...planned, bytes });
  }
  return { attachments, unplacedViews };
}

/** Bytes, or why there are none. */
export type ResourcePayload = Uint8Array | "missing" | "corrupt";

/** Reads each blob once, however many places ask for it. */
function payloadReader({ blobs, signal }: PlanAttachmentsOptions): (ref: Ref) => Promise<ResourcePayload> {
  const read = new Map<Ref, Promise<ResourcePayload>>();
  return (ref) => {
    const known = read.get(ref) ?? readPayload(blobs, ref, signal);
    read.set(ref, known);
    return known;
  };
}

type Ref = Parameters<BlobStore["get"]>[0];

/**
 * The bytes of a blob, or why there are none: they are not in the store, or are not what their name says.
 *
 * @throws SessileError what the blob store throws, besides BLOB_CORRUPT
 */
export async function readPayload(
  blobs: Pick<BlobStore, "get"> | undefined,
  ref: Ref,
  signal: AbortSignal | undefined,
): Promise<ResourcePayload> {
  try {
    return (await blobs?.get(ref, signal === undefined ? {} : { signal })) ?? "missing";
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return "corrupt";
    throw error;
  }
}
