import { fileLedger } from "sessile/compaction";
import { contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { ledgerDetails, ledgerText, stripLedgerText } from "../../../src/compaction/file-ledger/details.js";
import { operationsOfPatch } from "../../../src/compaction/file-ledger/operations.js";
import { exponentOf, growing, maxExponent } from "../../support/growth.js";
import { actTools, messagesOf, summaryItem } from "./arbitraries.js";
import type { Act } from "./naive.js";

const done = (operation: Act["operation"], path: string, to = path): Act => ({
  operation,
  path,
  to,
  hash: undefined,
  outcome: "done",
});
const each = (size: number, make: (at: number) => Act): Act[] =>
  Array.from({ length: size }, (_, at) => make(at));

describe("a ledger takes time in proportion to calls that", () => {
  const shapes: readonly (readonly [string, (size: number) => readonly Act[]])[] = [
    ["touch one file", (size) => each(size, () => done("write", "a"))],
    ["touch a file each", (size) => each(size, (at) => done("read", `src/f${at}`))],
    ["touch files far below", (size) => each(size / 10, (at) => done("read", `${"d/".repeat(100)}f${at}`))],
    [
      "touch files below each other",
      (size) => each(200, (at) => done("read", "d/".repeat((at * size) / 12_500 + 1))),
    ],
    [
      "delete a directory again and again",
      (size) => [
        ...each(size / 2, (at) => done("write", `d/f${at}`)),
        ...each(size / 2, () => done("delete", "d")),
      ],
    ],
    [
      "move a directory to and fro",
      (size) => [
        ...each(size / 2, (at) => done("write", `d/f${at}`)),
        ...each(size / 2, (at) => (at % 2 === 0 ? done("move", "d", "e") : done("move", "e", "d"))),
      ],
    ],
    ["move a file on and on", (size) => each(size, (at) => done("move", `f${at}`, `f${at + 1}`))],
  ];

  test.each(shapes)("%s", (_, make) => {
    const context = (size: number) => contextOf(messagesOf(make(size)));
    const work = (input: ReturnType<typeof context>) => fileLedger(input, { cwd: "/w", tools: actTools });
    expect(exponentOf(growing(12_500), context, work)).toBeLessThan(maxExponent);
  });
});

test("a stored ledger is read, written and told in proportion to its files", () => {
  const make = (size: number) => contextOf(messagesOf(each(size, (at) => done("write", `src/f${at}`))));
  const work = (ledger: ReturnType<typeof fileLedger>) => {
    ledgerText(ledger);
    return fileLedger({ items: [summaryItem(ledgerDetails(ledger))] });
  };
  const ledgers = (size: number) => fileLedger(make(size), { cwd: "/w", tools: actTools });
  expect(exponentOf(growing(12_500), ledgers, work)).toBeLessThan(maxExponent);
});

describe("a summary is stripped in proportion to", () => {
  test.each([
    ["blocks", "\n<read-files>\na\n</read-files>"],
    ["ends of blocks", "\n</read-files>"],
    ["beginnings of blocks", "\n<read-files>\n"],
    ["spaces", " "],
  ])("%s", (_, unit) => {
    expect(
      exponentOf(growing(500_000), (size) => unit.repeat(size / unit.length), stripLedgerText),
    ).toBeLessThan(maxExponent);
  });
});

describe("a patch is read in proportion to", () => {
  test.each([
    ["headers", "*** Update File: a\n*** Move to: b\n"],
    ["spaces", " "],
    ["lines", "\n"],
  ])("%s", (_, unit) => {
    expect(
      exponentOf(growing(500_000), (size) => unit.repeat(size / unit.length), operationsOfPatch),
    ).toBeLessThan(maxExponent);
  });
});
