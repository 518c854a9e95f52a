// Runs the tests that name times with another clock, in another time zone, as another user, with a home that is read-only.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./entries.mjs";
import { close } from "./run.mjs";

const [days = "+400", zone = "Asia/Kathmandu", ...options] = process.argv.slice(2);
/** Where the clock of a process is moved, that of the file system is not. */
const time = /\bDate\.now|new Date|\bnow:|\b[mc]time|utimes|Conformance\b/;
const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts") && !path.includes("node_modules"))
  // What these suites say of times, they say of memory and files too.
  .filter((path) => !/^(?:databases|mysql|postgres|r2|s3)\b/.test(path))
  .filter((path) => time.test(readFileSync(join(root, "test", path), "utf8")))
  .map((path) => `test/${path}`)
  .sort();

const home = mkdtempSync(join(tmpdir(), "sessile-home-"));
const results = mkdtempSync(join(tmpdir(), "sessile-results-"));
chmodSync(home, 0o555);
chmodSync(results, 0o777);
const json = join(results, "tests.json");
const nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
const command = [
  ...["faketime", "-f", `${days}d`],
  ...(process.getuid?.() === 0 ? nobody : []),
  // The other user cannot write a compiled configuration beside the first one.
  ...[process.execPath, "node_modules/vitest/vitest.mjs", "run", "--configLoader", "runner"],
  ...["--project", "unit", "--project", "system", "--reporter=default", "--reporter=json"],
  ...[`--outputFile.json=${json}`, ...options, ...files],
];
console.log(`${files.length} files, ${days} days, ${zone}`);
const [file = "", ...args] = command;
const env = { ...process.env, TZ: zone, HOME: home };
const { status, error } = spawnSync(file, args, { cwd: root, env, stdio: "inherit" });
if (error) console.error(`${file}: ${error.message}`);
const { numPassedTests = 0, numFailedTests = 0 } = existsSync(json)
  ? JSON.parse(readFileSync(json, "utf8"))
  : {};
for (const folder of [home, results]) rmSync(folder, { recursive: true });
close(numPassedTests, Math.max(numFailedTests, status === 0 ? 0 : 1));
