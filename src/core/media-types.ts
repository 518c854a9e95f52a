/** The known media types: the only table of their extensions. */

/** A media type with its file extensions. */
export interface MediaTypeInfo {
  readonly mediaType: string;
  /** The first is the extension of new files. */
  readonly extensions: readonly [string, ...string[]];
  /** The content is text, although the type may not start with `text/`. */
  readonly text?: true;
}

/**
 * The types that `sniff` detects, text types, and some types that are stored unread. Source code without a
 * registered type is plain text.
 *
 * @see https://www.iana.org/assignments/media-types (read 2026-11-21)
 */
export const knownMediaTypes: readonly MediaTypeInfo[] = [
  { mediaType: "image/png", extensions: ["png"] },
  { mediaType: "image/jpeg", extensions: ["jpg", "jpeg", "jfif"] },
  { mediaType: "image/gif", extensions: ["gif"] },
  { mediaType: "image/webp", extensions: ["webp"] },
  { mediaType: "application/pdf", extensions: ["pdf"] },
  {
    mediaType: "text/plain",
    extensions: ["txt", "text", "log", "rs", "go", "py", "ts", "tsx", "jsx"],
    text: true,
  },
  { mediaType: "text/markdown", extensions: ["md", "markdown"], text: true },
  { mediaType: "text/csv", extensions: ["csv"], text: true },
  { mediaType: "text/html", extensions: ["html", "htm"], text: true },
  { mediaType: "text/css", extensions: ["css"], text: true },
  { mediaType: "text/javascript", extensions: ["js", "mjs"], text: true },
  { mediaType: "application/json", extensions: ["json"], text: true },
  { mediaType: "application/toml", extensions: ["toml"], text: true },
  { mediaType: "application/xml", extensions: ["xml"], text: true },
  { mediaType: "application/yaml", extensions: ["yaml", "yml"], text: true },
  { mediaType: "image/svg+xml", extensions: ["svg"], text: true },
  { mediaType: "image/bmp", extensions: ["bmp"] },
  { mediaType: "image/tiff", extensions: ["tiff", "tif"] },
  { mediaType: "image/avif", extensions: ["avif"] },
  { mediaType: "image/heic", extensions: ["heic"] },
  { mediaType: "image/heif", extensions: ["heif", "hif"] },
  { mediaType: "application/zip", extensions: ["zip"] },
  { mediaType: "audio/mpeg", extensions: ["mp3"] },
  { mediaType: "audio/wav", extensions: ["wav"] },
  { mediaType: "video/mp4", extensions: ["mp4"] },
];

const byMediaType: ReadonlyMap<string, MediaTypeInfo> = /* @__PURE__ */ new Map(
  knownMediaTypes.map((type) => [type.mediaType, type]),
);
const byExtension: ReadonlyMap<string, MediaTypeInfo> = /* @__PURE__ */ new Map(
  knownMediaTypes.flatMap((type) => type.extensions.map((extension) => [extension, type])),
);

/** Whether `sniff` recognises images of a type, given without parameters, by their bytes. */
export function isSniffedImage(mediaType: string): boolean {
  return /^image\/(?:png|jpeg|gif|webp|hei[cf]|avif|bmp|tiff)$/.test(mediaType);
}

/** The row of a media type, in any case and with any parameters. */
export function mediaTypeInfo(mediaType: string): MediaTypeInfo | undefined {
  return byMediaType.get(mediaTypeEssence(mediaType));
}

/** The row of a file extension, in any case and without the dot. */
export function mediaTypeInfoOfExtension(extension: string): MediaTypeInfo | undefined {
  return byExtension.get(extension.toLowerCase());
}

/** The media type without parameters, in lower case. */
export function mediaTypeEssence(mediaType: string): string {
  const end = mediaType.indexOf(";");
  const essence = (end === -1 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
  return essence === "image/jpg" ? "image/jpeg" : essence;
}
