import fc from "fast-check";
import { type FileRecord, fileLedger } from "sessile/compaction";
import { contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { ledgerText, stripLedgerText } from "../../../src/compaction/file-ledger/details.js";
import { acts, actTools, cwd, messagesOf } from "./arbitraries.js";

const ledgers = acts.map((all) => fileLedger(contextOf(messagesOf(all)), { cwd, tools: actTools }));
const file = (path: string, step: number, more: Partial<FileRecord> = {}): FileRecord => ({
  path,
  operations: ["read"],
  step,
  ...more,
});

describe("the text of a ledger", () => {
  test("is two blocks, with what was deleted or moved in words", () => {
    const files = [
      file("a", 1),
      file("b", 2, { operations: ["created"] }),
      file("c", 3, { operations: ["deleted"], gone: true }),
      file("d", 4, { operations: ["moved"], gone: true, movedTo: "e" }),
      file("e", 4, { operations: ["moved"], movedFrom: "d" }),
      file("f", 5, { operations: ["moved"], gone: true }),
    ];
    expect(ledgerText({ files })).toBe(
      "\n\n<read-files>\na\n</read-files>\n\n" +
        "<modified-files>\nb\nc (deleted)\nd (moved to e)\ne (moved from d)\nf (moved away)\n</modified-files>",
    );
  });

  test("is empty for no files", () => {
    expect(ledgerText({ files: [] })).toBe("");
  });

  test("keeps the files touched last, in the order of paths, and says how many it left out", () => {
    const files = [file("a", 5), file("b", 1), file("c", 9), file("d", 2)];
    const block = (...lines: readonly string[]) => `\n\n<read-files>\n${lines.join("\n")}\n</read-files>`;
    expect(ledgerText({ files }, { maxFiles: 3 })).toBe(
      block("a", "c", "d", "(1 file touched earlier left out)"),
    );
    expect(ledgerText({ files }, { maxFiles: 2 })).toBe(
      block("a", "c", "(2 files touched earlier left out)"),
    );
    expect(ledgerText({ files }, { maxFiles: 0 })).toBe(block("(4 files touched earlier left out)"));
    const many = Array.from({ length: 101 }, (_, at) => file(`f${at}`, at));
    expect(ledgerText({ files: many })).toContain("(1 file touched");
    expect(() => ledgerText({ files }, { maxFiles: -1 })).toThrow(RangeError);
  });

  test("is bounded by the number of files, whatever their paths", () => {
    const path = fc.oneof(
      fc.string({ unit: "binary", minLength: 1 }),
      fc.constant("\u202e".repeat(4096)),
      fc.constant("\n<".repeat(2000)),
    );
    fc.assert(
      fc.property(fc.uniqueArray(path), fc.boolean(), (paths, gone) => {
        const files = paths.map((each, at) =>
          gone ? file(each, at, { operations: ["moved"], gone, movedTo: each }) : file(each, at),
        );
        const text = ledgerText({ files }, { maxFiles: 5 });
        // An empty line and the tags of one block, five files and what was left out.
        const lines = text === "" ? [] : text.split(/[\n\r\u0085\u2028\u2029\v\f]/);
        expect(lines).toHaveLength(
          files.length === 0 ? 0 : Math.min(files.length, 5) + (files.length > 5 ? 5 : 4),
        );
        expect(text.length).toBeLessThan(5 * 2 * 401 * 10 + 200);
        expect(text.match(/<[^>]*>/g) ?? []).toHaveLength(files.length === 0 ? 0 : 2);
      }),
    );
  });

  test.each([
    ["a\nb", '"a\\u{a}b"'],
    ["</modified-files>", '"\\u{3c}/modified-files\\u{3e}"'],
    [" a", '" a"'],
    ["(7 files touched earlier left out)", '"(7 files touched earlier left out)"'],
    ["a (deleted)", '"a (deleted)"'],
    ['say "x"', '"say \\u{22}x\\u{22}"'],
    ["a\u202eb", '"a\\u{202e}b"'],
    ["\ud800", '"\\u{d800}"'],
    ["app/(group)/ä b.tsx", "app/(group)/ä b.tsx"],
    ["😀.png", "😀.png"],
  ])("has %j as %s", (path, shown) => {
    expect(ledgerText({ files: [file(path, 1)] })).toBe(`\n\n<read-files>\n${shown}\n</read-files>`);
  });

  test("has a long path without its middle", () => {
    const path = `${"a".repeat(300)}${"b".repeat(300)}`;
    expect(ledgerText({ files: [file(path, 1)] })).toContain(`\n${"a".repeat(200)}…${"b".repeat(200)}\n`);
  });
});

describe("a summary", () => {
  const body = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(
        fc.constantFrom(
          "text",
          "\n",
          " ",
          "<read-files>",
          "</read-files>",
          "</modified-files>",
          "<modified-files>\n",
        ),
      )
      .map((parts) => parts.join("")),
  );

  test("loses the blocks that close it, and nothing else", () => {
    fc.assert(
      fc.property(body, ledgers, fc.constantFrom("", "\n", " \n\n"), (text, ledger, end) => {
        const blocks = ledgerText(ledger);
        fc.pre(blocks !== "");
        expect(stripLedgerText(`${text}${blocks}${end}`)).toBe(stripLedgerText(text.trimEnd()));
        expect(stripLedgerText(`${blocks}${end}`)).toBe("");
      }),
    );
  });

  test("stays as it is without such blocks", () => {
    for (const text of [
      "",
      "a \n",
      "<read-files>\na\n</read-files>\nmore",
      "a</read-files>",
      "x\n</read-files>",
    ]) {
      expect(stripLedgerText(text)).toBe(text);
    }
  });

  test("loses pi's blocks", () => {
    const pi = "Goal\n\n<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>";
    expect(stripLedgerText(pi)).toBe("Goal");
  });

  test("is stripped once and for all", () => {
    fc.assert(
      fc.property(body, (text) => {
        const once = stripLedgerText(text);
        expect(stripLedgerText(once)).toBe(once);
        expect(text.startsWith(once)).toBe(true);
      }),
    );
  });
});
