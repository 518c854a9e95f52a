/**
 * Inline images as temporary resources, so that policies and boundaries treat them like any other attachment.
 */
import { digest } from "../blobs/index.js";
import type { Context, ContextMessage, ImageBlock, StoredResource, TextBlock } from "../content/index.js";
import { decodeBase64, decodeLooseBase64 } from "../internal/base64.js";
import { essenceOf } from "../internal/media-types.js";
import { sniff } from "../media/index.js";
import { resourcesIn } from "./resources.js";

/** An image that is inline in its message. */
export interface InlineImage {
  /** Undefined if its data is not base64. */
  readonly bytes: Uint8Array | undefined;
  /** The original data, if it is canonical base64 of the bytes. */
  readonly base64: string | undefined;
  /** The declared media type; `image/png` if that is not an image type. */
  readonly declared: string;
}

/** A context with a resource in place of each inline image. */
export interface InlineContext {
  readonly context: Pick<Context, "items" | "views" | "observations">;
  /** The images by resource id. */
  readonly images: ReadonlyMap<string, InlineImage>;
}

/**
 * Replaces each inline image by a resource. Its id is valid in this projection only, so no view can name it.
 *
 * @param needsDigest whether digests are computed, which takes half of the time; otherwise they are zeros
 */
export function inlineAsResources(
  context: Pick<Context, "items" | "views" | "observations">,
  needsDigest: boolean,
): InlineContext {
  const images = new Map<string, InlineImage>();
  let isInUse: ((id: string) => boolean) | undefined;
  const items = context.items.map((entry, item) => {
    const { message } = entry;
    if (!hasInline(message)) return entry;
    const content = message.content.map((block, index): TextBlock => {
      if (block.type !== "image") return block;
      const image = readInline(block);
      isInUse ??= idsInUse(context);
      let id = `inline_${item}_${index}`;
      while (isInUse(id)) id += "_";
      const resource = resourceFor(image, id, needsDigest);
      images.set(id, image);
      return { type: "text", text: "", resource };
    });
    return { ...entry, message: { ...message, content } as ContextMessage };
  });
  return images.size === 0 ? { context, images } : { context: { ...context, items }, images };
}

type WithInline = ContextMessage & { readonly content: readonly (TextBlock | ImageBlock)[] };

function hasInline(message: ContextMessage): message is WithInline {
  return (
    (message.role === "user" || message.role === "toolResult" || message.role === "custom") &&
    typeof message.content !== "string" &&
    message.content.some((block) => block.type === "image")
  );
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
  const media = sniff(bytes);
  const size = media?.kind === "image" ? { width: media.width, height: media.height } : {};
  const blob = needsDigest ? digest(bytes) : (`sha256:${"0".repeat(64)}` as const);
  return {
    resourceId,
    kind: "image",
    source: "import",
    mediaType: media?.kind === "image" ? media.mediaType : declared,
    size: bytes.length,
    blob,
    contentSha256: blob.slice("sha256:".length),
    ...size,
  };
}

/** The media type of an image block; `image/png` if it is not one of an image. */
function declaredImage(mimeType: string): string {
  const essence = essenceOf(mimeType);
  return /^image\/[a-z0-9.+-]{1,127}$/.test(essence) ? essence : "image/png";
}
