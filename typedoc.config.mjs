import { entries } from "./scripts/entries.mjs";

/** The API reference of every subpath: `npm run docs`. @type {Partial<import("typedoc").TypeDocOptions>} */
const config = {
  name: "Sessile",
  entryPoints: entries.map(({ source }) => source),
  tsconfig: "tsconfig.json",
  out: "docs/api",
  readme: "none",
  excludeInternal: true,
  excludePrivate: true,
  githubPages: false,
  disableSources: true,
  treatWarningsAsErrors: true,
  // Types that no document and no program names are reached by inference: `Awaited<ReturnType<typeof compact>>`.
  validation: { notExported: false, invalidLink: true, notDocumented: true },
  intentionallyNotDocumented: ["sessile.Session.[asyncDispose]", "sessile.TurnClaim.[asyncDispose]"],
  requiredToBeDocumented: ["Function", "Class", "Interface", "TypeAlias", "Variable", "Method"],
};

export default config;
