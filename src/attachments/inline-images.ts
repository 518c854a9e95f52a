import { digest } from "../blobs/index.js";
import type { Context, ContextMessage, ImageBlock, StoredResource, TextBlock } from "../content/index.js";
import { decodeBase64, decodeLooseBase64 } from "../internal/base64.js";
import { essenceOf } from "../internal/media-types.js";
import { sniff } from "../media/index.js";
import { resourcesIn } from "./resources.js";

/** An image that is inline in its message. */
export interface InlineImage {
  /** Undefined where its data is no base64. */
  readonly bytes: Uint8Array | undefined;
  /** The data as it came, where it is exact base64 of the bytes. */
  readonly base64: string | undefined;
  /** What it was said to be. */
  readonly declared: string;
}

/** A context in which inline images are resources like any other, for policies to decide on. */
export interface InlineContext {
  readonly context: Pick<Context, "items" | "views" | "observations">;
  /** By the resource that stands for it. */
  readonly images: ReadonlyMap<string, InlineImage>;
}

/**
 * Puts a resource in the place of each inline image. Its id is of this projection alone, so that no view can ask for it.
 *
 * @param named whether somebody will look at the digest, which takes as long as all the rest
 */
export function inlineAsResources(
  context: Pick<Context, "items" | "views" | "observations">,
  named: boolean,
): InlineContext {
  const images = new Map<string, InlineImage>();
  let isTaken: ((id: string) => boolean) | undefined;
  const items = context.items.map((entry, item) => {
    const { message } = entry;
    if (!hasInline(message)) return entry;
    const content = message.content.map((block, index): TextBlock => {
      if (block.type !== "image") return block;
      const image = readInline(block);
      isTaken ??= idsInUse(context);
      let id = `inline_${item}_${index}`;
      while (isTaken(id)) id += "_";
      const resource = resourceFor(image, id, named);
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

/** Ids that resources or views have, which only by chance or malice can be ones of a projection. */
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
  named: boolean,
): StoredResource {
  const media = sniff(bytes);
  const size = media?.kind === "image" ? { width: media.width, height: media.height } : {};
  const blob = named ? digest(bytes) : (`sha256:${"0".repeat(64)}` as const);
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

/** An image block is about an image, whatever its type says. */
function declaredImage(mimeType: string): string {
  const essence = essenceOf(mimeType);
  return /^image\/[a-z0-9.+-]+$/.test(essence) ? essence : "image/png";
}
