import { knownMediaTypes, mediaTypeInfo } from "../internal/media-types.js";

const unknownExtension = "bin";

/** Every extension that {@link extensionOf} gives, the likeliest first. */
export const knownExtensions: readonly string[] = /* @__PURE__ */ [
  ...knownMediaTypes.map(({ extensions }) => extensions[0]),
  unknownExtension,
];

/**
 * The extension of a media type's files, for layouts that show it, without the dot; `bin` for one that is
 * unknown or not given. Parameters and case do not matter.
 */
export function extensionOf(mediaType: string | undefined): string {
  return mediaTypeInfo(mediaType ?? "")?.extensions[0] ?? unknownExtension;
}
