/**
 * The help of the program and of its commands, and the reference page, made from the commands' own tables.
 */

import { type ArgumentSpec, type Command, commonOptions, type OptionSpec, type Program } from "./command.js";

/** The help of the program: one screen of 80 by 24. */
export function overview({ commands, version }: Program): readonly string[] {
  const groups = new Map<string, string[]>();
  for (const { name, summary } of commands) {
    const [first = "", second] = name.split(" ");
    // A group that is shown alone has a line for each of its commands.
    const isAlone = commands.every((each) => each.name.startsWith(`${first} `));
    if (second === undefined || isAlone) groups.set(name, [summary]);
    else groups.set(first, [...(groups.get(first) ?? []), second]);
  }
  const rows = [...groups].map(([name, words]) => [
    name,
    words.length === 1 ? (words[0] ?? "") : `${words.join(", ")}: see sessile ${name} --help`,
  ]);
  const width = widest(rows.map(([name = ""]) => name));
  return [
    `sessile ${version}: sessions of agents`,
    "",
    ...rows.map(([name = "", text]) => `  ${name.padEnd(width)}  ${text}`),
    "S: a path, an id or its unique start, or latest. More: sessile COMMAND --help.",
  ];
}

/** How a command is called. */
function commandUsage(command: Command): string {
  const words = command.arguments.map(argumentWord);
  return ["sessile", command.name, ...words, "[options]"].join(" ");
}

function argumentWord({ name, optional, multiple }: ArgumentSpec): string {
  const word = multiple ? `${name}…` : name;
  return optional ? `[${word}]` : word;
}

/** The help of one command: one screen of 80 by 28. The page docs/reference/cli.md has the rest. */
export function commandHelp(command: Command): readonly string[] {
  const options = [...command.options, ...commonOptions];
  const rows = [
    ...command.arguments.map((each) => [argumentWord(each), each.description] as const),
    ...options.flatMap((each) => (each.isRare ? [] : [[optionWord(each), briefly(each)] as const])),
  ];
  const width = widest(rows.map(([word]) => word));
  const rare = options.filter(({ isRare }) => isRare === true).map(optionWord);
  const { about = command.description } = command;
  return [
    command.summary,
    "",
    `  ${commandUsage(command)}`,
    "",
    ...(about.length === 0 ? [] : [...hanging("", about.join(" ")), ""]),
    ...rows.flatMap(([word, text]) => hanging(`  ${word.padEnd(width)}  `, text)),
    ...(rare.length === 0 ? [] : hanging("  ", `Rarer, in docs/reference/cli.md: ${rare.join(", ")}.`)),
    "",
    ...hanging("", exitCodes(command)),
    "",
    ...command.examples.slice(0, shownExamples).flatMap(({ line, does }) => {
      const whole = `  ${line}  # ${does}`;
      return whole.length <= helpColumns ? [whole] : [`  ${line}`, `      ${does}`];
    }),
  ];
}

const shownExamples = 2;
/** Of more values the first are shown, and the number of all. */
const maxValues = 8;

/** The description of an option for the help: of many values the first ones. */
function briefly(spec: OptionSpec): string {
  const { offers = [], description } = spec;
  const brief = spec.brief === undefined ? spec : { ...spec, description: spec.brief };
  if (offers.length <= maxValues) return describe(brief);
  const values = `Such as: ${offers.slice(0, 3).join(", ")}, of ${offers.length}.`;
  return `${spec.brief ?? description} ${values}${spec.multiple ? " May be repeated." : ""}`;
}

/** A sentence with the exit codes that the command has. */
export function exitCodes({ finds }: Pick<Command, "finds">): string {
  const one = finds === undefined ? "" : `1 ${finds}, `;
  return `Exit codes: 0 fine, ${one}2 wrong use, 3 could not read or write.`;
}

/** How an option is written. */
function optionWord({ name, short, value }: OptionSpec): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

/** The description of an option, with the values that are known. */
export function describe({ description, choices, offers, multiple }: OptionSpec): string {
  const [opening, named] = choices === undefined ? ["Such as", offers] : ["One of", choices];
  const values = named === undefined ? "" : ` ${opening}: ${named.join(", ")}.`;
  return `${description}${values}${multiple ? " May be repeated." : ""}`;
}

const widest = (words: readonly string[]) => words.reduce((width, { length }) => Math.max(width, length), 0);

const helpColumns = 80;

function hanging(start: string, text: string): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && start.length + line.length + word.length + 1 > helpColumns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines.map((each, at) => (at === 0 ? start : " ".repeat(start.length)) + each);
}

const maxShown = 3;

/** The nearest of some names: those with few other letters, or else those that it begins or has a word of. */
function nearest(given: string, names: readonly string[]): readonly string[] {
  // Of a short word with two other letters nothing may be left.
  const most = Math.min(Math.max(2, Math.floor(given.length / 4)), given.length - 1);
  const near = names
    .map((name) => ({ name, edits: distance(name, given) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits);
  if (near.length > 0) return near.slice(0, maxShown).map(({ name }) => name);
  const words = new Set(given.split("-").filter(({ length }) => length > 2));
  const begins = (name: string) => given.length > 2 && name.startsWith(given);
  const isNear = (name: string) => begins(name) || name.split("-").some((word) => words.has(word));
  return names.filter(isNear).slice(0, maxShown);
}

/** The end of a sentence: a question if there is a near name, else a stop. */
export function readHint(given: string, names: readonly string[]): string {
  const near = nearest(given, names);
  return near.length === 0 ? "." : `; did you mean ${near.join(" or ")}?`;
}

/** The error for a value that is none of some, with the nearest of them. */
export function wrongValue(name: string, choices: readonly string[], value: string): string {
  const got = value === "" ? "" : `, got ${JSON.stringify(value)}`;
  return `${name}: expected ${choices.join(", ")}${got}${readHint(value, choices).replace(/\.$/, "")}`;
}

/** The edit distance of two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, change));
    }
    row = next;
  }
  return row[b.length] as number;
}

// The reference page of the command line, in the manner of a manual, made from the commands' tables.

/** The page docs/reference/cli.md. */
export function referencePage(commands: readonly Command[]): string {
  const contents = commands.map(({ name, summary }) => `| [${name}](#${anchor(name)}) | ${summary} |`);
  return [
    "# Command line",
    "",
    "Made from the commands' own tables by `npm run docs:tables`.",
    "",
    "A session is named by a path, an id, a unique start of an id, or `latest`: the newest that is not archived.",
    "Sessions of other agents are read where they are, and never changed. Standard output has data alone; errors",
    "are on standard error, as is the progress of slow work, if that is a terminal and there is no --json.",
    "`opencode.db` needs Node 22.5 or later: an older Node names it in a note, and lists the sessions of the others.",
    "`doctor`, `repair` and `open` are other names of `diagnose`, `salvage` and `serve`.",
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
