/** The program: from the words of a call to an exit code. Errors become one line on standard error. */

import { parseArgs } from "node:util";
import { SessileError } from "../core/errors/index.js";
import {
  type ArgumentSpec,
  type Command,
  type CommandContext,
  commonOptions,
  type ExitCode,
  loadCommand,
  type OptionSpec,
  type Parsed,
  type Program,
  rowNamed,
  UsageError,
} from "./command.js";
import { commandHelp, overview, readHint, wrongValue } from "./help.js";
import { errorCode, Output, PipeClosed, type TextStream } from "./output.js";

/** The process, or a fake of it in tests. */
export interface Environment {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
  now(): number;
  /** Asks on the terminal; absent without one. */
  ask?(question: string): Promise<string>;
}

/** Runs a call. Resolves with its exit code, and never rejects. */
export async function runProgram(
  program: Program,
  words: readonly string[],
  world: Environment,
): Promise<ExitCode> {
  const end = words.indexOf("--");
  const json = words.slice(0, end < 0 ? undefined : end).includes("--json");
  const out = new Output({ ...world, json, now: () => world.now() });
  try {
    const code = await run(program, words, world, out);
    return out.partial ? 3 : code;
  } catch (error) {
    out.end();
    if (error instanceof PipeClosed) return 0;
    return failed(error, program, words, out, world.signal);
  } finally {
    out.end();
  }
}

async function run(
  program: Program,
  words: readonly string[],
  world: Environment,
  out: Output,
): Promise<ExitCode> {
  const [first] = words;
  if (first === "--version" || first === "-V") {
    await out.line(program.version);
    return 0;
  }
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    if (first === "help" && words.length > 1) return run(program, [...words.slice(1), "--help"], world, out);
    await out.line(...overview(program));
    return 0;
  }
  const group = program.commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (words[1] === "--help" || words[1] === "-h")) {
    await out.line(...overview({ ...program, commands: group }));
    return 0;
  }
  const alias = aliases.get(first);
  if (alias !== undefined) return run(program, [alias, ...words.slice(1)], world, out);
  const row = rowNamed(program.commands, words);
  if (row === undefined) throw new UsageError(unknownCommand(program, words));
  const command = await loadCommand(row);
  const { help, ...parsed } = parse(command, words.slice(row.name.split(" ").length));
  if (help) {
    await out.line(...commandHelp(command));
    return 0;
  }
  const context: CommandContext = {
    out,
    signal: world.signal,
    env: world.env,
    cwd: world.cwd,
    commands: program.commands,
    now: () => world.now(),
    async confirm(question) {
      if (world.ask === undefined) throw new UsageError(`${command.name}: expected --yes without a terminal`);
      out.end();
      return /^y(?:es)?$/i.test((await world.ask(`${SessileError.printable(question)} [y/N] `)).trim());
    },
  };
  out.start(command.name);
  return command.run(parsed, context);
}

/** Names of other programs' commands. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["doctor", "diagnose"],
  ["repair", "salvage"],
  ["open", "serve"],
]);

function unknownCommand({ commands }: Program, words: readonly string[]): string {
  const [first = ""] = words;
  const [, second = ""] = words;
  const subcommands = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (subcommands.length > 0) {
    const names = subcommands.map(({ name }) => name.slice(first.length + 1));
    return wrongValue(first, names, second);
  }
  const hint = readHint(first, [...commands.map(({ name }) => name), ...aliases.keys()]);
  return `there is no command ${first === "" ? '""' : SessileError.printable(first)}${hint}`;
}

/**
 * Parses and checks the words after a command's name.
 * @throws UsageError
 */
function parse(command: Command, words: readonly string[]): Parsed & { readonly help: boolean } {
  const specs = [...command.options, ...commonOptions];
  const { values, positionals } = parsed(specs, words);
  if (values.help === true) return { positionals, options: values, help: true };
  for (const { name, value: kind, choices } of specs) {
    for (const value of [values[name]].flat()) {
      if (typeof value !== "string") continue;
      if (choices !== undefined && !choices.includes(value))
        throw new UsageError(wrongValue(`--${name}`, choices, value));
      if (value.trim() === "") throw new UsageError(`--${name}: expected ${kind}, got an empty text`);
    }
  }
  const required = command.arguments.filter(({ optional }) => !optional).length;
  const isOpen = command.arguments.at(-1)?.multiple === true;
  if (positionals.length < required) {
    const missing = command.arguments.slice(positionals.length, required).map(({ name }) => name);
    throw new UsageError(`${command.name}: missing ${missing.join(" and ")}`);
  }
  if (!isOpen && positionals.length > command.arguments.length) {
    const extra = positionals.slice(command.arguments.length).map((word) => JSON.stringify(word));
    throw new UsageError(`${command.name}: unexpected ${extra.join(" ")}`);
  }
  for (const [at, value] of positionals.entries()) {
    const { name, kind } = command.arguments[at] ?? (command.arguments.at(-1) as ArgumentSpec);
    // Words of a line that is completed may be empty.
    if (value.trim() === "" && kind !== "text")
      throw new UsageError(`${command.name}: expected ${name}, got an empty text`);
  }
  return { positionals, options: values, help: false };
}

function parsed(specs: readonly OptionSpec[], words: readonly string[]) {
  const options = Object.fromEntries(
    specs.map(({ name, short, value, multiple = false }) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        multiple,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values: values as Parsed["options"], positionals };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const [, option = ""] = /'(-[^' ]{0,255})/.exec(message) ?? [];
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" && option.startsWith("--")) {
      const known = specs.map(({ name }) => name);
      const hint = readHint(option.slice(2), known).replace(/\.$/, "");
      throw new UsageError(`there is no option ${option}${hint}`);
    }
    // Its further lines describe a way to write a value that begins with a dash.
    const [line = "", ...more] = message.split("\n");
    const long = specs.find(({ short }) => option === `-${short}`)?.name ?? option.slice(2);
    const hint = more.length === 0 ? "" : `; a value that begins with a dash is written --${long}=VALUE`;
    throw new UsageError(`${line.replace(/\.$/, "")}${hint}`);
  }
}

/** Of a long message its first line, such as of a statement that a database refuses. JSON has all of it. */
function shortMessage(message: string): string {
  const [line = ""] = message.split("\n", 1);
  return message.length > maxMessage && line.trim() !== "" ? line : message;
}

const maxMessage = 200;

async function failed(
  error: unknown,
  program: Program,
  words: readonly string[],
  out: Output,
  signal: AbortSignal,
): Promise<ExitCode> {
  if (signal.aborted) return 3;
  const { message } = error as Error;
  const code = errorCode(error);
  const line = shortMessage(message);
  // Node's messages have their code.
  const shown = error instanceof UsageError || message.startsWith(code) ? "" : ` (${code})`;
  if (out.json) out.note(SessileError.printable(JSON.stringify({ error: { code, message } })));
  else out.note(`sessile: ${SessileError.printable(line)}${shown}`);
  if (!(error instanceof UsageError)) return 3;
  const [first = "", ...rest] = words;
  const { name } = rowNamed(program.commands, [aliases.get(first) ?? first, ...rest]) ?? {};
  if (!out.json) out.note(`Try: sessile ${name === undefined ? "" : `${name} `}--help`);
  return 2;
}
