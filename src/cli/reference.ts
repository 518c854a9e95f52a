/** The reference page of the command line, in the manner of a manual, made from the commands' tables. */

import { type Command, commonOptions, type OptionSpec } from "./command.js";
import { optionWord, usageOf } from "./help.js";

/** The page docs/generated/cli.md. */
export function referencePage(commands: readonly Command[]): string {
  const contents = commands.map(({ name, summary }) => `| [${name}](#${anchor(name)}) | ${summary} |`);
  return [
    "# Command line",
    "",
    "Made from the commands' own tables by `npm run docs:tables`.",
    "",
    "A session is named by a path, an id, a unique start of an id, or `latest`. Sessions of other agents are read",
    "where they are, and never changed. Standard output has data alone; progress and errors are on standard error.",
    "",
    "Exit codes: 0 fine, 1 found something, 2 wrong use, 3 could not read or write.",
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
    usageOf(command),
    "```",
    "",
    `${command.summary}.`,
    "",
    ...command.description.flatMap((paragraph) => [paragraph, ""]),
    "| argument, option | |",
    "| --- | --- |",
    ...rows,
    ...options.map((each) => `| \`${optionWord(each)}\` | ${cell(described(each))} |`),
    "",
    ...command.examples.flatMap(({ line, does }) => ["```sh", `${line}  # ${does}`, "```", ""]),
  ];
}

function described({ description, choices, multiple }: OptionSpec): string {
  const values = choices === undefined ? "" : ` One of: ${choices.join(", ")}.`;
  return `${description}${values}${multiple ? " May be repeated." : ""}`;
}

const cell = (text: string) => text.replaceAll("|", "\\|");
