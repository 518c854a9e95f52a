// npm run demo: the coding agent of examples, then its session in the command line. It needs no build but the viewer's,
// which it makes if there is none or an older one.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./entries.mjs";

const tsx = ["--import", "tsx"];

/**
 * Runs a program of the sources, and prints what it prints.
 * @param {string} file @param {readonly string[]} words @returns {Promise<string>} its output
 */
async function run(file, words) {
  const child = spawn(process.execPath, [...tsx, join(root, file), ...words], {
    cwd: root,
    stdio: ["inherit", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
    process.stdout.write(text);
  });
  const [code] = await once(child, "close");
  if (code !== 0) process.exit(code ?? 1);
  return output;
}

async function prepareViewer() {
  const sources = join(root, "src");
  const app = join(root, "dist", "viewer", "app.html");
  const times = readdirSync(sources, { recursive: true, encoding: "utf8" }).map(
    (name) => statSync(join(sources, name)).mtimeMs,
  );
  if (existsSync(app) && statSync(app).mtimeMs > Math.max(...times)) return;
  mkdirSync(dirname(app), { recursive: true });
  const whole = `${app}.${process.pid}`;
  const { buildViewer } = await import("./viewer.mjs");
  writeFileSync(whole, await buildViewer());
  renameSync(whole, app);
}

const usage = `usage:
  npm run demo                               two turns in a scratch directory
  npm run demo -- DIR "PROMPT"...            a turn for each prompt, after the newest session of DIR;
                                             @FILE in a prompt attaches a file
  npm run demo -- DIR --at ENTRY "PROMPT"    from an earlier entry`;

/**
 * @param {string[]} args
 * @returns {string | undefined} why the agent cannot work with them
 */
function problemWith(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { at: { type: "string" } },
    });
    const [dir] = positionals;
    if (dir === undefined) return values.at === undefined ? undefined : "--at needs a directory before it";
    return statSync(dir, { throwIfNoEntry: false })?.isDirectory() ? undefined : `${dir} is not a directory`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const args = process.argv.slice(2);
const problem = problemWith(args);
if (problem !== undefined) {
  console.error(`npm run demo: ${problem}\n\n${usage}`);
  process.exit(2);
}
const viewer = prepareViewer();
// It is awaited below.
viewer.catch(() => {});
const output = await run("examples/01-coding-agent.ts", args);
const session = /^session: (.+)$/m.exec(output)?.[1] ?? "";
console.log("\n$ npx sessile show --tree");
await run("src/cli/main.ts", ["show", session, "--tree"]);
await viewer;
const page = join(mkdtempSync(join(tmpdir(), "sessile-view-")), "session.html");
console.log("\n$ npx sessile view, for a browser:");
await run("src/cli/main.ts", ["view", session, "-o", page]);
