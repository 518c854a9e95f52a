/**
 * Inline images as temporary resources, so that policies and boundaries treat them like any other attachment.
 */
import { digest } from "../blobs/index.js";
import type {
  AssistantMessage,
  Context,
  ContextMessage,
  ImageBlock,
  StoredResource,
} from "../content/index.js";
import { type OpaqueMedium, opaqueMedia, withReferences } from "../content/internal.js";
import { decodeBase64, decodeLooseBase64 } from "../core/base64.js";
import { mediaTypeEssence } from "../core/media-types.js";
import { resourcesIn } from "./resources.js";
import { identify, recordedFacts } from "./store-resource.js";

/** An image, or a medium of a provider's block, that is inline in its message. */
export interface InlineImage {
  /** Undefined if its data is not base64. */
  readonly bytes: Uint8Array | undefined;
  /** The original data, if it is canonical base64 of the bytes. */
  readonly base64: string | undefined;
  /** The declared media type. For an image `image/png` if that is not an image type. */
  readonly declared: string;
}

/** A context with a resource in place of each inline image, and of each medium in a provider's block. */
export interface InlineContext {
  readonly context: Pick<Context, "items" | "views" | "observations">;
  /** The images by resource id. */
  readonly images: ReadonlyMap<string, InlineImage>;
}

/** The messages whose images are replaced: those of the model, or all others. */
type InlineRoles = "assistant" | "others" | "all";

/**
 * Replaces each inline image by a resource, and adds resources to a provider's block for its inline media.
 * Their ids are valid in this projection only, so no view can name them.
 *
 * @param needsDigest whether digests are computed, which takes half of the time; otherwise they are zeros
 */
export function inlineAsResources(
  context: Pick<Context, "items" | "views" | "observations">,
  needsDigest: boolean,
  roles: InlineRoles = "all",
): InlineContext {
  const images = new Map<string, InlineImage>();
  let isInUse: ((id: string) => boolean) | undefined;
  const idFor = (place: string) => {
    isInUse ??= idsInUse(context);
    let id = `inline_${place}`;
    while (isInUse(id) || images.has(id)) id += "_";
    return id;
  };
  const items = context.items.map((entry, item) => {
    const { message } = entry;
    if (!mayHaveInline(message, roles)) return entry;
    let changed = false;
    const blocks: AssistantMessage["content"] = message.content;
    const content = blocks.map((block, index) => {
      if (block.type === "image") {
        changed = true;
        const image = readInline(block);
        const id = idFor(`${item}_${index}`);
        const resource = resourceFor(image, id, needsDigest);
        images.set(id, image);
        return { type: "text" as const, text: "", resource };
      }
      if (block.type !== "opaque") return block;
      const found = opaqueMedia(block.data).map((medium) => mediumIn(medium));
      if (!found.some((medium) => medium !== undefined)) return block;
      changed = true;
      const made = found.map((medium): StoredResource | undefined => {
        if (medium === undefined) return undefined;
        const id = idFor(`${item}_${index}`);
        images.set(id, medium);
        return mediumResource(medium, id, needsDigest);
      });
      const data = withReferences(block.data, (at) => made[at]?.resourceId);
      const stored = made.filter((resource) => resource !== undefined);
      return { ...block, data, resources: [...(block.resources ?? []), ...stored] };
    });
    return changed ? { ...entry, message: { ...message, content } as ContextMessage } : entry;
  });
  return images.size === 0 ? { context, images } : { context: { ...context, items }, images };
}

type WithBlocks = ContextMessage & { readonly content: AssistantMessage["content"] };

function mayHaveInline(message: ContextMessage, roles: InlineRoles): message is WithBlocks {
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "toolResult" && role !== "custom") return false;
  if (roles !== "all" && (roles === "assistant") !== (role === "assistant")) return false;
  return typeof message.content !== "string";
}

/** The bytes of a medium; undefined if it is not base64, and stays in its block. */
function mediumIn({ base64, declared = "" }: OpaqueMedium): InlineImage | undefined {
  const strict = decodeBase64(base64);
  const bytes = strict ?? decodeLooseBase64(base64);
  return bytes && { bytes, base64: strict && base64, declared: mediaTypeEssence(declared) };
}

function mediumResource(
  { bytes = new Uint8Array() }: InlineImage,
  resourceId: string,
  needsDigest: boolean,
): StoredResource {
  const identity = identify(bytes, {}, "file");
  const { kind, mediaType } = identity;
  const facts = recordedFacts(identity);
  return { resourceId, kind, source: "model", mediaType, ...named(bytes, needsDigest), ...facts };
}

function named(
  bytes: Uint8Array,
  needsDigest: boolean,
): Pick<StoredResource, "size" | "blob" | "contentSha256"> {
  const blob = needsDigest ? digest(bytes) : (`sha256:${"0".repeat(64)}` as const);
  return { size: bytes.length, blob, contentSha256: blob.slice("sha256:".length) };
}

/** Tells ids of stored resources and views, which can equal those of inline images by chance or malice. */
function idsInUse(context: Pick<Context, "items" | "views">): (id: string) => boolean {
  const ids = new Set(context.views.map(({ resourceId }) => resourceId));
  for (const { resourceId } of resourcesIn(context)) ids.add(resourceId);
  return (id) => ids.has(id);
}

function readInline({ data, mimeType }: ImageBlock): InlineImage {
  const declared = declaredImage(mimeType);
  const strict = decodeBase64(data);
  if (strict !== undefined) return { bytes: strict, base64: data, declared };
  return { bytes: decodeLooseBase64(data), base64: undefined, declared };
}

function resourceFor(
  { bytes = new Uint8Array(), declared }: InlineImage,
  resourceId: string,
  needsDigest: boolean,
): StoredResource {
  const identity = identify(bytes, {}, "file");
  return {
    resourceId,
    kind: "image",
    source: "import",
    mediaType: identity.kind === "image" ? identity.mediaType : declared,
    ...named(bytes, needsDigest),
    ...recordedFacts(identity),
  };
}

/** The media type of an image block; `image/png` if it is not one of an image. */
function declaredImage(mimeType: string): string {
  const essence = mediaTypeEssence(mimeType);
  return /^image\/[a-z0-9.+-]{1,127}$/.test(essence) ? essence : "image/png";
}
