import { assistantMessage, contextFrom, toolResult, userMessage } from "sessile";
import { fileLedger, isContextOverflow, planPrune, prompts, truncateToolResult } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { notedIds } from "../../src/attachments/boundary.js";
import { filterNotes } from "../../src/attachments/internal.js";
import { coveredResources, resourceNotes, withoutResourceNotes } from "../../src/compaction/boundary.js";
import { ledgerDetails, ledgerText, stripLedgerText } from "../../src/compaction/file-ledger/ledger.js";
import { operationsOfPatch } from "../../src/compaction/file-ledger/operations.js";
import { serializeItems, summaryRequest } from "../../src/compaction/prompts.js";
import { truncateText } from "../../src/compaction/truncate.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";
import { actTools, messagesOf, summaryItem } from "./file-ledger/arbitraries.js";
import type { Act } from "./file-ledger/naive.js";

const call = (id: string, value: unknown) => ({
  type: "toolCall" as const,
  id,
  name: "bash",
  arguments: { value },
});
const answer = (id: string, value: unknown) =>
  assistantMessage({ provider: "p", model: "m" }, call(id, value));

describe("the time taken grows no faster than the input", () => {
  test.each([
    "a",
    "\n",
    "\ud83d",
    "\ud83d\ude00",
    "<",
    "</conversation>",
    "[User]: \n",
    "reduce the length of ",
  ])("a text of %j", (piece) => {
    const text = (size: number) => piece.repeat((8 * size) / piece.length);
    const message = (size: number) => toolResult({ id: "c", name: "bash" }, text(size), text(size));
    expect(exponentOf(growing(40_000), text, (of) => truncateText(of))).toBeLessThan(maxExponent);
    expect(exponentOf(growing(40_000), message, (of) => truncateToolResult(of))).toBeLessThan(maxExponent);
    expect(exponentOf(growing(40_000), text, (of) => isContextOverflow(new Error(of)))).toBeLessThan(
      maxExponent,
    );
    const items = (size: number) => contextFrom([userMessage(text(size)), answer("c", text(size))]).items;
    const wide = { user: 1e9, argument: 1e9, calls: 1e9 };
    expect(exponentOf(growing(40_000), items, (of) => serializeItems(of))).toBeLessThan(maxExponent);
    expect(exponentOf(growing(40_000), items, (of) => serializeItems(of, wide))).toBeLessThan(maxExponent);
    const ask = (conversation: string) => summaryRequest({ prompt: prompts.checkpoint, conversation });
    expect(exponentOf(growing(40_000), text, ask)).toBeLessThan(maxExponent);
    expect(
      exponentOf(growing(40_000), text, (of) => withoutResourceNotes(`<covered-resources>\n${of}`)),
    ).toBeLessThan(maxExponent);
  });

  test.each([
    "<covered-resources>",
    "<covered-resources>\n- res_0000000000000001, a\n",
    "</covered-resources>",
    "- res_0000000000000001, a\n",
    "\n",
  ])("the notes of a summary of %j", (piece) => {
    const text = (size: number) => `<covered-resources>\n${piece.repeat(size / piece.length)}`;
    expect(exponentOf(growing(75_000), text, notedIds)).toBeLessThan(maxExponent);
    expect(exponentOf(growing(75_000), text, (of) => filterNotes(of, () => false))).toBeLessThan(maxExponent);
  });

  test("many items", () => {
    const context = (size: number) =>
      contextFrom(
        Array.from({ length: size }, (_, at) => [
          userMessage("go on"),
          answer(`c${at}`, at),
          toolResult({ id: `c${at}`, name: "bash" }, "output of some length"),
        ]).flat(),
      );
    expect(exponentOf(growing(2000), context, (of) => planPrune(of, { protectTokens: 0 }))).toBeLessThan(
      maxExponent,
    );
    expect(exponentOf(growing(2000), context, (of) => serializeItems(of.items))).toBeLessThan(maxExponent);
    expect(
      exponentOf(growing(2000), context, (of) => resourceNotes(coveredResources(of.items))),
    ).toBeLessThan(maxExponent);
  });
});

describe("the file ledger", () => {
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
      const context = (size: number) => contextFrom(messagesOf(make(size)));
      const work = (input: ReturnType<typeof context>) => fileLedger(input, { cwd: "/w", tools: actTools });
      expect(exponentOf(growing(12_500), context, work)).toBeLessThan(maxExponent);
    });
  });

  test("a stored ledger is read, written and told in proportion to its files", () => {
    const make = (size: number) => contextFrom(messagesOf(each(size, (at) => done("write", `src/f${at}`))));
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
});
