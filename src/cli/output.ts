/**
 * The streams of a command: data on standard output, progress and errors on standard error. A broken pipe is
 * no error: the reader needs no more output.
 */

import { SessileError } from "../core/errors/index.js";
import { spaced } from "../core/text.js";

/** A stream such as `process.stdout`. */
export interface TextStream {
  write(text: string, done?: (error?: Error | null) => void): boolean;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Thrown by a write after the reader closed the pipe. Ends the command with exit code 0. */
export class PipeClosed extends Error {
  override readonly name = "PipeClosed";
}

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";
const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

const defaultColumns = 80;
const minColumns = 40;
/** Work that takes longer than this shows its progress. */
const progressAfterMs = 500;
const progressEveryMs = 100;
/** A command without output for so long shows its elapsed time. */
const tickMs = 1000;

export interface OutputOptions {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  now(): number;
}

/** A note with a stable code, and members of its own for `--json`. */
export interface Warning {
  readonly code: string;
  readonly message: string;
  readonly path?: string;
  readonly damaged?: number;
}

export class Output {
  /** Whether the command prints JSON. */
  readonly json: boolean;
  /** Whether something was skipped. */
  partial = false;
  readonly #stdout: TextStream;
  readonly #stderr: TextStream;
  readonly #colored: boolean;
  /** A terminal, and a person who reads it. */
  readonly #showsProgress: boolean;
  readonly #env: OutputOptions["env"];
  readonly #now: () => number;
  readonly #started: number;
  #shownAt = 0;
  #progress = "";
  #broken = false;
  #ticker: NodeJS.Timeout | undefined;
  readonly #told = new Set<string>();

  constructor({ stdout, stderr, env, json, now }: OutputOptions) {
    this.json = json;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
    this.#now = now;
    this.#started = now();
    this.#showsProgress = !json && stderr.isTTY === true;
    this.#colored = !json && stdout.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  }

  /** The width of the terminal. Without one, `COLUMNS`; else unlimited, as a pipe has no edge. */
  get columns(): number {
    const given = Number(this.#env.COLUMNS);
    if (Number.isInteger(given) && given >= minColumns) return given;
    if (this.#stdout.isTTY !== true) return Number.POSITIVE_INFINITY;
    return Math.max(minColumns, this.#stdout.columns ?? defaultColumns);
  }

  /** Writes text, and waits until the stream has it. */
  async write(text: string): Promise<void> {
    this.end();
    if (this.#broken) throw new PipeClosed();
    await new Promise<void>((resolve, reject) => {
      this.#stdout.write(text, (error) => {
        if (!error) return resolve();
        const { code } = error as NodeJS.ErrnoException;
        this.#broken = code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
        reject(this.#broken ? new PipeClosed() : error);
      });
    });
  }

  /** Writes lines. They must be clean: see {@link Output.clean}. */
  line(...lines: readonly string[]): Promise<void> {
    return this.write(lines.map((line) => `${line}\n`).join(""));
  }

  /** Writes a value as one line of JSON, or as an indented object, with escapes for control characters. */
  value(value: unknown, indent?: number): Promise<void> {
    return this.line(...JSON.stringify(value, null, indent).split("\n").map(SessileError.printable));
  }

  /** A note for the user, on standard error. */
  note(text: string): void {
    this.#clearProgress();
    this.#stderr.write(`${text}\n`);
  }

  /** A note on the data, with its code. With `--json` it is a line of JSON on standard error. */
  warn(warning: Warning): void {
    this.#tell("warning", warning);
  }

  /** Names a session that cannot be read. The command continues, and its exit code becomes 3. */
  skip(path: string, error: unknown): void {
    this.partial = true;
    const { message } = error as Error;
    const named = message.includes(path) ? message : `${path}: ${message}`;
    this.#tell("skipped", { code: errorCode(error), message: named, path });
  }

  #tell(kind: "warning" | "skipped", warning: Warning): void {
    const text = this.json
      ? SessileError.printable(JSON.stringify({ [kind]: warning }))
      : `sessile: ${this.clean(warning.message)} (${warning.code})`;
    // A session that is followed is read again and again.
    if (!this.#told.has(text)) this.note(text);
    this.#told.add(text);
  }

  /** Shows the seconds of a command, which its own progress replaces, until it writes data. */
  start(name: string): void {
    const tick = () => {
      const now = this.#now();
      if (now - this.#shownAt < tickMs) return;
      this.progress(() => `${name}: ${Math.floor((now - this.#started) / 1000)} s`);
    };
    if (this.#showsProgress) this.#ticker = setInterval(tick, progressEveryMs).unref();
  }

  /** Shows the progress of slow work on a terminal, in one line; nothing with `--json`. */
  progress(text: () => string): void {
    if (!this.#showsProgress) return;
    const now = this.#now();
    if (now - this.#started < progressAfterMs || now - this.#shownAt < progressEveryMs) return;
    this.#shownAt = now;
    this.#clearProgress();
    this.#progress = this.clean(text()).slice(0, (this.#stderr.columns ?? defaultColumns) - 1);
    this.#stderr.write(this.#progress);
  }

  #clearProgress(): void {
    if (this.#progress === "") return;
    this.#stderr.write(`\r${" ".repeat(this.#progress.length)}\r`);
    this.#progress = "";
  }

  /** Ends the progress. */
  end(): void {
    clearInterval(this.#ticker);
    this.#clearProgress();
  }

  style(style: Style, text: string): string {
    if (!this.#colored || text === "") return text;
    const [on, off] = codes[style];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  }

  /** Text of a session on one line: control and bidirectional characters cannot reach the terminal. */
  clean(text: string): string {
    return SessileError.printable(spaced(text));
  }

  /** Text of a session with its lines. Tabs become spaces; other control characters are escaped. */
  cleanLines(text: string): readonly string[] {
    return text.split(/\r\n|\r|\n/).map((line) => SessileError.printable(line.replaceAll("\t", "    ")));
  }
}

/** The code of an error, or the name of its class. */
export function errorCode(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name ?? "Error";
}

let segmenter: Intl.Segmenter | undefined;

/** Made when a text needs it: that takes a tenth of the start of a command. */
function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** East Asian wide and full-width characters, and emoji: two columns in a terminal. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f/u;

/** All but Latin, Greek, Cyrillic, punctuation and arrows, which take one column each. */
const wideOrUnknown =
  /[^\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0373\u037b-\u0482\u048a-\u052f\u2010-\u2027\u2190-\u21ff]/;

/** The number of columns that a clean text takes. */
export function textWidth(text: string): number {
  if (!wideOrUnknown.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segments(text)) width += !/\P{M}/u.test(segment) ? 0 : wide.test(segment) ? 2 : 1;
  return width;
}

/** The text in at most `columns` columns, with an ellipsis if it is longer. */
export function truncated(text: string, columns: number): string {
  if (columns === Number.POSITIVE_INFINITY) return text;
  if (!wideOrUnknown.test(text)) {
    if (text.length <= columns) return text;
    return columns < 1 ? "" : `${text.slice(0, columns - 1)}…`;
  }
  let width = 0;
  let kept = "";
  let read = "";
  for (const { segment } of segments(text)) {
    width += textWidth(segment);
    if (width > columns) return columns < 1 ? "" : `${kept}…`;
    read += segment;
    if (width < columns) kept = read;
  }
  return text;
}

/** A column of a table. `grow` receives the rest of the width. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  readonly grow?: boolean;
  /** Leaves a table that is too wide; the highest number first. */
  readonly leaves?: number;
}

const gap = 2;
/** The least width of a column that grows. */
const minGrowing = 10;

/** The rows of a table as lines, cells clean, fitted to the width. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const leaving = columns.reduce(
    (last, { leaves = 0 }, at) => (leaves > (columns[last]?.leaves ?? 0) ? at : last),
    -1,
  );
  const all = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, at) =>
    all.reduce((width, row) => Math.max(width, textWidth(row[at] ?? "")), 0),
  );
  const fixed = widths.reduce(
    (sum, each, at) => sum + (columns[at]?.grow ? 0 : each),
    gap * (widths.length - 1),
  );
  const growing = columns.findIndex(({ grow }) => grow);
  const least = Math.min(minGrowing, widths[growing] ?? 0);
  if (leaving >= 0 && fixed + least > width) {
    const rest = <T>(row: readonly T[]) => row.filter((_, at) => at !== leaving);
    return table(rest(columns), rows.map(rest), width);
  }
  if (growing >= 0) widths[growing] = Math.min(widths[growing] as number, Math.max(least, width - fixed));
  return all.map((row) =>
    columns
      .map(({ align }, at) => {
        const cell = truncated(row[at] ?? "", widths[at] as number);
        const space = " ".repeat(Math.max(0, (widths[at] as number) - textWidth(cell)));
        return align === "right" ? space + cell : cell + space;
      })
      .join(" ".repeat(gap))
      .trimEnd(),
  );
}

/** A number of bytes for people. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  if (bytes < 999_500_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}
