/**
 * File name extensions of media types, for layouts that show them. From the registry of media types and what files of
 * the type are commonly called.
 *
 * @see https://www.iana.org/assignments/media-types (read 2026-11-21)
 */
const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "text/plain": "txt",
  "application/pdf": "pdf",
  "text/markdown": "md",
  "text/csv": "csv",
  "text/html": "html",
  "application/json": "json",
  "image/svg+xml": "svg",
  "image/bmp": "bmp",
  "image/tiff": "tiff",
  "image/avif": "avif",
  "image/heic": "heic",
  "application/zip": "zip",
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "video/mp4": "mp4",
};

const unknownExtension = "bin";

/** Every extension that {@link extensionOf} gives, the likeliest first. */
export const knownExtensions: readonly string[] = [...Object.values(extensions), unknownExtension];

/** The extension for a media type, without the dot; `bin` for one that is unknown or not given. Parameters and case do not matter. */
export function extensionOf(mediaType: string | undefined): string {
  const essence = mediaType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return Object.hasOwn(extensions, essence) ? (extensions[essence] as string) : unknownExtension;
}
