import { join } from "node:path";
import { entries, root } from "./entries.mjs";

/** Lets vitest resolve `sessile/…` to the sources; tsc and tsx do the same by the `paths` of tsconfig.json. */
export const sourceAliases = entries.map(({ specifier, source }) => ({
  find: new RegExp(`^${specifier}$`),
  replacement: join(root, source),
}));
