import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commonSecrets } from "sessile/interop";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completionScripts, type Shell, shells } from "../../src/cli/commands/completion.js";
import { commands as rows } from "../../src/cli/commands/index.js";
import { call } from "./call.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-shells-"));
const work = join(dir, "work");

beforeAll(async () => {
  for (const shell of shells) writeFileSync(join(dir, `${shell}.sh`), completionScripts[shell]);
  for (const folder of ["bin", "answers", "work/store", ".sessile/sessions"])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(work, "log.jsonl"), "");
  const add = (store: string, id: string) => {
    const header = { type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd: work };
    writeFileSync(join(dir, store, `${id.length}.jsonl`), `${JSON.stringify(header)}\n`);
  };
  add(".sessile/sessions", "0190-abc");
  // A shell would run this one.
  add(".sessile/sessions", `$(touch ${join(dir, "run")})`);
  add("work/store", "0191-store");
  // A stand-in for the program: its answers, in files with the name of the words.
  const program = `#!/bin/sh\nshift 2\nexec cat "${dir}/answers/$*"\n`;
  writeFileSync(join(dir, "bin", "sessile"), program);
  chmodSync(join(dir, "bin", "sessile"), 0o755);
  for (const line of lines) {
    const words = line.replace(/''$/, "").split(" ");
    const { code, stdout, stderr } = await call(["completion", "bash", "--", ...words], { cwd: work });
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    writeFileSync(join(dir, "answers", `-- ${words.join(" ")}`), stdout);
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(program: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(program, args, {
    ...{ cwd: work, encoding: "utf8", timeout: 180_000 },
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
    expect(offered("project latest --target ge")).toEqual(["gemini", "gemini-interactions"]);
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

it("offers no id that a shell would run, and describes what it offers", async () => {
  const offers = async (...words: readonly string[]) =>
    (await call(["completion", "bash", "--json", "--", ...words], { cwd: work })).json[0];
  const { values } = await offers("show", "");
  expect(values.map(({ value }: { value: string }) => value)).toEqual(["latest", "0190-abc"]);
  expect((await offers("sh")).values).toEqual([
    { value: "show", description: "Show a session: tree, context, turn or entry" },
  ]);
  // Words behind `--` are those of the line: none is an option of this call.
  const { stdout } = await call(["completion", "bash", "--", "ls", "--json", "--cw"], { cwd: work });
  expect(stdout).toBe("words\n--cwd\tOnly sessions of this project.\n");
  expect(await offers("ls", "--agent", "")).toMatchObject({ kind: "words" });
  expect(await offers("frob", "")).toEqual({ kind: "words", values: [] });
});
