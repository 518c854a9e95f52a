import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkEvidence, reportedTests } from "../../scripts/named-tests.mjs";
import {
  printShown,
  readTags,
  repositoryShownBy,
  requirementClaims,
  shownBy,
  tableClaims,
} from "../../scripts/shown-by.mjs";

describe("the claims of the documents", () => {
  const { shown, problems } = repositoryShownBy();

  it("have a test each, and each tag has a claim", () => {
    expect(problems).toEqual([]);
    const count = (id: RegExp) => shown.filter((claim) => id.test(claim.id)).length;
    expect(count(/^R\d+$/)).toBeGreaterThan(190);
    expect(count(/^durability:/)).toBeGreaterThan(60);
    expect(count(/^security:/)).toBeGreaterThan(15);
  });
});

describe("readTags", () => {
  const tag = (ids: string) => `${"//"} @covers ${ids}`;
  const read = (lines: readonly string[], path = "test/a.test.ts") => readTags(path, lines.join("\n"));
  const titles = (...lines: readonly string[]) =>
    read(lines).tags.map(({ ids, title }) => `${ids.join(" ")} › ${title}`);

  it("reads the tags directly above a test, of any form", () => {
    expect(
      titles(
        tag("R1 R2"),
        "// and why",
        tag("durability:torn-tail"),
        'it("reads | (1 time)", () => {});',
        'describe("a store", () => {',
        `  ${tag("R3")}`,
        '  test.skipIf(no)("keeps", () => {});',
        `  ${tag("R4")}`,
        '  it.each(rows)("knows %s, $name and 100 %%", () => {});',
        `  ${tag("R5")}`,
        `  for (const n of [1, 2]) it(\`takes \${n} bytes\`, () => {});`,
        "});",
      ),
    ).toEqual([
      "R1 R2 › reads | (1 time)",
      "durability:torn-tail › reads | (1 time)",
      "R3 › keeps",
      "R4 › knows %s, $name and 100 %%",
      "R5 › takes … bytes",
    ]);
  });

  it("names as many describes as tell a test from the others of its file", () => {
    const group = (name: string, ...above: readonly string[]) => [
      `describe("${name}", () => {`,
      ...above,
      '  it("is there", () => {});',
      "});",
    ];
    expect(titles(...group("of x", tag("R1")), ...group("of y"))).toEqual(["R1 › of x › is there"]);
    expect(read([...group("of x", tag("R1")), ...group("of x")]).problems).toEqual([
      "test/a.test.ts:2: another test of the file has the same titles",
    ]);
  });

  it("takes the title of one case, or of a test that is named when it runs, from the tag", () => {
    const cases = [
      'describe.each(kinds)("%s", () => {',
      tag("R1 › in files › the same bytes"),
      tag("R2 › the same bytes"),
      "  for (const { name, run } of suite) it(name, run);",
      tag("R3 › takes 2 bytes"),
      '  it.each([1, 2])("takes %d bytes", () => {});',
      "});",
    ];
    expect(titles(...cases)).toEqual([
      "R1 › in files › the same bytes",
      "R2 › the same bytes",
      "R3 › takes 2 bytes",
    ]);
  });

  const none = "the tag stands above 0 tests, not one";
  it.each([
    ["stands above nothing", [tag("R1"), ""], none],
    ["stands above a describe", [tag("R1"), 'describe("x", () => {});'], none],
    ["stands above an empty line", [tag("R1"), "", 'it("x", () => {});'], none],
    ["stands above a call that is no test", [tag("R1"), 'fits("x", () => {});'], none],
    [
      "stands above two tests",
      [tag("R1"), 'it("x", () => {}); it("y", () => {});'],
      "the tag stands above 2 tests, not one",
    ],
    ["has no title", [tag("R1"), "it(name, () => {});"], "the tag must end in the title"],
    [
      "has the title of another test",
      [tag("R1 › reads"), 'it("reads 1", () => {});'],
      'the test below cannot have the title "reads"',
    ],
    [
      "has the title of no case",
      [tag("R1 › takes two"), 'it.each(n)("takes %d bytes", () => {});'],
      'the test below cannot have the title "takes two"',
    ],
  ])("refuses a tag that %s", (_, lines, problem) => {
    expect(read(lines)).toEqual({ tags: [], problems: [`test/a.test.ts:1: ${problem}`] });
  });

  it("refuses a tag in a file that CI never runs", () => {
    expect(read([tag("R1"), 'it("x", () => {});'], "test/a.slow.test.ts")).toEqual({
      tags: [],
      problems: ["test/a.slow.test.ts:1: CI never runs the tests of this project"],
    });
  });
});

describe("shownBy", () => {
  const requirements = requirementClaims(
    "| number | requirement | status | where |\n| --- | --- | --- | --- |\n| R1 | reads | done | |\n| R2 | a \\| b | in an example | |\n| R3 | c | not yet | |",
  );
  const claims = tableClaims(
    "durability",
    "| what | why | shown by |\n| --- | --- | --- |\n| a cut | whole | `cut` |\n| NFS | no | not tested |",
  );
  const both = [...requirements, ...claims];
  const all = [
    { ids: ["R1", "durability:cut"], path: "test/a.test.ts", title: "reads" },
    { ids: ["R2"], path: "test/b.test.ts", title: "keeps" },
  ];

  it("has the tests of each claim, and says what is met in an example only", () => {
    const { shown, problems } = shownBy(both, all);
    expect(problems).toEqual([]);
    const requirement = "R1  reads\n  test/a.test.ts › reads\n";
    const example = "R2  a | b (met in an example only)\n  test/b.test.ts › keeps\n";
    const cut = "durability:cut  a cut\n  test/a.test.ts › reads\n";
    expect(printShown(shown, [])).toBe([requirement, example, cut].join("\n"));
    expect(printShown(shown, ["R2"])).toBe(example);
    expect(printShown(shown, ["durability", "R1"])).toBe([requirement, cut].join("\n"));
    expect(printShown(shown, ["R"])).toBe("");
  });

  it("reports claims without tests, tests of what is not met, and tags that name nothing", () => {
    const [first] = all;
    expect(shownBy(both, first ? [first] : []).problems).toEqual(["R2 is shown by no test"]);
    const more = { ids: ["R3", "R4", "durability:torn"], path: "test/c.test.ts", title: "more" };
    expect(shownBy(both, [...all, more]).problems).toEqual([
      "test/c.test.ts › more: nothing is R4",
      "test/c.test.ts › more: nothing is durability:torn",
      "R3 is not met, and has a test",
    ]);
    expect(shownBy([...both, ...claims], all).problems).toEqual(["durability:cut is there twice"]);
  });
});

/** What vitest's JSON reporter writes, of the parts that are read. */
function report(path: string, tests: readonly (readonly [status: string, ...chain: string[]])[]): string {
  const assertionResults = tests.map(([status, ...chain]) => ({
    ancestorTitles: chain.slice(0, -1),
    title: chain.at(-1),
    status,
  }));
  return JSON.stringify({ testResults: [{ name: join(root, path), assertionResults }] });
}

describe("checkEvidence", () => {
  const tests = reportedTests(
    [
      report("test/a.test.ts", [
        ["passed", "a store", "of x", "is there"],
        ["passed", "a store", "of y", "is there"],
        ["passed", "takes 1 bytes (a+b)"],
        ["failed", "takes 2 bytes (a+b)"],
        ["skipped", "needs root"],
        ["passed", "reads"],
      ]),
      report("test/b.test.ts", [["passed", "of x", "is there"]]),
      report("test/b.test.ts", [["failed", "of y", "is there"]]),
    ],
    root,
  );
  const check = (...named: readonly string[]) => {
    const claim = named.map((text) => {
      const [path = "", ...title] = text.split(" › ");
      return { path, title: title.join(" › ") };
    });
    return checkEvidence([claim], tests);
  };

  it.each([
    "test/a.test.ts › is there",
    "test/a.test.ts › a store › of x › is there",
    "test/a.test.ts › takes 1 bytes (a+b)",
    "test/b.test.ts › of x › is there",
  ])("accepts %s", (reference) => {
    expect(check(reference)).toEqual({ passed: 1, problems: [], skipped: [] });
  });

  it.each([
    ["test/a.test.ts › there", 'test/a.test.ts has no test "there"'],
    ["test/a.test.ts › a store › is there", 'test/a.test.ts has no test "a store › is there"'],
    ["test/a.test.ts › takes %d bytes (a+b)", "test/a.test.ts › takes %d bytes (a+b) failed"],
    ["test/b.test.ts › is there", "test/b.test.ts › is there failed"],
    ["test/c.slow.test.ts › reads", "test/c.slow.test.ts is no file of tests that CI ran"],
    ["test/a.test.ts › needs root", "test/a.test.ts › needs root was skipped"],
  ])("reports %s", (reference, problem) => {
    expect(check(reference)).toEqual({ passed: 0, problems: [problem], skipped: [] });
  });

  it("allows a skipped test if another of its claim passed, and says so", () => {
    const skipped = "test/a.test.ts › needs root";
    expect(check(skipped, "test/a.test.ts › reads")).toEqual({
      passed: 1,
      problems: [],
      skipped: ["test/a.test.ts › needs root was skipped"],
    });
    expect(check(skipped, "test/a.test.ts › takes 2 bytes (a+b)").problems).toHaveLength(1);
  });

  it("is what the script says, with its count and exit code", () => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-evidence-"));
    try {
      const file = join(dir, "test.json");
      writeFileSync(file, report("test/a.test.ts", [["passed", "reads"]]));
      const { status, stdout } = spawnSync(
        process.execPath,
        [join(root, "scripts/shown-by.mjs"), "--passed", file],
        {
          encoding: "utf8",
        },
      );
      expect(stdout).toMatch(/✗ test\/.+ is no file of tests that CI ran\n/);
      expect(stdout).toMatch(/\n0 of the tests of claims passed, [1-9]\d+ problems\n$/);
      expect(status).toBe(1);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
