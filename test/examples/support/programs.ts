/** Starts TypeScript programs of the repository as processes, by tsx or, in the project `harnesses`, from bundles. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../../scripts/entries.mjs";

/**
 * The options with which Node runs a program of the repository: `node ...runsSources examples/02-attachments.ts`. A bundle
 * takes 0.4 s of a processor to start, tsx 2.4 s, since it resolves and compiles some hundred modules.
 */
export const runsSources: readonly string[] = ["--import", process.env.SESSILE_PROGRAMS ?? "tsx"];

/** The programs that tests start, by path. */
function programs(): readonly string[] {
  return [
    ...readdirSync(join(root, "examples"), { recursive: true, encoding: "utf8" })
      .filter((path) => /^(?:\d\d-[^/]+|apps\/[^/]+\/(?:main|demo|database))\.ts$/.test(path))
      .map((path) => `examples/${path}`),
    "src/cli/main.ts",
    "test/examples/support/dying-compaction.ts",
    "test/examples/apps/turn-endpoint/server-process.ts",
  ];
}

/** Bundles the programs; a global setup of vitest, which removes the bundles after the tests. */
export default async function bundlePrograms(): Promise<() => void> {
  // Not for those who start programs.
  const { build } = await import("tsup");
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  // Below node_modules, so that the bundles find their dependencies.
  const dir = mkdtempSync(join(cache, "sessile-programs-"));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  try {
    await build({
      config: false,
      silent: true,
      entry: Object.fromEntries(programs().map((path) => [path.replace(/\.ts$/, ""), join(root, path)])),
      outDir: dir,
      format: "esm",
      platform: "node",
      target: "node20",
      splitting: true,
      skipNodeModulesBundle: true,
      outExtension: () => ({ js: ".mjs" }),
      esbuildPlugins: [
        {
          name: "places of the sources",
          setup({ onLoad }) {
            onLoad({ filter: /\.(?:ts|mjs)$/ }, async ({ path }) => {
              const text = await readFile(path, "utf8");
              const places = { url: pathToFileURL(path).href, dirname: dirname(path) };
              const contents = text.replace(
                /\bimport\.meta\.(url|dirname)\b/g,
                (_, member: "url" | "dirname") => JSON.stringify(places[member]),
              );
              return contents === text ? undefined : { contents, loader: "ts" };
            });
          },
        },
      ],
    });
    const bundles = Object.fromEntries(
      programs().map((path) => [
        pathToFileURL(join(root, path)).href,
        pathToFileURL(join(dir, path.replace(/\.ts$/, ".mjs"))).href,
      ]),
    );
    writeFileSync(
      join(dir, "hooks.mjs"),
      `const bundles = ${JSON.stringify(bundles)};
export async function resolve(specifier, context, next) {
  return context.parentURL === undefined && Object.hasOwn(bundles, specifier)
    ? { url: bundles[specifier], format: "module", shortCircuit: true }
    : next(specifier, context);
}
`,
    );
    writeFileSync(
      join(dir, "start.mjs"),
      'import { register } from "node:module";\nregister("./hooks.mjs", import.meta.url);\n',
    );
  } catch (error) {
    remove();
    throw error;
  }
  process.env.SESSILE_PROGRAMS = join(dir, "start.mjs");
  return remove;
}
