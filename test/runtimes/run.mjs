// The conformance suites and a small program in other runtimes: each gets the package as it is built, and counts.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { close, run, together } from "../../scripts/run.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
/** @param {readonly string[]} path */
const program = (...path) => join(here, "node_modules", ...path);

/** @type {readonly { name: string, command: readonly string[], suites?: string }[]} */
const runtimes = [
  // The longest one first.
  { name: "workerd (PostgreSQL and S3 by fetch)", command: [process.execPath], suites: "workers.mjs" },
  { name: "Node 22", command: [program("node22-linux-x64", "bin", "node")] },
  { name: "Node 24", command: [program("node24-linux-x64", "bin", "node")] },
  { name: "Bun", command: [program("@oven/bun-linux-x64", "bin", "bun")] },
  { name: "Deno", command: [program("@deno/linux-x64-glibc", "deno"), "run", "--allow-all", "--no-lock"] },
];

// Below node_modules, so that the chunks find their dependencies.
mkdirSync(join(root, "node_modules", ".cache"), { recursive: true });
const built = mkdtempSync(join(root, "node_modules", ".cache", "sessile-"));
let passed = 0;
let failed = 0;
try {
  for (const words of [
    [join(root, "node_modules", "tsup", "dist", "cli-default.js"), "--out-dir", built],
    [join(root, "scripts", "chunks.mjs"), built],
  ]) {
    const build = await run([process.execPath, ...words], 300_000);
    if (!build.ok) throw new Error(`the build failed: ${build.output}`);
  }
  await together(runtimes, async ({ name, command, suites = "suites.mjs" }) => {
    const { output, seconds } = await run([...command, join(here, suites), built], 1_800_000);
    const counts = /^\{"passed":(\d+),"failed":(\d+)\}$/m.exec(output);
    // A runtime that did not come to its end has failed once more.
    const [ok, wrong] = counts === null ? [0, 1] : [Number(counts[1]), Number(counts[2])];
    passed += ok;
    failed += wrong;
    console.log(
      `${wrong === 0 ? "ok  " : "fail"} ${seconds.padStart(5)} s ${name}: ${ok} passed, ${wrong} failed`,
    );
    if (wrong > 0) console.log(`\n${output.trim()}\n`);
  });
} finally {
  rmSync(built, { recursive: true, force: true });
}
close(passed, failed);
