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

const imageTypes: ReadonlyMap<string, FileType> = new Map([
  ["image/png", { mediaType: "image/png", extension: "png" }],
  ["image/jpeg", { mediaType: "image/jpeg", extension: "jpg" }],
  ["image/jpg", { mediaType: "image/jpeg", extension: "jpg" }],
  ["image/gif", { mediaType: "image/gif", extension: "gif" }],
  ["image/webp", { mediaType: "image/webp", extension: "webp" }],
]);

const textTypes: ReadonlyMap<string, string> = new Map([
  ["md", "text/markdown"],
  ["html", "text/html"],
  ["csv", "text/csv"],
  ["json", "application/json"],
]);

/** A media type, and the extension of files of it. */
export interface FileType {
  readonly mediaType: string;
  readonly extension: string;
}

/** The type of an image whose clipboard says this, parameters and case aside; undefined for what no model reads. */
export function imageType(mediaType: string): FileType | undefined {
  const [essence = ""] = mediaType.split(";");
  return imageTypes.get(essence.trim().toLowerCase());
}

/** The type of a text file with this extension. */
export function textType(extension: string): FileType {
  return { mediaType: textTypes.get(extension) ?? "text/plain", extension };
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
