import { buildList, buildViewer } from "../../../scripts/viewer.mjs";

/**
 * The pages that the built package has, which these tests do without. Files that run in one worker share the modules
 * which the first of them loaded, so that all of them have to put the same function in the place of the real one.
 */
const built = new Map<string, Promise<string>>();

/** The page of one session, or of the list. */
export function readViewerTemplate(name = "app"): Promise<string> {
  const known = built.get(name) ?? (name === "list" ? buildList() : buildViewer());
  built.set(name, known);
  return known;
}
