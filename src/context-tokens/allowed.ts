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

const imageExtensions: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/jpg", "jpg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

/** The extension of an image of this media type, parameters and case aside; undefined for what no model reads. */
export function imageExtension(mediaType: string): string | undefined {
  const [essence = ""] = mediaType.split(";");
  return imageExtensions.get(essence.trim().toLowerCase());
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
