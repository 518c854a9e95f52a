import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { commonOptions, loadCommand } from "../../src/cli/command.js";
import { shells } from "../../src/cli/commands/completion.js";
import { commands as rows } from "../../src/cli/commands/index.js";
import { exitCodes, referencePage } from "../../src/cli/help.js";
import { bytesText, table, textWidth, truncated } from "../../src/cli/output.js";
import { type CallOptions, call } from "./call.js";
import { sample } from "./sample.js";

const commands = await Promise.all(rows.map(loadCommand));

describe("the help", () => {
  it("fits one screen of 80 by 24", async () => {
    const { stdout, code } = await call(["--help"]);
    const lines = stdout.split("\n");
    expect(code).toBe(0);
    expect(lines.length - 1).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    for (const { name } of commands) for (const word of name.split(" ")) expect(stdout).toContain(word);
  });

  it.each(commands)("of $name has its options and an example that parses", async (command) => {
    const { stdout } = await call([...command.name.split(" "), "--help"]);
    expect((await call(["help", ...command.name.split(" ")])).stdout).toBe(stdout);
    for (const { name } of [...command.options, ...commonOptions]) expect(stdout).toContain(`--${name}`);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(28);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout.replace(/\s+/g, " ")).toContain(exitCodes(command));
    expect(command.examples.length).toBeGreaterThan(0);
    for (const { line } of command.examples) {
      const words = line.replace(/^source <\(|\)$| \|.*$/g, "").split(" ");
      expect(words[0]).toBe("sessile");
      // Wrong words would be refused before the help.
      expect((await call([...words.slice(1), "--help"])).stdout).toBe(stdout);
    }
  });
});

describe("the help of a group", () => {
  it("lists its commands", async () => {
    const { code, stdout } = await call(["blobs", "--help"]);
    expect([code, stdout.match(/^ {2}blobs \w+/gm)]).toEqual([
      0,
      ["  blobs ls", "  blobs verify", "  blobs gc"],
    ]);
    expect((await call(["help", "blobs"])).stdout).toBe(stdout);
    expect((await call(["help", "frob"])).code).toBe(2);
  });
});

describe("wrong words", () => {
  it.each([
    [["frob"], "there is no command frob"],
    [["shwo"], "did you mean show?"],
    [["blobs"], "blobs: expected ls, verify, gc"],
    [["show"], "show: missing S"],
    [["ls", ".", "extra"], 'ls: unexpected "extra"'],
    [["ls", "--frob"], "--frob"],
    [["ls", "-n", "0"], '--number: expected a whole number from 1, got "0"'],
    [["ls", "--since", "soon"], '--since: expected a date or an age such as 7d, got "soon"'],
    [["ls", "--since", "2026-02-30"], 'got "2026-02-30"; a date is written 2026-11-24'],
    [["ls", "--since", "1"], 'got "1"'],
    [["ls", "-n", "-1"], "a value that begins with a dash is written --number=VALUE"],
    [["ls", "--cwd", ""], "--cwd: expected DIR, got an empty text"],
    [
      ["ls", "--store", "mysql://x"],
      "--store: expected a directory, sqlite:FILE, or postgres://…, got mysql://x",
    ],
    [["ls", "--partition", "x", "--all-partitions"], "exclude each other"],
    [["show", ""], "show: expected S, got an empty text"],
    [["salvage", "x.jsonl", "--to", "no-dir/y.jsonl"], "--to: there is no directory"],
    [["salvage", "x.jsonl", "--to", "package.json"], "package.json exists: choose another name"],
    [["view", "x.jsonl", "-o", "package.json"], "package.json exists: choose another name"],
    [["stats", "x.jsonl", "--prices", "README.md"], "--prices: expected a JSON list of prices in README.md"],
    [["sync", "src", "./src"], "sync: expected two stores, got one twice"],
    [["archive", "statu"], 'archive: expected status, got "statu"; did you mean status?'],
    [["blobs", "verfy"], "did you mean verify?"],
    [["docter"], "did you mean doctor?"],
    [["exp"], "did you mean export?"],
    [["ls", "--agent", "claud"], "did you mean claude-code?"],
    [["-x"], "there is no command -x."],
    [["serve", "latest", "--port", "65536"], "--port: expected at most 65535, got 65536"],
    [["search", ""], "WORDS: expected a word or a phrase, got an empty one"],
    [["search", "needle", ""], "WORDS: expected a word or a phrase, got an empty one"],
    [["redact", "x", "--to", "y", "--rule", "github-tokn"], "did you mean github-token?"],
    [
      ["redact", "x", "--to", "y", "--rule", "aws-secret"],
      "did you mean aws-access-key-id or aws-secret-key",
    ],
    [["redact", "x", "--to", "y", "--rule", "hay.*"], "An expression is written /…/"],
    [["redact", "x", "--to", "y", "--rule", "/(/"], "Invalid regular expression"],
    [["completion", "tcsh"], 'SHELL: expected bash, zsh, fish, got "tcsh"'],
  ])("%j: exit code 2", async (words, message) => {
    const { code, stdout, stderr } = await call(words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^Try: sessile .*--help$/m);
  });

  it("are JSON with --json", async () => {
    const { stderr } = await call(["show", "--json"]);
    expect(JSON.parse(stderr)).toEqual({ error: { code: "UsageError", message: "show: missing S" } });
  });
});

describe("the width of a text", () => {
  it.each([
    ["abc", 3],
    ["漢字", 4],
    ["👍🏽", 2],
    ["e\u0301", 1],
    ["", 0],
  ])("%j: %d", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it("is kept by a cut, which only takes from the end", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
        const cut = truncated(text, columns);
        expect(textWidth(cut)).toBeLessThanOrEqual(columns);
        if (textWidth(text) <= columns) expect(cut).toBe(text);
        else expect(text.startsWith(cut.slice(0, -1)) && cut.endsWith("…")).toBe(true);
      }),
    );
  });

  it("of a table is that of the terminal, with one column that gives way", () => {
    const columns = [{ title: "n", align: "right" }, { title: "title", grow: true }, { title: "x" }] as const;
    const lines = table(columns, [["7", "漢字".repeat(30), "end"]], 40);
    expect(lines.map(textWidth)).toEqual([expect.any(Number), 40]);
    expect(lines[1]).toMatch(/^7 {2}(漢字)+漢?… *end$/);
  });

  it("of a table is kept by leaving out columns, the least needed first", () => {
    const columns = [
      { title: "id" },
      { title: "size", align: "right", leaves: 2 },
      { title: "when", leaves: 1 },
      { title: "title", grow: true },
    ] as const;
    const lines = (width: number) => table(columns, [["0190-abc", "12 kB", "2026-11-23", "A title"]], width);
    expect(lines(80)[1]).toBe("0190-abc  12 kB  2026-11-23  A title");
    expect(lines(36)[1]).toBe("0190-abc  12 kB  2026-11-23  A title");
    expect(lines(35)[1]).toBe("0190-abc  2026-11-23  A title");
    expect(lines(24)).toEqual(["id        title", "0190-abc  A title"]);
  });

  it("of every line of ls is that of the terminal", async () => {
    using made = await sample();
    for (const columns of [40, 60, 80]) {
      const { stdout } = await call(["ls"], { cwd: made.dir, columns, env: { NO_COLOR: "1" } });
      expect(Math.max(...stdout.split("\n").map(textWidth))).toBeLessThanOrEqual(columns);
      expect(stdout).toContain(made.id.slice(0, 13));
    }
  });

  it("of a terminal is that of its columns, of a pipe unlimited, and COLUMNS has precedence", async () => {
    using made = await sample();
    const longest = async (options: CallOptions) => {
      const { stdout } = await call(["show", made.path], {
        cwd: made.dir,
        ...options,
        env: { NO_COLOR: "1", ...options.env },
      });
      return Math.max(...stdout.split("\n").map(textWidth));
    };
    expect(await longest({ columns: 44 })).toBe(44);
    expect(await longest({ columns: 120, env: { COLUMNS: "50" } })).toBe(50);
    expect(await longest({})).toBeGreaterThan(80);
  });

  it("does not hinder colours, which NO_COLOR, a dumb terminal, a pipe and --json switch off", async () => {
    const isColored = async (words: string[], options: CallOptions) =>
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is looked for
      /\u001b/.test((await call(["project", ...words], options)).stdout);
    using made = await sample();
    const words = [made.path, "--target", "anthropic"];
    expect(await isColored(words, { columns: 80 })).toBe(true);
    expect(await isColored(words, { columns: 80, env: { NO_COLOR: "1" } })).toBe(false);
    expect(await isColored(words, { columns: 80, env: { TERM: "dumb" } })).toBe(false);
    expect(await isColored([...words, "--json"], { columns: 80 })).toBe(false);
    expect(await isColored(words, {})).toBe(false);
  });
});

describe("a number of bytes", () => {
  it.each([
    [999, "999 B"],
    [1000, "1 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [1_540_000, "1.5 MB"],
    [2_000_000_000, "2.0 GB"],
  ])("%d: %s", (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});

describe("completion", () => {
  it.each(shells)("of %s has a script that asks for the words of the line", async (shell) => {
    const { stdout, code } = await call(["completion", shell]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`sessile completion ${shell} -- `)]);
  });

  it("offers every command, and of each every option", async () => {
    const offered = async (...words: readonly string[]) => {
      const { json } = await call(["completion", "bash", "--json", "--", ...words]);
      return json[0].values.map(({ value }: { value: string }) => value);
    };
    const first = await offered("");
    for (const { name, options } of commands) {
      const words = name.split(" ");
      expect(first).toContain(words[0]);
      if (words.length > 1) expect(await offered(words[0] ?? "", "")).toContain(words[1]);
      const all = await offered(...words, "-");
      for (const { name: option, short } of options) {
        expect(all).toContain(`--${option}`);
        if (short !== undefined) expect(all).toContain(`-${short}`);
      }
      expect(all).toEqual(expect.arrayContaining(["--json", "--help", "-h"]));
    }
  });
});

describe("docs/reference/cli.md", () => {
  it("is up to date (npm run docs:tables)", () => {
    const page = readFileSync(join(root, "docs/reference/cli.md"), "utf8");
    expect(page === referencePage(commands)).toBe(true);
    for (const { name } of commands) expect(page).toContain(`## sessile ${name}\n`);
  });
});
