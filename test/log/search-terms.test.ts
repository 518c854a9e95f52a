import fc from "fast-check";
import type { SessionEntry } from "sessile";
import { describe, expect, test } from "vitest";
import {
  candidateTerms,
  matchTexts,
  parseQuery,
  searchTermsOfLine,
  searchTexts,
} from "../../src/log/internal.js";

const place = { id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
const lineOf = (entry: object) => new TextEncoder().encode(JSON.stringify(entry));
const userLine = (content: unknown) =>
  lineOf({ type: "message", ...place, message: { role: "user", content, timestamp: 0 } });
const isCandidate = (line: Uint8Array, query: string) => {
  const terms = searchTermsOfLine(line);
  return candidateTerms(parseQuery(query)).some((all) =>
    all.every((wanted) => terms.some((term) => term.startsWith(wanted))),
  );
};
const found = (text: string, query: string) => matchTexts([text], parseQuery(query)) !== undefined;

describe("words", () => {
  test.each([
    ["The quick brown fox", "quick", true],
    ["The quick brown fox", "QUI", true],
    ["The quick brown fox", "uick", false],
    ["The quick brown fox", "fox the", true],
    ["The quick brown fox", "quick cat", false],
    // Quotations are whole words in their order.
    ["a rate limit of 5", '"rate limit"', true],
    ["a rate limiter", '"rate limit"', false],
    ["the limit of a rate", '"rate limit"', false],
    ["a rate limiter", '"rate lim', true],
    // Case and compatibility forms.
    ["STRASSE", "straße", true],
    ["ﬁle ＡＢＣ", "file abc", true],
    ["ΟΔΟΣ", "οδος", true],
    ["cafe\u0301", "café", true],
    ["café", "cafe", false],
    // Identifiers.
    ["call getUserName()", "username", true],
    ["call getUserName()", "getUserN", true],
    ["call getUserName()", '"name"', false],
    ["an XMLHttpRequest", "http", true],
    ["const max_line_bytes = 1", "max_line", true],
    ["src/session/api/backend.ts", "api/backend", true],
    ["src/session/api/backend.ts", "backend/api", false],
    ["rate-limited", "rate-limit", true],
    // Scripts without spaces.
    ["東京都に行く", "京都", true],
    ["東京都に行く", "東都", false],
    ["東\n京", "東京", true],
    ["日本語 text", "本語 te", true],
    ["สวัสดีครับ", "ครับ", true],
    ["안녕하세요 세계", "세계", true],
    ["안녕하세요 세계", "하세요", false],
  ])("%s, %s: %s", (text, query, expected) => {
    expect(found(text, query)).toBe(expected);
    if (expected) expect(isCandidate(userLine(text), query)).toBe(true);
  });

  test("the place of the match is in the normalized text", () => {
    expect(matchTexts(["ﬁrst the Straße"], parseQuery("straß"))).toEqual({
      text: "first the Straße",
      start: 10,
      end: 16,
    });
  });
});

describe("terms", () => {
  const word = fc.oneof(
    fc.constantFrom(
      "getUserName",
      "XMLHttp",
      "rate",
      "limit",
      "Σίσυφος",
      "ΟΔΟΣ",
      "東",
      "京都",
      "ﬁ",
      "İx",
      "ก",
    ),
    fc.string({ minLength: 1, maxLength: 4, unit: "grapheme" }),
    fc.string({ minLength: 1, maxLength: 6, unit: "binary" }),
    fc.string({ minLength: 38, maxLength: 45, unit: fc.constantFrom("a", "B", "𝔸", "ß", "\u{10400}") }),
  );
  const text = fc.array(fc.tuple(word, fc.constantFrom(" ", "", ".", "_", "\n", '"')), { maxLength: 12 });
  const joined = text.map((parts) => parts.flat().join(""));

  test("no line that matches is missed", () => {
    let matches = 0;
    fc.assert(
      fc.property(
        fc.array(joined, { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.nat(20),
        joined,
        (texts, at, length, other) => {
          const source = texts[at % texts.length] as string;
          const start = at % (source.length + 1);
          for (const query of [
            source.slice(start, start + length),
            `"${source.slice(start, start + length)}"`,
            other,
          ]) {
            const phrases = parseQuery(query);
            if (phrases.length === 0) continue;
            const content = texts.map((each) => ({ type: "text", text: each }));
            if (matchTexts(texts, phrases) === undefined) continue;
            matches++;
            expect(isCandidate(userLine(content), query)).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(matches).toBeGreaterThan(30);
  });

  test("terms fit the limits of an index", () => {
    fc.assert(
      fc.property(joined, (each) => {
        for (const term of searchTermsOfLine(userLine(each))) {
          expect(new TextEncoder().encode(term).length).toBeLessThanOrEqual(123);
          expect(term).not.toMatch(/[\s\0]/);
          expect(term.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("a line with very many words is a candidate of every query", () => {
    const many = Array.from({ length: 20_000 }, (_, index) => `w${index}`).join(" ");
    expect(searchTermsOfLine(userLine(many))).toHaveLength(1);
    expect(isCandidate(userLine(many), "w19999")).toBe(true);
  });

  test("a line of an older version or with damage is a candidate, a header and an unknown type are none", () => {
    expect(
      isCandidate(lineOf({ type: "message", timestamp: "", message: { role: "user", content: "hi" } }), "hi"),
    ).toBe(true);
    expect(isCandidate(new TextEncoder().encode('{"type":"mess'), "hi")).toBe(true);
    expect(
      searchTermsOfLine(lineOf({ type: "session", version: 3, id: "a", timestamp: "", cwd: "/hi" })),
    ).toEqual([]);
    expect(searchTermsOfLine(lineOf({ type: "later", ...place, text: "hi" }))).toEqual([]);
  });

  test("words of a message that is spread over parts are found by the line of each part", () => {
    const line = lineOf({
      type: "part_update",
      ...place,
      targetId: "x",
      index: 1,
      part: { type: "text", text: "alpha" },
    });
    expect(isCandidate(line, "alpha beta")).toBe(true);
    expect(isCandidate(line, "gamma beta")).toBe(false);
    expect(isCandidate(userLine("alpha"), "alpha beta")).toBe(false);
  });
});

describe("texts", () => {
  const base64 = btoa("\u00ff\u0001 binary".repeat(60));
  const texts = (entry: object) => searchTexts({ ...place, ...entry } as SessionEntry).join("|");

  test("text of messages, calls, results, summaries and names", () => {
    const message = (fields: object) => texts({ type: "message", message: { timestamp: 0, ...fields } });
    expect(message({ role: "user", content: "hello" })).toBe("hello");
    const call = {
      type: "toolCall",
      id: "c1",
      name: "read",
      arguments: { path: "a.ts", lines: [1, { of: "b" }] },
    };
    const opaque = { type: "opaque", data: { text: "cited", url: "no" } };
    const content = [{ type: "thinking", thinking: "hm" }, call, opaque];
    expect(message({ role: "assistant", content, provider: "p", model: "m" })).toBe("hm|read|a.ts|b|cited");
    expect(
      message({
        role: "toolResult",
        toolName: "read",
        content: [{ type: "text", text: "out" }],
        details: "no",
      }),
    ).toBe("out|read");
    expect(message({ role: "bashExecution", command: "ls", output: "a b" })).toBe("ls|a b");
    expect(texts({ type: "compaction", summary: "so far" })).toBe("so far");
    expect(texts({ type: "branch_summary", summary: "left" })).toBe("left");
    expect(texts({ type: "session_info", title: "T", name: "N" })).toBe("T|N");
    expect(texts({ type: "context_edit", targetId: "x", replacement: { content: "new" } })).toBe("new");
    expect(texts({ type: "custom", customType: "x", data: "state" })).toBe("");
  });

  test("texts of ASCII have the terms that they have beside another word", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "userName",
        "XMLHttpRequest",
        "max_line",
        "AAAAaaaa",
        "x1Y2",
        "5",
        "UPPER",
        "a-b",
        " ",
        "_",
      ),
      fc.string({ unit: "grapheme-ascii", maxLength: 12 }),
      fc.nat({ max: 90 }).map((length) => "wordWord7".repeat(10).slice(0, length)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom(" ", ""), (pieces, joint) => {
        const text = pieces.join(joint);
        const beside = searchTermsOfLine(userLine(`${text} é`)).filter((term) => term !== "é");
        expect(searchTermsOfLine(userLine(text)).toSorted()).toEqual(beside.toSorted());
      }),
      { numRuns: 300 },
    );
  });

  test("only long runs of base64 are left out, wherever they are", () => {
    const every =
      /[A-Za-z0-9+/_-]{256,}={0,2}|(?:(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,76}\r?\n){4,}[A-Za-z0-9+/]*={0,2}/g;
    const run = fc.tuple(
      fc.constantFrom("a", "Z9", "+/", "_-"),
      fc.constantFrom(1, 7, 59, 60, 61, 76, 255, 256, 300),
    );
    const piece = fc.oneof(
      run.map(([unit, length]) => unit.repeat(length).slice(0, length)),
      run.map(([unit, length]) => `${unit.repeat(64).slice(0, Math.min(length, 77))}\n`.repeat(5)),
      fc.constantFrom(" ", "\n", "=", "é", ". "),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        const message = { role: "user", content: text, timestamp: 0 };
        const [left = ""] = searchTexts({ type: "message", ...place, message } as SessionEntry);
        expect(left).toBe(text.length < 256 ? text : text.replace(every, " "));
      }),
      { numRuns: 300 },
    );
  });

  test("an attachment counts with its name, and base64 never", () => {
    const resource = { resourceId: "res_0123456789abcdef", kind: "file", name: "plan.pdf", source: "upload" };
    const blocks = [
      { type: "text", text: "[file plan.pdf, application/pdf, 3 kB, res_0123456789abcdef]", resource },
      { type: "image", data: base64, mimeType: "image/png" },
      { type: "text", text: `see data:image/png;base64,${base64} here` },
      { type: "text", text: `pem\n${base64.replace(/.{64}/g, "$&\n")}\nend` },
    ];
    const all = texts({ type: "message", message: { role: "user", content: blocks, timestamp: 0 } });
    expect(all.replace(/\s+/g, " ")).toBe("plan.pdf|see data:image/png;base64, here|pem end");
  });
});
