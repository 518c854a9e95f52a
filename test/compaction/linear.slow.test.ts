import { isContextOverflow, planPrune, prompts, truncateToolResult } from "sessile/compaction";
import { assistantMessage, contextOf, toolResult, userMessage } from "sessile/content";
import { describe, expect, test } from "vitest";
import { summaryRequest } from "../../src/compaction/prompts.js";
import { serializeItems } from "../../src/compaction/serialize.js";
import {
  coveredResources,
  resourceNotes,
  withoutResourceNotes,
} from "../../src/compaction/summary-footer.js";
import { truncateText } from "../../src/compaction/truncate.js";
import { notedIds, withNotes } from "../../src/internal/covered-notes.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";

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
    const items = (size: number) => contextOf([userMessage(text(size)), answer("c", text(size))]).items;
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
    expect(exponentOf(growing(75_000), text, (of) => withNotes(of, () => false))).toBeLessThan(maxExponent);
  });

  test("many items", () => {
    const context = (size: number) =>
      contextOf(
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
