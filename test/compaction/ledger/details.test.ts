import fc from "fast-check";
import { type FileLedger, fileLedger } from "sessile/compaction";
import { contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { ledgerDetails } from "../../../src/compaction/file-ledger/details.js";
import { jsonValue } from "../../arbitraries/values.js";
import { acts, actTools, cwd, hashes, messagesOf, summaryItem } from "./arbitraries.js";

const options = { cwd, tools: actTools };
const ledgers = acts.map((all) => fileLedger(contextOf(messagesOf(all)), options));
const back = (...details: readonly unknown[]): FileLedger =>
  fileLedger({ items: details.map(summaryItem) }, options);
const changed = (operations: readonly string[]) => operations.some((each) => each !== "read");

describe("details", () => {
  test("give the same ledger back", () => {
    fc.assert(
      fc.property(ledgers, (ledger) => {
        expect(back(JSON.parse(JSON.stringify(ledgerDetails(ledger))))).toEqual(ledger);
      }),
    );
  });

  test("have pi's lists: what was changed, and what was only read, sorted", () => {
    fc.assert(
      fc.property(ledgers, (ledger) => {
        const { readFiles, modifiedFiles } = ledgerDetails(ledger);
        const paths = (wanted: boolean) =>
          ledger.files.filter(({ operations }) => changed(operations) === wanted).map(({ path }) => path);
        expect(modifiedFiles).toEqual(paths(true).sort());
        expect(readFiles).toEqual(paths(false).sort());
      }),
    );
  });

  test("of pi alone give which files were read or changed, unconfirmed", () => {
    fc.assert(
      fc.property(ledgers, (ledger) => {
        const { files: _, ...pi } = ledgerDetails(ledger);
        const expected = ledger.files.map(({ path, operations }) => ({
          path,
          operations: [changed(operations) ? "modified" : "read"],
          unconfirmed: true,
          step: 1,
        }));
        expect(back(pi).files).toEqual(expected);
      }),
    );
  });

  test("of pi that name more than the records are merged with them", () => {
    const files = [
      { path: "a", operations: ["read"], contentSha256: hashes[0], step: 2 },
      { path: "b", operations: ["deleted"], gone: true, step: 7 },
    ];
    expect(back({ files, readFiles: ["./a", "c"], modifiedFiles: ["/w/a", "b", "d"] }).files).toEqual([
      { path: "a", operations: ["read", "modified"], unconfirmed: true, step: 8 },
      { path: "b", operations: ["deleted"], gone: true, step: 7 },
      { path: "c", operations: ["read"], unconfirmed: true, step: 8 },
      { path: "d", operations: ["modified"], unconfirmed: true, step: 8 },
    ]);
  });

  test("of a later summary come on top of those of an earlier one", () => {
    const first = { files: [{ path: "d", operations: ["deleted"], gone: true, step: 3 }] };
    const second = { files: [{ path: "d/x", operations: ["created"], contentSha256: hashes[1], step: 1 }] };
    expect(back(first, second).files).toEqual([
      { path: "d", operations: ["deleted"], step: 3 },
      { path: "d/x", operations: ["created"], contentSha256: hashes[1], step: 4 },
    ]);
  });

  test.each([
    undefined,
    null,
    7,
    "files",
    [],
    { files: "a", readFiles: { a: 1 }, modifiedFiles: 3 },
    {
      files: [
        null,
        {},
        { path: "a" },
        { path: 1, operations: ["read"] },
        { path: "a", operations: ["eaten"] },
      ],
    },
    { files: [{ path: "a\0", operations: ["read"] }], readFiles: [null, "", 5] },
  ])("that are malformed give an empty ledger: %j", (details) => {
    expect(back(details)).toEqual({ files: [] });
  });

  test("are held to what a ledger can be", () => {
    const path = "a";
    const rows: readonly (readonly [object, object])[] = [
      [{ operations: ["read", "x", "read"] }, { operations: ["read"], step: 0 }],
      [
        { operations: ["deleted"], gone: true, contentSha256: hashes[0], movedFrom: "b" },
        { operations: ["deleted"], gone: true, step: 0 },
      ],
      [
        { operations: ["moved"], movedTo: "b", step: -1 },
        { operations: ["moved"], step: 0 },
      ],
      [
        { operations: ["read"], contentSha256: "abc", step: 1.5 },
        { operations: ["read"], step: 0 },
      ],
      [
        { operations: ["read"], contentSha256: hashes[0], unconfirmed: true },
        { operations: ["read"], unconfirmed: true, step: 0 },
      ],
      [
        { operations: ["read"], contentSha256: "A".repeat(64) },
        { operations: ["read"], contentSha256: hashes[0], step: 0 },
      ],
    ];
    for (const [stored, expected] of rows) {
      expect(back({ files: [{ path, ...stored }] }).files).toEqual([{ path, ...expected }]);
    }
  });

  test("of any JSON shape never throw, and what they give is stored as it is", () => {
    const file = fc.dictionary(
      fc.constantFrom("path", "operations", "gone", "movedTo", "step", "__proto__"),
      fc.oneof(
        jsonValue,
        fc.constantFrom("a", "/w/d/x", true, Number.MAX_SAFE_INTEGER),
        fc.constant(["read", "moved"]),
      ),
    );
    const lists = fc.array(fc.oneof(file, fc.constantFrom("a", "d", "/w/a"), jsonValue));
    const details = fc.dictionary(
      fc.constantFrom("files", "readFiles", "modifiedFiles"),
      fc.oneof(lists, jsonValue),
    );
    fc.assert(
      fc.property(fc.array(details), (all) => {
        const ledger = back(...all);
        expect(back(JSON.parse(JSON.stringify(ledgerDetails(ledger))))).toEqual(ledger);
      }),
    );
  });
});
