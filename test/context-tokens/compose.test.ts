import fc from "fast-check";
import {
  completeImport,
  type ImportStep,
  insertSteps,
  parseContextTokens,
  planDrop,
  planPaste,
  type Segment,
  unescapeContextTokens,
} from "sessile/context-tokens";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { clipboard, counter, tokenish } from "../arbitraries/tokens.js";

const pastedText = (text: string) =>
  planPaste([{ type: "text", text }], { maxInlineCharacters: 1_000_000, maxInlineLines: 1_000_000 });
const attachments = (source: string): readonly Segment[] =>
  parseContextTokens(source).filter(({ type }) => type !== "text");
const shown = (source: string): string =>
  parseContextTokens(source)
    .map((segment) => (segment.type === "text" ? segment.text : segment.raw))
    .join("");

const place = fc.double({ min: 0, max: 1, noNaN: true });
const at = (source: string, part: number): number => Math.floor(part * source.length);

describe("insertSteps", () => {
  // @covers R185
  test("puts text and placeholders in the order of the steps, and nothing for what was refused", () => {
    const steps = planDrop(
      [
        { type: "text", text: "first " },
        { type: "image", mediaType: "image/png", size: 1 },
        { type: "path", path: "/x.exe" },
        { type: "path", path: "/b.md" },
        { type: "text", text: " last" },
      ],
      { newId: counter() },
    );
    expect(insertSteps("[]", steps, 1)).toBe(
      "[first <<context:image:pending:1>>><<context:text:pending:2>>> last]",
    );
    expect(insertSteps("[]", steps)).toMatch(/^\[\]first /);
  });

  test("keeps tokens around the place, and makes none but its placeholders, for any draft, place and paste", () => {
    fc.assert(
      fc.property(tokenish, place, clipboard, (draft, part, entries) => {
        const steps = planDrop(entries, { newId: counter() });
        const result = insertSteps(draft, steps, at(draft, part));
        const placeholders = steps.flatMap((step) => (step.type === "import" ? [step.placeholder] : []));
        const before = attachments(draft).map(({ raw }) => raw);
        const after = attachments(result).map(({ raw }) => raw);
        const start = placeholders[0] === undefined ? 0 : after.indexOf(placeholders[0], 0);
        expect(after.filter((_, index) => index < start || index >= start + placeholders.length)).toEqual(
          before,
        );
        expect(after.slice(start, start + placeholders.length)).toEqual(placeholders);
      }),
      { numRuns: 500 },
    );
  });

  test("shows what is put in as it was, whatever is before and behind it", () => {
    fc.assert(
      fc.property(tokenish, tokenish, tokenish, (before, text, after) => {
        // In places where no token is cut: at both ends.
        const draft = insertSteps("", pastedText(before));
        const result = insertSteps(insertSteps(draft, pastedText(text)), pastedText(after));
        expect(shown(result)).toBe(before + text + after);
        expect(attachments(result)).toEqual([]);
        expect(unescapeContextTokens(result)).toBe(before + text + after);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["an opener that the seam makes", "<<", "context:image:/etc/x>>>", "<<\\context:image:/etc/x>>>"],
    ["an opener of three pieces", "<", "<context:image:/x>>>", "<<\\context:image:/x>>>"],
    ["an escaped opener that the seam makes", "<<", "\\context:", "<<\\\\context:"],
    ["an opener that is not closed", "<<context:image:/etc/", "x>>>", "<<\\context:image:/etc/x>>>"],
    ["a token that lacks one >", "<<context:image:/x>>", ">", "<<\\context:image:/x>>>"],
    ["a closed one, which stays", "<<context:image:/x>>>", ">", "<<context:image:/x>>>>"],
    ["an opener that a line has ended, which stays", "<<context:\n", "x>>>", "<<context:\nx>>>"],
    ["an opener that a NUL has ended, which stays", "<<context:\0", "x>>>", "<<context:\0x>>>"],
  ])("escapes %s", (_, draft, text, result) => {
    expect(insertSteps(draft, pastedText(text))).toBe(result);
  });

  test("takes a place within a token for its end", () => {
    const token = "<<context:image:/a.png>>>";
    for (let place = 1; place <= token.length; place++) {
      expect(insertSteps(`${token}b`, pastedText("x"), place)).toBe(`${token}xb`);
    }
    expect(insertSteps(token, pastedText("x"), 0)).toBe(`x${token}`);
    expect(insertSteps(`a${token}${token}`, pastedText("x"), 1 + token.length)).toBe(`a${token}x${token}`);
  });

  test("leaves the draft as it is where all was refused", () => {
    const steps = planPaste([{ type: "path", path: "/x.exe" }]);
    expect(insertSteps("<<context:", steps, 3)).toBe("<<context:");
  });

  test.each([-1, 4, 0.5, Number.NaN])("refuses the place %d", (place) => {
    expect(() => insertSteps("abc", [], place)).toThrow(
      new RangeError(`at: expected an integer from 0 to 3, got ${place}`),
    );
  });
});

describe("completeImport", () => {
  const importsOf = (entries: Parameters<typeof planPaste>[0]) => {
    const steps = planPaste(entries, { newId: counter() });
    const imports = steps.filter((step): step is ImportStep => step.type === "import");
    return { steps, imports };
  };

  test("makes tokens and broken tokens of placeholders, in any order of settling, and nothing else", () => {
    fc.assert(
      fc.property(
        tokenish,
        place,
        clipboard,
        fc.infiniteStream(fc.tuple(fc.nat(), fc.boolean(), tokenish)),
        (draft, part, entries, chances) => {
          const { steps, imports } = importsOf(entries);
          const composed = insertSteps(draft, steps, at(draft, part));
          const fates = imports.map((step) => {
            const [rank, ok, why] = chances.next().value as [number, boolean, string];
            return { step, rank, outcome: ok ? { path: `/ctx/blobs/${step.id}.x` } : { failed: why } };
          });
          const settled = [...fates]
            .sort((a, b) => a.rank - b.rank)
            .reduce((text, { step, outcome }) => completeImport(text, step.id, outcome), composed);

          const fateOf = (raw: string) => fates.find(({ step }) => step.placeholder === raw);
          const expected = parseContextTokens(composed).map((segment) => {
            const fate = segment.type === "text" ? undefined : fateOf(segment.raw);
            if (fate === undefined) return segment;
            const { kind } = fate.step;
            return "path" in fate.outcome
              ? { type: "token", kind, path: fate.outcome.path }
              : { type: "broken", kind, reason: "failed" };
          });
          expect(parseContextTokens(settled)).toMatchObject(expected);
          expect(parseContextTokens(settled)).toHaveLength(expected.length);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("comes too late for a placeholder that was deleted", () => {
    fc.assert(
      fc.property(tokenish, (draft) => {
        expect(completeImport(draft, "gone", { path: "/ctx/a.png" })).toBe(draft);
        expect(completeImport(draft, "gone", { failed: "why" })).toBe(draft);
      }),
    );
  });

  test("is not misled by a placeholder that was pasted as text", () => {
    const { steps, imports } = importsOf([{ type: "image", mediaType: "image/png", size: 1 }]);
    const placeholder = imports[0]?.placeholder ?? "";
    const draft = insertSteps(insertSteps("", steps), pastedText(placeholder));
    expect(parseContextTokens(completeImport(draft, "1", { path: "/a.png" }))).toMatchObject([
      { type: "token", path: "/a.png" },
      { type: "text", text: placeholder },
    ]);
  });

  test("keeps what failed as one line that ends no token", () => {
    const draft = "<<context:image:pending:1>>>";
    expect(completeImport(draft, "1", { failed: "a.png: <gone>>>\n\0 away " })).toBe(
      "<<context:image:failed:a.png: _gone___ away>>>",
    );
    const long = completeImport(draft, "1", { failed: "x".repeat(1000) });
    expect(long).toBe(`<<context:image:failed:${"x".repeat(199)}…>>>`);
  });

  test("refuses a path that no token can hold, and can still fail", () => {
    const draft = "<<context:image:pending:1>>>";
    let thrown: unknown;
    try {
      completeImport(draft, "1", { path: "a.png" });
    } catch (error) {
      thrown = error;
    }
    expect(SessileError.is(thrown, "INVALID_CONTEXT_TOKEN")).toBe(true);
  });
});
