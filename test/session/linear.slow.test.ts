import {
  buildSessionContext,
  encodeEntry,
  type ParsedSession,
  parseSession,
  type SessionEntry,
  SessionTree,
} from "sessile";
import { describe, expect, test } from "vitest";
import { sessionOf } from "../arbitraries/entries.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";

const name = (at: number): string => at.toString(16).padStart(8, "0");
const timestamp = "2025-11-20T23:33:50.805Z";
const place = (at: number) => ({ id: name(at), parentId: at === 0 ? null : name(at - 1), timestamp });

function user(at: number): SessionEntry {
  return { type: "message", ...place(at), message: { role: "user", content: "Go on.", timestamp: at } };
}

/** A chain of so many entries. */
function chain(length: number, entry: (at: number) => SessionEntry = user): readonly SessionEntry[] {
  return Array.from({ length }, (_, at) => entry(at));
}

const textOf = (entries: readonly SessionEntry[]): string => sessionOf(entries).text;
const linesOf = (length: number, line: (at: number) => string): string =>
  [sessionOf([]).lines[0], ...Array.from({ length }, (_, at) => line(at)), ""].join("\n");
const custom = (id: string, parentId: string | null, data?: unknown): SessionEntry => ({
  type: "custom",
  id,
  parentId,
  timestamp,
  customType: "c",
  ...(data === undefined ? {} : { data }),
});

describe("parseSession takes time in proportion to", () => {
  const sources: readonly (readonly [string, number, (size: number) => string | readonly string[]])[] = [
    ["a long chain", 4000, (size) => textOf(chain(size))],
    [
      "nothing but forward references",
      4000,
      (size) => linesOf(size, (at) => encodeEntry(custom(name(at), name(at + 1)))),
    ],
    [
      "a cycle of all entries",
      4000,
      (size) => linesOf(size, (at) => encodeEntry(custom(name(at), name((at + 1) % size)))),
    ],
    [
      "forward references to one entry",
      4000,
      (size) => linesOf(size, (at) => encodeEntry(custom(name(at), name(size - 1)))),
    ],
    ["orphans", 4000, (size) => linesOf(size, (at) => encodeEntry(custom(name(at), `gone ${at}`)))],
    ["one id again and again", 4000, (size) => linesOf(size, () => encodeEntry(custom("a", null)))],
    ["lines that are none", 2000, (size) => linesOf(size, () => "{")],
    ["empty lines", 100_000, (size) => linesOf(size, () => "")],
    ["lines of one letter", 50_000, (size) => linesOf(size, () => "x")],
    ["objects that are no entries", 50_000, (size) => linesOf(size, () => "{}")],
    ["headers without an id", 20_000, (size) => linesOf(size, () => '{"type":"session"}')],
    [
      "labels of one entry",
      4000,
      (size) =>
        textOf(
          chain(size, (at) => ({ type: "label", ...place(at), targetId: name(0), label: `label ${at}` })),
        ),
    ],
    ["one line with many openers", 200_000, (size) => linesOf(1, () => "[".repeat(size))],
    [
      "one line with many openers in strings",
      200_000,
      (size) => linesOf(1, () => encodeEntry(custom("a", null, '{"['.repeat(size)))),
    ],
    [
      "one line with many openers that are closed",
      100_000,
      (size) =>
        linesOf(1, () => encodeEntry(custom("a", null)).replace("{", `{"list":[${"[],".repeat(size)}[]],`)),
    ],
    [
      "one line with many quotes",
      200_000,
      (size) => linesOf(1, () => encodeEntry(custom("a", null, '"\\'.repeat(size)))),
    ],
    [
      "one line with many unsafe keys",
      20_000,
      (size) => linesOf(1, () => `{"list":[${'{"__proto__":1},'.repeat(size)}0]}`),
    ],
    ["text with many lone surrogates", 50_000, (size) => linesOf(1, () => "\ud83d ".repeat(size))],
    ["a line in many pieces", 20_000, (size) => Array.from(linesOf(1, () => "x".repeat(size)))],
  ];

  test.each(sources)("%s", (_, first, make) => {
    expect(exponentOf(growing(first), make, (source) => parseSession(source))).toBeLessThan(maxExponent);
  });
});

describe("buildSessionContext takes time in proportion to", () => {
  const edit = (
    at: number,
    targetAt: number,
    replacement: null | { readonly content: string },
  ): SessionEntry => ({
    type: "context_edit",
    ...place(at),
    targetId: name(targetAt),
    replacement,
  });
  const compaction = (at: number, firstKeptEntryId: string, retain: readonly string[]): SessionEntry => ({
    type: "compaction",
    ...place(at),
    summary: "So far.",
    firstKeptEntryId,
    tokensBefore: 1,
    retain,
  });
  const call = (at: number): SessionEntry => ({
    type: "message",
    ...place(at),
    message: {
      role: "assistant",
      content: [{ type: "toolCall", id: name(at), name: "read", arguments: {} }],
      provider: "p",
      model: "m",
      timestamp: at,
    },
  });
  const result = (at: number): SessionEntry => ({
    type: "message",
    ...place(at),
    message: {
      role: "toolResult",
      toolCallId: name(at - 1),
      toolName: "read",
      content: [],
      isError: false,
      timestamp: at,
    },
  });

  const histories: readonly (readonly [string, (at: number, size: number) => SessionEntry])[] = [
    ["a long chain", user],
    [
      "calls and results that are edited",
      (at) => [call, result, (at: number) => edit(at, at - 2, null)][at % 3]?.(at) as SessionEntry,
    ],
    ["edits of one entry", (at) => (at === 0 ? user(0) : edit(at, 0, { content: `${at}` }))],
    [
      "pins",
      (at) =>
        at % 2 === 0 ? user(at) : { type: "context_pin", ...place(at), targetId: name(at - 1), pinned: true },
    ],
    ["compactions", (at) => (at % 2 === 0 ? user(at) : compaction(at, name(at), []))],
    [
      "what a compaction retains",
      (at, size) =>
        at === size - 1
          ? compaction(
              at,
              name(at),
              Array.from({ length: size / 2 }, (_, index) => name(index * 2)),
            )
          : user(at),
    ],
    ["views", (at) => ({ type: "resource_view", ...place(at), resourceId: name(at) })],
  ];

  test.each(histories)("%s", (_, entry) => {
    const make = (size: number): ParsedSession => parseSession(textOf(chain(size, (at) => entry(at, size))));
    expect(exponentOf(growing(8000), make, (session) => buildSessionContext(session))).toBeLessThan(
      maxExponent,
    );
  });
});

describe("SessionTree takes time in proportion to", () => {
  const shapes: readonly (readonly [string, (at: number) => string | null])[] = [
    ["a chain", (at) => (at === 0 ? null : name(at - 1))],
    ["a star", (at) => (at === 0 ? null : name(0))],
    ["roots", () => null],
    ["a comb", (at) => (at === 0 ? null : name(at % 2 === 0 ? at - 2 : at - 1))],
    ["a chain backwards", (at) => name(at + 1)],
  ];

  test.each(shapes)("%s, built and walked", (_, parentOf) => {
    const make = (size: number) => Array.from({ length: size }, (_, at) => custom(name(at), parentOf(at)));
    const work = (entries: readonly SessionEntry[]) => {
      let deepest = 0;
      for (const { depth } of new SessionTree(entries).walk()) deepest = Math.max(deepest, depth);
      return deepest;
    };
    expect(exponentOf(growing(10_000), make, work)).toBeLessThan(maxExponent);
  });
});
