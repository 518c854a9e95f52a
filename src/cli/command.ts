/**
 * The commands of the command line: their shape, from which parsing, help, completion and the reference page
 * derive.
 */

import type { Output } from "./output.js";

export interface Program {
  readonly version: string;
  readonly commands: readonly CommandRow[];
}

/** An option of a command. `value` names its value in the help; without it the option is a switch. */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  readonly value?: string;
  /** The only values that it accepts. */
  readonly choices?: readonly string[];
  /** Values that help and completion name, among others that it accepts. */
  readonly offers?: readonly string[];
  /** Whether it may be given more than once. */
  readonly multiple?: boolean;
  readonly description: string;
  /** The description in the help, if it is a shorter one. */
  readonly brief?: string;
  /** Whether the help only names it. */
  readonly isRare?: boolean;
}

/** A positional argument. A `session` is completed with ids. */
export interface ArgumentSpec {
  readonly name: string;
  readonly kind: "session" | "directory" | "file" | "text";
  /** Values that completion offers beside those of its kind. */
  readonly offers?: readonly string[];
  readonly optional?: boolean;
  /** Only the last one may be repeated. */
  readonly multiple?: boolean;
  readonly description: string;
}

/** The arguments of one call, checked. */
export interface Parsed {
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** Exit codes: 0 fine, 1 found something, 2 wrong use, 3 could not read or write. */
export type ExitCode = 0 | 1 | 2 | 3;

/** The environment of a command: it reads and writes nothing else. */
export interface CommandContext {
  readonly out: Output;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** All commands. */
  readonly commands: readonly CommandRow[];
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Asks on the terminal.
   * @throws UsageError if there is none
   */
  confirm(question: string): Promise<boolean>;
}

/** A command as the overview shows it. Subcommands have a name of two words: `blobs verify`. */
export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Loads the modules of the command, which only its own calls need. */
  load(): Promise<CommandModule>;
}

/** A module of commands: their bodies by name. */
export interface CommandModule {
  readonly bodies: Readonly<Record<string, CommandBody>>;
}

/** The rest of a command. */
export interface CommandBody {
  /** Sentences of the reference page, in order. */
  readonly description: readonly string[];
  /** Those of the help, if it has fewer. */
  readonly about?: readonly string[];
  /** When the exit code is 1: `if …`. Absent for a command that finds nothing. */
  readonly finds?: string;
  readonly arguments: readonly ArgumentSpec[];
  readonly options: readonly OptionSpec[];
  readonly examples: readonly { readonly line: string; readonly does: string }[];
  run(parsed: Parsed, context: CommandContext): Promise<ExitCode>;
}

export type Command = Omit<CommandRow, "load"> & CommandBody;

export async function loadCommand({ name, summary, load }: CommandRow): Promise<Command> {
  const { bodies } = await load();
  return { name, summary, ...(bodies[name] as CommandBody) };
}

/** The command that the first words name: `blobs verify` before `blobs`. */
export function rowNamed(rows: readonly CommandRow[], words: readonly string[]): CommandRow | undefined {
  const names = [2, 1].map((length) => words.slice(0, length).join(" "));
  return rows.find(({ name }) => name === names[0]) ?? rows.find(({ name }) => name === names[1]);
}

/** Options of every command. */
export const commonOptions: readonly OptionSpec[] = [
  { name: "json", description: "Print JSON: one object, or a line for each item of a list." },
  { name: "help", short: "h", description: "Show the help of the command." },
];

/** A wrong use of the command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Something that cannot be read here, with a code of its own: exit code 3. */
export class ReadError extends Error {
  override readonly name = "ReadError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The text of an option; undefined if it is absent. */
export function textOption({ options }: Parsed, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** All texts of an option that may be repeated. */
export function textOptions({ options }: Parsed, name: string): readonly string[] {
  const value = options[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

/** @throws UsageError if the option is absent */
export function requiredOption(parsed: Parsed, name: string): string {
  const value = textOption(parsed, name);
  if (value === undefined) throw new UsageError(`missing --${name}`);
  return value;
}

/**
 * The whole number of an option.
 * @throws UsageError for anything else
 */
export function numberOption(parsed: Parsed, name: string, min = 0): number | undefined {
  const text = textOption(parsed, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value) || value < min)
    throw new UsageError(`--${name}: expected a whole number from ${min}, got ${JSON.stringify(text)}`);
  return value;
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * The time of an option: a date, a date with a time, or an age such as `7d` or `12h`.
 * @throws UsageError for anything else
 */
export function timeOption(parsed: Parsed, name: string, now: number): Date | undefined {
  const text = textOption(parsed, name);
  if (text === undefined) return undefined;
  const age = /^(\d{1,6})([mhdw])$/.exec(text);
  const time = age ? now - Number(age[1]) * (unitsMs[age[2] as string] as number) : dateMs(text);
  if (Number.isNaN(time))
    throw new UsageError(
      `--${name}: expected a date or an age such as 7d, got ${JSON.stringify(text)}; a date is written 2026-11-24`,
    );
  return new Date(time);
}

/** The time of an ISO 8601 date; NaN for another text, and for a day that its month does not have. */
function dateMs(text: string): number {
  const [, day = ""] = /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d\S{0,24})?$/.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  // `Date` counts on into the next month.
  const isDay = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
  return isDay ? Date.parse(text) : Number.NaN;
}
