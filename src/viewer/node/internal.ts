/** The part of this module for Node that the command line uses. */

import { readFile } from "node:fs/promises";

// The viewer's application in the installed package.

/** From a chunk of `dist`, from entry points below it, and from `src`. */
const places = [
  "viewer/app.html",
  "../viewer/app.html",
  "../../viewer/app.html",
  "../../../dist/viewer/app.html",
];

/**
 * Reads the application that `npm run build` makes, for `viewerHtml`.
 *
 * @throws Error if the package was not built; errors of the file system
 */
export async function readViewerTemplate(): Promise<string> {
  for (const place of places) {
    try {
      return await readFile(new URL(place, import.meta.url), "utf8");
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "ENOENT") throw error;
    }
  }
  throw new Error("the package has no viewer/app.html: run `npm run build`");
}
