// Installs the packages of folders that have their own lockfile: node scripts/install.mjs FOLDER…
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "./entries.mjs";

/** A registry may not answer for a moment. */
const attempts = 3;

/** Folders that need no programs of other systems. */
const withoutOptional = ["test/adapters", "test/agent-sdk"];

for (const folder of process.argv.slice(2)) {
  const args = ["ci", "--prefix", folder, "--ignore-scripts"];
  if (withoutOptional.includes(folder)) args.push("--omit=optional");
  const lockfile = readFileSync(join(root, folder, "package-lock.json"));
  const wanted = createHash("sha256").update(lockfile).digest("hex");
  const note = join(root, folder, "node_modules", ".sessile-installed");
  if (existsSync(note) && readFileSync(note, "utf8") === wanted) continue;
  for (let attempt = 1; ; attempt++) {
    const { status } = spawnSync("npm", args, { cwd: root, stdio: "inherit" });
    if (status === 0) break;
    if (attempt === attempts) process.exit(status ?? 1);
    console.log(`npm ${args.join(" ")} failed; once more in ${attempt * 10} s`);
    await pause(attempt * 10_000);
  }
  writeFileSync(note, wanted);
}
