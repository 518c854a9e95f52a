import { type Media, sniff } from "sessile/media";
import { decodeBase64, isRecord } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { isRecent } from "./models.js";
import { type AnthropicRequest, type Block, stringField } from "./request.js";
import { sources } from "./sources.js";

const maxImageBase64 = 10_000_000;
const maxSide = 8000;
const manyImages = 20;
const maxSideOfMany = 2000;
const maxBodyBytes = 32_000_000;

/** An image or PDF whose bytes are in the request. */
interface Inline {
  /** To the source, such as `messages.0.content.1.image.source.base64`. */
  readonly path: string;
  readonly kind: "image" | "pdf";
  readonly declared: string;
  readonly data: string;
  /** Undefined where the data is no base64. */
  readonly bytes: Uint8Array | undefined;
  readonly media: Media | undefined;
}

/** Images, documents and the size of the whole. */
export const mediaRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "body-size",
    source: `${sources.errors}#request-size-limits`,
    check: ({ bytes }) =>
      bytes > maxBodyBytes ? [{ path: "", problem: "Request exceeds the maximum size" }] : [],
  },
  {
    id: "media-is-not-empty",
    source: sources.emptyImage,
    check: all(({ path, kind, data }) =>
      data === "" ? { path, problem: `${kind === "pdf" ? "PDF" : "image"} cannot be empty` } : undefined,
    ),
  },
  {
    id: "base64",
    source: sources.vision,
    check: all(({ path, bytes }) =>
      bytes === undefined ? { path: `${path}.data`, problem: "invalid base64 data" } : undefined,
    ),
  },
  {
    id: "image-can-be-read",
    source: sources.imageUnreadable,
    check: each("image", ({ path, media }) =>
      media?.kind === "image" ? undefined : { path: `${path}.data`, problem: "Could not process image" },
    ),
  },
  {
    id: "image-is-what-it-says",
    source: sources.imageType,
    check: each("image", ({ path, declared, media }) => {
      if (media?.kind !== "image" || media.mediaType === declared || !imageTypes.test(declared))
        return undefined;
      const problem = `The image was specified using the ${declared} media type, but the image appears to be a ${media.mediaType} image`;
      return { path, problem };
    }),
  },
  {
    id: "image-bytes",
    source: sources.vision,
    check: each("image", ({ path, data: { length } }) =>
      length > maxImageBase64
        ? { path, problem: `image exceeds 10 MB maximum: ${length} bytes > ${maxImageBase64} bytes` }
        : undefined,
    ),
  },
  { id: "image-sides", source: `${sources.vision}; ${sources.imageSides}`, check: tooWide },
  {
    id: "image-count",
    source: sources.vision,
    check: ({ model, blocks }) => {
      const most = isRecent(model) ? 600 : 100;
      const { length } = blocks.filter(isImage);
      if (length <= most) return [];
      return [{ path: "messages", problem: `at most ${most} images may be provided. Found ${length}` }];
    },
  },
  {
    id: "pdf-can-be-read",
    source: sources.pdfInvalid,
    check: each("pdf", ({ path, media }) =>
      media?.kind === "pdf"
        ? undefined
        : { path: `${path}.data`, problem: "The PDF specified was not valid." },
    ),
  },
  {
    id: "pdf-is-not-encrypted",
    source: sources.pdf,
    check: each("pdf", ({ path, bytes }) =>
      new TextDecoder("latin1").decode(bytes).includes("/Encrypt")
        ? { path: `${path}.data`, problem: "The PDF specified is password protected." }
        : undefined,
    ),
  },
  {
    id: "citations-all-or-none",
    source: sources.citations,
    check: ({ blocks }) => {
      const cited = blocks
        .filter(({ type }) => type === "document")
        .map(({ value: { citations } }) => isRecord(citations) && citations.enabled === true);
      if (cited.every((one) => one === cited[0])) return [];
      return [{ path: "messages", problem: "citations must be enabled on all or none of the documents" }];
    },
  },
];

const imageTypes = /^image\/(?:jpeg|png|gif|webp)$/;
const isImage = ({ type }: Block) => type === "image";

function all(check: (inline: Inline) => Fault | undefined): (request: AnthropicRequest) => readonly Fault[] {
  return ({ blocks }) => blocks.flatMap(readInline).flatMap((inline) => check(inline) ?? []);
}

/** Of one kind, where there are bytes to look at. */
function each(kind: Inline["kind"], check: (inline: Inline) => Fault | undefined): ReturnType<typeof all> {
  return all((inline) => {
    return inline.kind === kind && inline.bytes?.length ? check(inline) : undefined;
  });
}

const known = new WeakMap<object, readonly Inline[]>();

/** Decoded once, however many rules ask. */
function readInline(block: Block): readonly Inline[] {
  const read = known.get(block) ?? decode(block);
  known.set(block, read);
  return read;
}

function decode(block: Block): readonly Inline[] {
  const { source } = block.value;
  if ((block.type !== "image" && block.type !== "document") || !isRecord(source) || source.type !== "base64")
    return [];
  const at = { ...block, value: source };
  const data = stringField(at, "data");
  const declared = stringField(at, "media_type");
  const kind = block.type === "image" ? "image" : "pdf";
  const bytes = decodeBase64(data);
  return [
    {
      path: `${block.path}.${kind}.source.base64`,
      kind,
      declared,
      data,
      bytes,
      media: bytes === undefined ? undefined : sniff(bytes),
    },
  ];
}

function tooWide({ blocks }: AnthropicRequest): readonly Fault[] {
  const many = blocks.filter(isImage).length > manyImages;
  const most = many ? maxSideOfMany : maxSide;
  return blocks.flatMap(readInline).flatMap(({ path, media }) => {
    if (media?.kind !== "image" || Math.max(media.width ?? 0, media.height ?? 0) <= most) return [];
    const problem = `At least one of the image dimensions exceed max allowed size${many ? " for many-image requests" : ""}: ${most} pixels`;
    return [{ path: `${path}.data`, problem }];
  });
}
