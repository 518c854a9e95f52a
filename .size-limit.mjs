import { entries } from "./scripts/entries.mjs";

/** Every subpath with all that it loads, against the limit of its row in scripts/modules.mjs; run by `npm run check`. */
export default [
  ...entries.map(({ specifier, output, limit, node }) => ({
    name: specifier,
    path: output,
    limit,
    gzip: true,
    ...(node ? { ignore: ["node:*"] } : {}),
  })),
  {
    name: "viewer, without a session",
    path: "dist/viewer/app.html",
    limit: "300 kB",
    gzip: false,
    brotli: false,
    disablePlugins: ["@size-limit/esbuild"],
  },
];
