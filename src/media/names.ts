import type { Media } from "./media.js";

interface NamedType {
  readonly mediaType: string;
  /** The first is the one that a file gets. */
  readonly extensions: readonly [string, ...string[]];
  /** Its bytes are text, whatever comes before the slash. */
  readonly text?: true;
}

/**
 * What {@link sniff} can tell, and the kinds of text that people attach. Sources of programs that have no registered type
 * are plain text.
 */
const namedTypes: readonly NamedType[] = [
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
];

const byMediaType: ReadonlyMap<string, NamedType> = /* @__PURE__ */ new Map(
  namedTypes.map((type) => [type.mediaType, type]),
);
const byExtension: ReadonlyMap<string, NamedType> = /* @__PURE__ */ new Map(
  namedTypes.flatMap((type) => type.extensions.map((extension) => [extension, type])),
);

/**
 * The extension that a file of this media type gets, without a dot, or undefined for a type that is not known here. Case,
 * white space around it and parameters do not matter. What comes back is from a fixed list: safe in a path.
 *
 * @example
 * ```ts
 * extensionOf("image/jpeg"); // "jpg"
 * extensionOf("application/zip"); // undefined
 * ```
 */
export function extensionOf(mediaType: string): string | undefined {
  return byMediaType.get(essenceOf(mediaType))?.extensions[0];
}

/**
 * The media type that a file's name claims by its extension, in any case, or undefined where it claims none that is known
 * here. A claim is not a fact: hold it against the bytes with {@link agreesWith}.
 *
 * @param name a base name or a path, of POSIX or Windows
 * @example
 * ```ts
 * mediaTypeOfName("C:\\shots\\Screen.PNG"); // "image/png"
 * mediaTypeOfName(".gif"); // undefined
 * ```
 */
export function mediaTypeOfName(name: string): string | undefined {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const dot = base.lastIndexOf(".");
  return dot < 1 ? undefined : byExtension.get(base.slice(dot + 1).toLowerCase())?.mediaType;
}

/**
 * Whether bytes can be of the media type that a name or a sender claims: the type that was sniffed, or any type of text
 * where the bytes are text. `image/jpg`, which many write, is `image/jpeg`.
 *
 * @example
 * ```ts
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "text/markdown"); // true
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "image/png"); // false
 * ```
 */
export function agreesWith(media: Media, mediaType: string): boolean {
  const claimed = essenceOf(mediaType);
  if (media.kind !== "text") return claimed === media.mediaType;
  return claimed.startsWith("text/") || byMediaType.get(claimed)?.text === true;
}

/** The media type without parameters, in lower case. */
function essenceOf(mediaType: string): string {
  const end = mediaType.indexOf(";");
  const essence = (end === -1 ? mediaType : mediaType.slice(0, end)).trim().toLowerCase();
  return essence === "image/jpg" ? "image/jpeg" : essence;
}
