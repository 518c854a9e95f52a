import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commonSecrets } from "sessile/interop";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadCommand } from "../../src/cli/command.js";
import { commands as rows } from "../../src/cli/commands/index.js";
import { completionScript, type Shell, shells } from "../../src/cli/completion.js";

const commands = await Promise.all(rows.map(loadCommand));
const dir = mkdtempSync(join(tmpdir(), "sessile-shells-"));

beforeAll(() => {
  for (const shell of shells) writeFileSync(join(dir, `${shell}.sh`), completionScript(shell, commands));
  // A stand-in for the program: the ids of two stores, and one that a shell would run.
  const program = `#!/bin/sh
echo "$@" >> ${join(dir, "calls")}
case "$*" in *"--dir store"*) echo '{"agent":"sessile","id":"0191-store"}'; exit;; esac
echo '{"agent":"codex","id":"0190-abc","title":"\\"id\\":\\"no\\""}'
echo '{"agent":"codex","id":"$(touch ${join(dir, "run")})"}'
`;
  mkdirSync(join(dir, "bin"));
  writeFileSync(join(dir, "bin", "sessile"), program);
  chmodSync(join(dir, "bin", "sessile"), 0o755);
  mkdirSync(join(dir, "work", "store"), { recursive: true });
  writeFileSync(join(dir, "work", "log.jsonl"), "");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(program: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(program, args, {
    ...{ cwd: join(dir, "work"), encoding: "utf8", timeout: 180_000 },
    env: { PATH: `${join(dir, "bin")}:${process.env.PATH}`, HOME: dir, TERM: "dumb", LANG: "C.UTF-8" },
  });
  expect([program, stderr, status]).toEqual([program, "", 0]);
  return stdout;
}

/** The words that the tests complete. A shell starts once for all of them. */
const lines = [
  ...["''", "sh", "blobs ''", "completion ''", "blobs gc --d", "show --cont", "blobs ls --"],
  ...["project latest --target ge", "export latest --to co", "redact latest --rule ''", "ls --dir ''"],
  ...["merge log.jsonl --base lo", "ls --since ''", "show ''", "show 019", "stats latest ''"],
  ...["show --dir store 0", "diff latest ''", "show log"],
];

/** What a shell offers for the last word of each line: a line for each, between lines with its number. */
const offer: Readonly<Record<Shell, () => string>> = {
  bash() {
    const each = lines.map((line, at) => {
      const count = line.split(" ").length;
      return `COMPREPLY=(); COMP_WORDS=(sessile ${line}); COMP_CWORD=${count}; _sessile
printf '<%s>\\n' "\${COMPREPLY[@]}"; echo "<end ${at}>"`;
    });
    return run("bash", ["--norc", "-c", `source ${join(dir, "bash.sh")}\n${each.join("\n")}`]);
  },
  fish() {
    const each = lines.map((line, at) => {
      const text = `sessile ${line.replace(/''$/, "")}`;
      return `for hit in (complete -C '${text}'); echo '<'(string split -m 1 -- \\t $hit)[1]'>'; end; echo '<end ${at}>'`;
    });
    return run("fish", ["--no-config", "-c", `source ${join(dir, "fish.sh")}\n${each.join("\n")}`]);
  },
  zsh() {
    // A shell of its own behind a terminal; each match is printed as it is added.
    const inner = `
PROMPT= RPROMPT=; bindkey '^I' complete-word; unsetopt auto_list auto_menu list_beep
autoload -Uz compinit; compinit -u -C -d ${join(dir, "dump")}
source ${join(dir, "zsh.sh")}
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  for hit in $hits; do print -r -- "<\${hit}>"; done
  builtin compadd "$@"
}
next() { BUFFER=; print -r -- "<end>" }
zle -N next; bindkey '^X' next
print -r -- "<ready>"`;
    writeFileSync(join(dir, "inner.zsh"), inner);
    const each = lines.map(
      (line, at) => `zpty -n -w z $'sessile ${line.replace(/''$/, "")}\\t\\x18'
zpty -r z found '*<end>*'; print -r -- "$found"; echo "<end ${at}>"`,
    );
    const outer = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "source ${join(dir, "inner.zsh")}"
zpty -r z found '*<ready>*'
${each.join("\n")}`;
    return run("zsh", ["-f", "-c", outer]).replaceAll("<end>", "");
  },
};

const isThere = (shell: Shell) => spawnSync(shell, ["--version"]).status === 0;

describe.each(shells.map((shell) => ({ shell })))("completion in $shell", ({ shell }) => {
  // CI installs all of them.
  const test = it.runIf(isThere(shell) || process.env.CI !== undefined);
  let printed = "";
  beforeAll(() => {
    if (isThere(shell)) printed = offer[shell]();
  });
  const offered = (line: string) => {
    const at = lines.indexOf(line);
    const part =
      printed
        .split(`<end ${at}>`)[0]
        ?.split(`<end ${at - 1}>`)
        .at(-1) ?? "";
    expect([line, at >= 0, printed.includes(`<end ${at}>`)]).toEqual([line, true, true]);
    return [...new Set([...part.matchAll(/<([^<>\r\n]+)>/g)].map(([, hit = ""]) => hit))].sort();
  };

  test(`offers commands and subcommands (skipped without ${shell})`, () => {
    const first = [...new Set(rows.map(({ name }) => name.split(" ")[0] ?? ""))];
    expect(offered("''")).toEqual(expect.arrayContaining(first));
    expect(offered("sh")).toEqual(["show"]);
    expect(offered("blobs ''")).toEqual(["gc", "ls", "verify"]);
    expect(offered("completion ''")).toEqual(expect.arrayContaining(["bash", "fish", "zsh"]));
  });

  test("offers the options of the command alone", () => {
    expect(offered("blobs gc --d")).toEqual(["--dry-run"]);
    expect(offered("show --cont")).toEqual(["--context"]);
    const all = offered("blobs ls --");
    expect(all).toContain("--sessions");
    expect(all).not.toContain("--agent");
  });

  test("offers targets, agents, rules, directories and files as values", () => {
    expect(offered("project latest --target ge")).toEqual(["gemini"]);
    expect(offered("export latest --to co")).toEqual(["codex"]);
    const rules = offered("redact latest --rule ''");
    expect(rules).toEqual(
      expect.arrayContaining(["home-directory", ...commonSecrets.map(({ name }) => name)]),
    );
    expect(offered("ls --dir ''").map((each) => each.replace(/\/$/, ""))).toEqual(["store"]);
    expect(offered("merge log.jsonl --base lo")).toEqual(["log.jsonl"]);
    expect(offered("ls --since ''")).toEqual([]);
  });

  test("offers ids of sessions, and runs none", () => {
    expect(offered("show ''")).toEqual(expect.arrayContaining(["0190-abc", "latest"]));
    expect(offered("show 019")).toEqual(["0190-abc"]);
    expect(offered("stats latest ''")).toEqual(expect.arrayContaining(["0190-abc", "all", "latest"]));
    expect(offered("show --dir store 0")).toEqual(["0191-store"]);
    expect(offered("diff latest ''")).toEqual(["leaf"]);
    expect(offered("show log")).toEqual(["log.jsonl"]);
    expect(existsSync(join(dir, "run"))).toBe(false);
  });
});
