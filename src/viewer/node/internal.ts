/** The part of this module for Node that the command line uses. */

import { readFile } from "node:fs/promises";

// The viewer's applications in the installed package.

/** From a chunk of `dist`, from entry points below it, and from `src`. */
const places = ["viewer/", "../viewer/", "../../viewer/", "../../../dist/viewer/"];

/**
 * Reads an application that `npm run build` makes: the viewer of a session, for `viewerHtml`, or the list of all
 * sessions.
 *
 * @throws Error if the package was not built; errors of the file system
 */
export async function readViewerTemplate(name: "app" | "list" = "app"): Promise<string> {
  for (const place of places) {
    try {
      return await readFile(new URL(`${place}${name}.html`, import.meta.url), "utf8");
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "ENOENT") throw error;
    }
  }
  throw new Error(`the package has no viewer/${name}.html: run \`npm run build\``);
}
