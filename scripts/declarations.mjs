// The declarations of the package: a file per subpath, and what several share in dist/types. `npm run build` runs it.
// The compiler writes a file per source, from which those that users can reach are joined: 70 files of 700.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { entries, root } from "./entries.mjs";
import { run } from "./run.mjs";

const dir = await mkdtemp(join(tmpdir(), "sessile-declarations-"));
try {
  const compiler = ["node", "node_modules/typescript7/bin/tsc", "-p", "tsconfig.build.json", "--outDir", dir];
  const { ok, output } = await run(compiler, 600_000);
  if (!ok) throw new Error(output);
  const declarations = entries.map(({ name, source }) => [
    name,
    join(dir, source.replace(/^src\/(.*)\.ts$/, "$1.d.ts")),
  ]);
  const bundle = await rollup({
    input: Object.fromEntries(declarations),
    plugins: [dts()],
    external: (specifier) => !/^[./]/.test(specifier),
    // A type that an entry shares with another, and does not export.
    onwarn: ({ plugin, message }) => {
      if (plugin !== "dts") throw new Error(message);
    },
  });
  await bundle.write({
    dir: join(root, "dist"),
    format: "es",
    minifyInternalExports: false,
    entryFileNames: "[name].d.ts",
    chunkFileNames: ({ name }) => `types/${name.replace(/\.d$/, "")}.d.ts`,
  });
  await bundle.close();
} finally {
  await rm(dir, { recursive: true, force: true });
}
