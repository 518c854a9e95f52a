import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "../../scripts/entries.mjs";
import type { SourceFile } from "./layers.js";

/** Reads all files below a folder whose name ends as asked; paths begin with that folder and have forward slashes. */
export function readFolder(folder: string, ending: string): readonly SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => ({ path: posix.join(folder, name), text: readFileSync(join(folder, name), "utf8") }));
}

/** The sources of the library, as `src/…`. */
export function readSources(): readonly SourceFile[] {
  const files = [".ts", ".tsx"].flatMap((ending) => readFolder(join(root, "src"), ending));
  return files.map(({ path, text }) => ({
    path: path.slice(root.length),
    text,
  }));
}
