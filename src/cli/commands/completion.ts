/** `completion`: the script that completes commands, options and ids in a shell, and its answers. */

import {
  type Command,
  type CommandBody,
  type CommandContext,
  commonOptions,
  loadCommand,
  type OptionSpec,
  rowNamed,
  UsageError,
} from "../command.js";
import { describe, wrongValue } from "../help.js";
import type { FoundSession } from "../named-session.js";
import { truncated } from "../output.js";

const maxDescription = 60;
export const shells = ["bash", "zsh", "fish"] as const;

const completion: CommandBody = {
  description: [
    "Completes commands, options, their values, directories, files, and ids of the newest sessions. With words",
    "after `--` it prints what a shell offers for the last of them, as the script asks for it.",
  ],
  arguments: [
    { name: "SHELL", kind: "text", offers: shells, description: `One of: ${shells.join(", ")}.` },
    { name: "WORD", kind: "text", optional: true, multiple: true, description: "The words of a line." },
  ],
  options: [],
  examples: [
    { line: "source <(sessile completion bash)", does: "completes in this bash" },
    { line: "source <(sessile completion zsh)", does: "completes in this zsh, after compinit" },
    { line: "sessile completion fish | source", does: "completes in this fish" },
  ],
  async run({ positionals: [shell = "", ...words] }, context) {
    const { out } = context;
    if (!(shells as readonly string[]).includes(shell))
      throw new UsageError(wrongValue("SHELL", shells, shell));
    if (words.length > 0) {
      const offers = await offersFor(words, context);
      const lines = offers.values.map(({ value, description = "" }) =>
        [value, truncated(out.clean(description), maxDescription)].filter(Boolean).join("\t"),
      );
      if (out.json) await out.value(offers);
      else await out.line(offers.kind, ...lines);
      return 0;
    }
    const script = completionScripts[shell as Shell];
    if (out.json) await out.value({ shell, script });
    else await out.write(script);
    return 0;
  },
};

export const bodies = { completion };

// Completion for bash, zsh and fish. A script passes the words of the line to `sessile completion SHELL --`,
// which prints the kind of the last word, then each value that fits it: the value, a tab, its description.

export type Shell = (typeof shells)[number];

/** The values that fit a place of a line. If there is none, the shell offers files or directories. */
export interface Offers {
  readonly kind: "words" | "file" | "directory";
  readonly values: readonly { readonly value: string; readonly description?: string }[];
}

/** What a shell offers for the last of the words behind the program's name. */
export async function offersFor(words: readonly string[], context: CommandContext): Promise<Offers> {
  const last = words.at(-1) ?? "";
  const { kind, values } = await beforePlace(words.slice(0, -1), last, context);
  const fitting = values.filter(({ value }) => value.startsWith(last));
  return { kind: fitting.length > 0 ? "words" : kind, values: fitting };
}

async function beforePlace(
  before: readonly string[],
  last: string,
  context: CommandContext,
): Promise<Offers> {
  const row = rowNamed(context.commands, before);
  if (row === undefined) return listed(commandsAfter(before, context));
  const command = await loadCommand(row);
  const specs = [...command.options, ...commonOptions];
  const given: Record<string, string> = {};
  let at = 0;
  let open: OptionSpec | undefined;
  for (const word of before.slice(row.name.split(" ").length)) {
    if (open !== undefined) {
      given[open.name] = word;
      open = undefined;
    } else if (!word.startsWith("-")) at++;
    else open = specs.find((spec) => spec.value !== undefined && optionNames(spec).includes(word));
  }
  if (open !== undefined) {
    const kind = open.value === "DIR" ? "directory" : open.value === "FILE" ? "file" : "words";
    return listed(plain(open.choices ?? open.offers ?? []), kind);
  }
  if (!last.startsWith("-")) return argumentAt(command, at, given, context);
  return listed(
    specs.flatMap((spec) => optionNames(spec).map((value) => ({ value, description: describe(spec) }))),
  );
}

const listed = (values: Offers["values"], kind: Offers["kind"] = "words"): Offers => ({ kind, values });
const plain = (values: readonly string[]): Offers["values"] => values.map((value) => ({ value }));
const optionNames = ({ name, short }: OptionSpec) =>
  short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];

/** Names of commands; after the first word of some, their second. */
function commandsAfter(before: readonly string[], { commands }: CommandContext): Offers["values"] {
  const start = before.map((word) => `${word} `).join("");
  const next = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [value, second] = name.startsWith(start) ? name.slice(start.length).split(" ") : [];
    if (value !== undefined) next.set(value, second === undefined ? summary : `${value} …`);
  }
  const others = before.length > 0 ? [] : plain(["help", "--help", "--version"]);
  return [...Array.from(next, ([value, description]) => ({ value, description })), ...others];
}

/** The newest sessions that are offered. */
const maxSessions = 100;
/** An id is another program's text, which a shell may expand: one with other characters is left out. */
const plainId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,255}$/;

async function argumentAt(
  command: Command,
  at: number,
  options: Readonly<Record<string, string>>,
  context: CommandContext,
): Promise<Offers> {
  const final = command.arguments.at(-1);
  const argument = command.arguments[at] ?? (final?.multiple === true ? final : undefined);
  if (argument === undefined) return listed([]);
  const { kind, offers = [] } = argument;
  if (kind !== "session") return listed(plain(offers), kind === "text" ? "words" : kind);
  const { describedBlocks, parsedQuery, searchedSessions } = await import("../sources.js");
  const parsed = { positionals: [], options };
  const found: FoundSession[] = [];
  try {
    const lists = await searchedSessions(parsed, context, parsedQuery(parsed));
    for await (const block of describedBlocks(lists, maxSessions))
      for (const session of block.sessions) found.push(session);
  } catch {}
  const sessions = found
    .filter(({ id }) => plainId.test(id))
    .map(({ id, agent, title = "" }) => ({ value: id, description: `${agent} ${title}` }));
  const latest = { value: "latest", description: "the newest session" };
  return listed([latest, ...plain(offers), ...sessions], "file");
}

/** The script that a shell sources. No word of the line is evaluated: each is an argument of the call. */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion of sessile: source <(sessile completion bash)
_sessile() {
  local current=\${COMP_WORDS[COMP_CWORD]} offers
  mapfile -t offers < <(sessile completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("\${offers[@]:1}")
  COMPREPLY=("\${COMPREPLY[@]%%$'\\t'*}")
  case \${offers[0]} in
    directory) mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
    file) mapfile -t COMPREPLY < <(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
  esac
}
complete -F _sessile sessile
`,
  zsh: `#compdef sessile
# zsh completion of sessile, after compinit: source <(sessile completion zsh)
_sessile() {
  local -a offers
  offers=("\${(@f)$(sessile completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $offers[1] in
    directory) _files -/ ;;
    file) _files ;;
    *) shift offers; offers=("\${(@)\${(@)offers//:/\\\\:}/$'\\t'/:}"); _describe sessile offers ;;
  esac
}
compdef _sessile sessile
`,
  fish: `# fish completion of sessile: sessile completion fish | source
function __sessile_offers
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -e words[1]
  set -l offers (sessile completion fish -- $words "$current" 2>/dev/null)
  switch "$offers[1]"
    case directory
      __fish_complete_directories "$current" ''
    case file
      __fish_complete_path "$current"
    case '*'
      set -e offers[1]
      test (count $offers) -eq 0; or printf '%s\\n' $offers
  end
end
complete -c sessile -f -a '(__sessile_offers)'
`,
};
