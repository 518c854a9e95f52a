import { typeOf, typeOfExtension } from "../internal/media-types.js";

/** Extensions of files that are taken in as text when their path is pasted or dropped. */
export const textExtensions: readonly string[] = [
  "txt",
  "md",
  "json",
  "toml",
  "yaml",
  "yml",
  "rs",
  "go",
  "py",
  "js",
  "ts",
  "jsx",
  "tsx",
  "html",
  "css",
  "log",
  "csv",
];

/** Images that models read. */
const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A media type, and the extension of files of it. */
export interface FileType {
  readonly mediaType: string;
  readonly extension: string;
}

/** The type of an image whose clipboard says this, parameters and case aside; undefined for what no model reads. */
export function imageType(mediaType: string): FileType | undefined {
  const type = typeOf(mediaType);
  if (type === undefined || !imageTypes.includes(type.mediaType)) return undefined;
  return { mediaType: type.mediaType, extension: type.extensions[0] };
}

/** The type of a file with this extension that is taken as text: plain where it is no kind of text, or also an image. */
export function textType(extension: string): FileType {
  const type = typeOfExtension(extension);
  const text = type?.text === true && !type.mediaType.startsWith("image/");
  return { mediaType: text ? type.mediaType : "text/plain", extension };
}

/** The extension of a path in lower case, or "" for a name that has none or begins with its only dot. */
export function extensionOf(path: string): string {
  const name = baseName(path);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}

/** The last name of a path, with either separator. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
