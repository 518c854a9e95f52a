/** Completion for bash, zsh and fish, made from the commands' tables. */

import { type Command, commonOptions, type OptionSpec } from "./command.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script that a shell sources. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands);
}

const optionsOf = (command: Command): readonly OptionSpec[] => [...command.options, ...commonOptions];
const firstWords = (commands: readonly Command[]) => [
  ...new Set(commands.map(({ name }) => name.split(" ")[0] as string)),
];
const secondWords = (commands: readonly Command[], first: string) =>
  commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.slice(first.length + 1));
/** Ids come from the program itself, so that they are those of the option --dir. */
const ids = 'sessile ls --json -n 50 2>/dev/null | sed -n \'s/.*"id":"\\([^"]*\\)".*/\\1/p\'';

function bash(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const words = optionsOf(command).map(({ name }) => `--${name}`);
    const values = optionsOf(command)
      .filter(({ choices }) => choices !== undefined)
      .map(({ name, choices = [] }) => `      --${name}) words="${choices.join(" ")}" ;;`);
    const takes = command.arguments.some(({ kind }) => kind === "session");
    return [
      `    "${command.name}")`,
      `      words="${words.join(" ")}"`,
      ...(takes ? [`      [[ $current == -* ]] || words="latest $(${ids})"`] : []),
      ...(values.length === 0 ? [] : ["      case $previous in", ...values, "      esac"]),
      "      ;;",
    ].join("\n");
  });
  const groups = firstWords(commands).flatMap((first) => {
    const second = secondWords(commands, first);
    return second.length === 0 ? [] : [`    ${first}) words="${second.join(" ")}" ;;`];
  });
  return `# bash completion of sessile: source <(sessile completion bash)
_sessile() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words="" command=\${COMP_WORDS[1]}
  case $command in
${groups.map((line) => line.replace("words=", `[[ $COMP_CWORD -gt 2 ]] && command="$command \${COMP_WORDS[2]}"; words=`)).join("\n")}
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then words="${firstWords(commands).join(" ")}"; fi
  [[ $COMP_CWORD -gt 1 ]] && case $command in
${cases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  [[ \${#COMPREPLY[@]} -gt 0 || $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -o filenames -F _sessile sessile
`;
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "'\\''").replaceAll(":", "\\:");
  const bracket = (text: string) => quote(text).replaceAll("[", "\\[").replaceAll("]", "\\]");
  const cases = commands.map((command) => {
    const specs = optionsOf(command).map(({ name, value, choices, description, multiple }) => {
      const action = choices === undefined ? ":_files" : `:(${choices.join(" ")})`;
      const takes = value === undefined ? "" : `:${value}${action}`;
      return `'${multiple ? "*" : ""}--${name}[${bracket(description)}]${takes}'`;
    });
    const rest = command.arguments.map(({ name, kind, multiple }, at) => {
      const action = kind === "session" ? "_sessile_ids" : kind === "text" ? " " : "_files";
      return `'${multiple ? "*" : at + 1}:${name}:${action}'`;
    });
    return `    '${command.name}') _arguments ${[...specs, ...rest].join(" ")} ;;`;
  });
  const described = firstWords(commands).map((first) => {
    const summary = commands.find(({ name }) => name === first)?.summary ?? `${first} commands`;
    return `'${first}:${quote(summary)}'`;
  });
  const groups = firstWords(commands).flatMap((first) => {
    const second = secondWords(commands, first);
    return second.length === 0
      ? []
      : [
          `    ${first}) if (( CURRENT == 3 )); then compadd ${second.join(" ")}; return; fi; command="$command $words[3]"; (( CURRENT-- )); shift words ;;`,
        ];
  });
  return `#compdef sessile
# zsh completion of sessile: source <(sessile completion zsh)
_sessile_ids() {
  local -a found
  found=(latest \${(f)"$(${ids})"})
  compadd -a found
  _files
}
_sessile() {
  local -a commands
  commands=(${described.join(" ")})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  case $command in
${groups.join("\n")}
  esac
  (( CURRENT-- )); shift words
  case $command in
${cases.join("\n")}
  esac
}
compdef _sessile sessile
`;
}

function fish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = firstWords(commands).map((first) => {
    const summary = commands.find(({ name }) => name === first)?.summary ?? `${first} commands`;
    return `complete -c sessile -n __fish_use_subcommand -f -a ${first} -d ${quote(summary)}`;
  });
  for (const first of firstWords(commands)) {
    const second = secondWords(commands, first);
    if (second.length > 0)
      lines.push(
        `complete -c sessile -n '__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${second.join(" ")}' -f -a '${second.join(" ")}'`,
      );
  }
  for (const command of commands) {
    const seen = command.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const { name, short, value, choices, description } of optionsOf(command)) {
      const takes =
        value === undefined ? "" : choices === undefined ? " -r" : ` -x -a '${choices.join(" ")}'`;
      lines.push(
        `complete -c sessile -n '${seen}' -l ${name}${short === undefined ? "" : ` -s ${short}`}${takes} -d ${quote(description)}`,
      );
    }
    if (command.arguments.some(({ kind }) => kind === "session"))
      lines.push(`complete -c sessile -n '${seen}' -a 'latest (${ids})'`);
  }
  return `# fish completion of sessile: sessile completion fish | source\n${lines.join("\n")}\n`;
}
