import { entries } from "./scripts/entries.mjs";

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  entryPoints: entries.map(({ source }) => source),
  tsconfig: "tsconfig.json",
  out: "docs/api",
  readme: "none",
  excludeInternal: true,
  excludePrivate: true,
  githubPages: false,
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  requiredToBeDocumented: ["Function", "Class", "Interface", "TypeAlias", "Variable", "Method"],
};
