/** The reference page of the command line, in the manner of a manual, made from the commands' tables. */

import { type Command, commonOptions } from "./command.js";
import { commandUsage, describe, exitCodes, optionWord } from "./help.js";

/** The page docs/reference/cli.md. */
export function referencePage(commands: readonly Command[]): string {
  const contents = commands.map(({ name, summary }) => `| [${name}](#${anchor(name)}) | ${summary} |`);
  return [
    "# Command line",
    "",
    "Made from the commands' own tables by `npm run docs:tables`.",
    "",
    "A session is named by a path, an id, a unique start of an id, or `latest`: the newest that is not archived.",
    "Sessions of other agents are read where they are, and never changed. Standard output has data alone; progress",
    "and errors are on standard error.",
    "",
    "Exit codes: 0 fine, 1 found something (each command says what), 2 wrong use, 3 could not read or write. Of many",
    "sessions, one that cannot be read is named on standard error, and the others are read: then the code is 3. Ctrl-C",
    "ends with 130, and leaves no file half written.",
    "",
    'With `--json` standard error has JSON too, a line each: `{"error": {code, message}}`, `{"warning": …}` for damaged',
    'lines (with their number, `damaged`, which the result has too if it is one object), `{"skipped": …}` for a session',
    "that cannot be read.",
    "",
    "| command | does |",
    "| --- | --- |",
    ...contents,
    "",
    ...commands.flatMap(section),
  ].join("\n");
}

const anchor = (name: string) => `sessile-${name.replaceAll(" ", "-")}`;

function section(command: Command): readonly string[] {
  const rows = command.arguments.map(({ name, description }) => `| \`${name}\` | ${cell(description)} |`);
  const options = [...command.options, ...commonOptions];
  return [
    `## sessile ${command.name}`,
    "",
    "```",
    commandUsage(command),
    "```",
    "",
    `${command.summary}.`,
    "",
    ...(command.description.length === 0 ? [] : [command.description.join(" "), ""]),
    exitCodes(command),
    "",
    "| argument, option | |",
    "| --- | --- |",
    ...rows,
    ...options.map((each) => `| \`${optionWord(each)}\` | ${cell(describe(each))} |`),
    "",
    ...command.examples.flatMap(({ line, does }) => ["```sh", `${line}  # ${does}`, "```", ""]),
  ];
}

const cell = (text: string) => text.replaceAll("|", "\\|");
