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
  validation: { notExported: true, invalidLink: true, notDocumented: true },
  intentionallyNotExported: [
    "LibsqlAnswer",
    "LibsqlStatement",
    "PreparedStatement",
    "R2Body",
    "R2Condition",
    "R2Page",
    "R2Stat",
    "R2Upload",
    "SqlCursor",
    "ToolShapes",
  ],
  intentionallyNotDocumented: ["sessile.Session.[asyncDispose]"],
  requiredToBeDocumented: ["Function", "Class", "Interface", "TypeAlias", "Variable", "Method"],
};

export default config;
