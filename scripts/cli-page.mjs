import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadCommand } from "../src/cli/command.js";
import { commands } from "../src/cli/commands/index.js";
import { referencePage } from "../src/cli/help.js";
import { root } from "./entries.mjs";

/** Makes docs/reference/cli.md from the tables of the commands: `npm run docs:tables`. */
const cliPagePath = "docs/reference/cli.md";

const path = join(root, cliPagePath);
const page = referencePage(await Promise.all(commands.map(loadCommand)));
const changed = !existsSync(path) || readFileSync(path, "utf8") !== page;
writeFileSync(path, page);
console.log(`${cliPagePath} ${changed ? "is written anew" : "is up to date"}`);
