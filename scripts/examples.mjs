// Runs every example without a key; each ends with an exit code.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./entries.mjs";
import { close, run, together } from "./run.mjs";

const folder = join(root, "examples");
/** @param {string} path */
const list = (path) => (existsSync(path) ? readdirSync(path).sort() : []);
const names = [
  ...list(folder).filter((name) => /^\d\d-.+\.ts$/.test(name)),
  ...list(join(folder, "apps"))
    .map((name) => `apps/${name}/demo.ts`)
    .filter((name) => existsSync(join(folder, name))),
];

let failed = 0;
await together(names, async (name) => {
  const { ok, output, seconds } = await run(["tsx", `examples/${name}`], 300_000);
  console.log(`${ok ? "ok  " : "fail"} ${seconds.padStart(5)} s ${name}`);
  if (ok) return;
  failed += 1;
  console.log(`\n${output.trim()}\n`);
});
close(names.length - failed, failed);
