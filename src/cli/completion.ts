/** Completion for bash, zsh and fish, made from the commands' tables. */

import { type ArgumentSpec, type Command, commonOptions, type OptionSpec } from "./command.js";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** The script that a shell sources. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash, zsh, fish }[shell](commands);
}

/** The content of a place in a line: files, directories, ids of sessions, words of a list, or any text. */
type Kind = "file" | "directory" | "session" | "words" | "text";

const optionsOf = (command: Command): readonly OptionSpec[] => [...command.options, ...commonOptions];
const namesOf = ({ name, short }: OptionSpec) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
const wordsOf = ({ choices, offers }: OptionSpec) => choices ?? offers ?? [];

function kindOf(option: OptionSpec): Kind {
  if (wordsOf(option).length > 0) return "words";
  return option.value === "DIR" ? "directory" : option.value === "FILE" ? "file" : "text";
}

const firstWords = (commands: readonly Command[]) => [
  ...new Set(commands.map(({ name }) => name.split(" ")[0] as string)),
];
const secondWords = (commands: readonly Command[], first: string) =>
  commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.slice(first.length + 1));
const summaryOf = (commands: readonly Command[], first: string) =>
  commands.find(({ name }) => name === first)?.summary ??
  `One of: ${secondWords(commands, first).join(", ")}`;

/**
 * Prints ids of sessions, of the store of the line's `--dir`. An id is another program's text, which a shell
 * may expand: one with other characters than these is left out.
 */
const printIds = `sessile ls --json -n 100`;
const onlyIds = `2>/dev/null | sed -n 's/.*"id":"\\([A-Za-z0-9][A-Za-z0-9._-]*\\)".*/\\1/p'`;

function bash(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const options = optionsOf(command);
    const valued = options.filter(({ value }) => value !== undefined);
    const values = valued.map((option) => {
      const words = wordsOf(option);
      const list = words.length === 0 ? "" : `; words="${words.join(" ")}"`;
      return `        ${namesOf(option).join("|")}) kind=${kindOf(option)}${list} ;;`;
    });
    const places = command.arguments.map(({ kind, multiple }) => `${kind}${multiple ? "…" : ""}`);
    const offers = command.arguments.flatMap((each) => each.offers ?? []);
    return [
      `    "${command.name}")`,
      `      options="${options.flatMap(namesOf).join(" ")}"`,
      `      valued=" ${valued.flatMap(namesOf).join(" ")} "`,
      `      places="${places.join(" ")}"`,
      `      offers="${offers.join(" ")}"`,
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
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local command=\${COMP_WORDS[1]} first=2 kind= words= options= valued= places= offers= at=0 i place store=()
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${firstWords(commands).join(" ")} help --help --version" -- "$current")
    return
  fi
  case $command in
${groups.join("\n")}
  esac
  if [[ -n $words ]]; then
    if [[ $COMP_CWORD -eq 2 ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
      return
    fi
    command="$command \${COMP_WORDS[2]}" first=3 words=
  fi
  case $command in
${cases.join("\n")}
    *) return ;;
  esac
  if [[ -z $kind && $current == -* ]]; then kind=words words=$options; fi
  if [[ -z $kind ]]; then
    for ((i = first; i < COMP_CWORD; i++)); do
      if [[ $valued == *" \${COMP_WORDS[i]} "* ]]; then
        [[ \${COMP_WORDS[i]} == --dir ]] && store=(--dir "\${COMP_WORDS[i + 1]}")
        i=$((i + 1))
      elif [[ \${COMP_WORDS[i]} != -* ]]; then
        at=$((at + 1))
      fi
    done
    i=0
    for place in $places; do
      [[ $i -eq $at || ( $i -lt $at && $place == *… ) ]] && kind=\${place%…}
      i=$((i + 1))
    done
    words=$offers
    if [[ $kind == session ]]; then words="latest $offers $(${printIds} "\${store[@]}" ${onlyIds})"; fi
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  case $kind in
    directory) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    file) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    session) [[ \${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
  esac
  [[ $kind == words || $kind == text ]] || compopt -o filenames 2>/dev/null
}
complete -F _sessile sessile
`;
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string) => text.replaceAll("'", "'\\''");
  const escaped = (text: string) => quote(text.replace(/[[\]:\\]/g, "\\$&"));
  const actions: Readonly<Record<Kind, string>> = {
    ...{ file: "_files", directory: "_files -/", session: "_sessile_ids", words: "", text: " " },
  };
  const cases = commands.map((command) => {
    const specs = optionsOf(command).map((option) => {
      const { value, multiple, description } = option;
      const words = wordsOf(option).join(" ");
      const action = words === "" ? actions[kindOf(option)] : `(${words})`;
      const rest = `[${escaped(description)}]${value === undefined ? "" : `:${value}:${action}`}`;
      const names = namesOf(option);
      if (names.length === 1) return `'${multiple ? "*" : ""}${names[0]}${rest}'`;
      return `'(${names.join(" ")})'{${names.join(",")}}'${rest}'`;
    });
    const places = command.arguments.map(({ name, kind, multiple, offers = [] }, at) => {
      const action = kind === "text" && offers.length > 0 ? `(${offers.join(" ")})` : actions[kind];
      const more = kind === "session" && offers.length > 0 ? ` ${offers.join(" ")}` : "";
      return `'${multiple ? "*" : at + 1}:${name}:${action}${more}'`;
    });
    return `    '${command.name}') _arguments -S ${[...specs, ...places].join(" ")} ;;`;
  });
  const described = firstWords(commands).map(
    (first) => `'${first}:${quote(summaryOf(commands, first)).replaceAll(":", "\\:")}'`,
  );
  const groups = firstWords(commands).flatMap((first) => {
    const second = secondWords(commands, first);
    if (second.length === 0) return [];
    return [
      `    ${first})`,
      `      if (( CURRENT == 2 )); then compadd ${second.join(" ")}; return; fi`,
      `      command="$command $words[2]"; shift words; (( CURRENT-- )) ;;`,
    ];
  });
  return `#compdef sessile
# zsh completion of sessile, after compinit: source <(sessile completion zsh)
_sessile_ids() {
  local -a found store
  (( $+opt_args[--dir] )) && store=(--dir $opt_args[--dir])
  found=(latest "$@" \${(f)"$(${printIds} $store ${onlyIds})"})
  compadd -a found
  _files
}
_sessile() {
  local -a sessile_commands
  local -A opt_args
  sessile_commands=(${described.join(" ")})
  if (( CURRENT == 2 )); then _describe command sessile_commands; return; fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
${groups.join("\n")}
  esac
  case $command in
${cases.join("\n")}
  esac
}
compdef _sessile sessile
`;
}

function fish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const add = (when: string, ...words: readonly string[]) =>
    `complete -c sessile -n ${quote(when)} ${words.join(" ")}`;
  const lines = firstWords(commands).map((first) =>
    add("__sessile_at 1", "-a", first, "-d", quote(summaryOf(commands, first))),
  );
  for (const first of firstWords(commands)) {
    const second = secondWords(commands, first);
    if (second.length > 0)
      lines.push(add(`__sessile_is ${first}; and __sessile_at 2`, "-a", quote(second.join(" "))));
  }
  const values: Readonly<Record<Kind, string>> = {
    ...{ file: "-r -F", directory: "-x -a '(__fish_complete_directories)'", session: "-x" },
    ...{ words: "-x", text: "-x" },
  };
  const valued = new Set<string>();
  for (const command of commands) {
    const when = `__sessile_is ${command.name}`;
    for (const option of optionsOf(command)) {
      const { name, short, value, description } = option;
      const words = wordsOf(option);
      if (value !== undefined) for (const each of namesOf(option)) valued.add(each);
      lines.push(
        add(
          when,
          `-l ${name}`,
          ...(short === undefined ? [] : [`-s ${short}`]),
          ...(value === undefined ? [] : [values[kindOf(option)]]),
          ...(words.length === 0 ? [] : ["-a", quote(words.join(" "))]),
          `-d ${quote(description)}`,
        ),
      );
    }
    const depth = command.name.split(" ").length;
    command.arguments.forEach((argument, at) => {
      const place = `${when}; and __sessile_at ${depth + at + 1}${argument.multiple ? " more" : ""}`;
      for (const words of argumentWords(argument)) lines.push(add(place, words));
    });
  }
  return `# fish completion of sessile: sessile completion fish | source
function __sessile_words
  # The words before the cursor that are no options or their values.
  set -l skip
  for word in (commandline -opc)
    if test -n "$skip"
      set skip
    else if contains -- $word ${[...valued].join(" ")}
      set skip 1
    else if not string match -q -- '-*' $word
      echo $word
    end
  end
end
function __sessile_is
  set -l words (__sessile_words)
  test "$words[2]" = "$argv[1]"; or return 1
  not set -q argv[2]; or test "$words[3]" = "$argv[2]"
end
function __sessile_at
  set -l count (count (__sessile_words))
  test $count -eq $argv[1]; or begin; set -q argv[2]; and test $count -ge $argv[1]; end
end
function __sessile_ids
  set -l words (commandline -opc)
  set -l at (contains -i -- --dir $words); and set -l store --dir $words[(math $at + 1)]
  ${printIds} $store ${onlyIds}
end
complete -c sessile -f
${lines.join("\n")}
`;

  function argumentWords({ kind, offers = [] }: ArgumentSpec): readonly string[] {
    const words = offers.length === 0 ? [] : [`-a ${quote(offers.join(" "))}`];
    if (kind === "session") return ["-F", `-a ${quote("latest (__sessile_ids)")}`, ...words];
    if (kind === "directory") return ["-a '(__fish_complete_directories)'"];
    return kind === "file" ? ["-F"] : words;
  }
}
