import { describe } from "../../internal/arguments.js";
import { unreachable } from "../../internal/unreachable.js";
import type { DocumentNames } from "../media-part.js";
import type { MediaPart, ReferencePart, ShownPart } from "../request.js";
import type { RenderTools } from "../target.js";
import type { BedrockFamily } from "./model.js";
import type { BedrockDocument, BedrockImage, BedrockSource, BedrockText } from "./shapes.js";

type ImageFormat = BedrockImage["image"]["format"];
type DocumentFormat = BedrockDocument["document"]["format"];

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html (stored copy, 2026-11-21) */
const imageFormats: Readonly<Record<string, ImageFormat>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

/**
 * Formats of Office are left out, since nothing here can tell such a file from any other archive.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html (stored copy, 2026-11-21)
 */
const documentFormats: Readonly<Record<string, DocumentFormat>> = {
  "application/pdf": "pdf",
  "text/plain": "txt",
  "text/markdown": "md",
  "text/csv": "csv",
  "text/html": "html",
};

/** The media types that Converse takes. */
export const takenTypes: readonly string[] = [...Object.keys(imageFormats), ...Object.keys(documentFormats)];

/** The media types that a family takes in results. */
export function resultTypes({ images, pdf, texts }: BedrockFamily["inResults"]): readonly string[] {
  return takenTypes.filter((type) => {
    if (type in imageFormats) return images;
    return type === "application/pdf" ? pdf : texts;
  });
}

/** A part of a message or a result as its block; none for a file of no bytes, which is refused. */
export function shownBlocks(
  part: ShownPart,
  names: DocumentNames,
  tools: RenderTools,
): readonly (BedrockText | BedrockImage | BedrockDocument)[] {
  switch (part.type) {
    case "text":
      return [tools.mark({ text: part.text }, part)];
    case "media":
      if (part.bytes.length > 0) return [tools.mark(medium(part, { bytes: part.bytes }, names), part)];
      tools.lose(part, { code: "unsupported", by: "target", reason: "the target takes no file of no bytes" });
      return [];
    case "reference":
      return [tools.mark(medium(part, { s3Location: { uri: s3Address(part) } }, names), part)];
    default:
      return unreachable(part);
  }
}

/**
 * The bytes as they are for text too: a source of text is refused where citations are not asked for.
 *
 * @see https://github.com/strands-agents/harness-sdk/pull/3582 (stored copy, 2026-11-21)
 */
function medium(
  part: MediaPart | ReferencePart,
  source: BedrockSource,
  names: DocumentNames,
): BedrockImage | BedrockDocument {
  const image = imageFormats[part.mediaType];
  if (image !== undefined) return { image: { format: image, source } };
  const format = documentFormats[part.mediaType] ?? "txt";
  return { document: { name: names.nameFor(part), format, source } };
}

function s3Address({ reference }: ReferencePart): string {
  const address = reference.kind === "file" ? reference.id : reference.url;
  if (address.startsWith("s3://")) return address;
  throw new TypeError(`references: expected an address that begins with s3://, got ${describe(address)}`);
}
