import fc from "fast-check";
import { prompts } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { summaryRequest } from "../../src/compaction/prompts.js";
import { text } from "../arbitraries/values.js";

const prompt = { system: "S", instructions: "INSTRUCTIONS", update: "UPDATE", maxTokens: 100 };

describe("summaryRequest", () => {
  test("is the conversation, what to write and how much", () => {
    expect(summaryRequest({ prompt, conversation: "[User]: hi" })).toEqual({
      system: "S",
      text: "<conversation>\n[User]: hi\n</conversation>\n\nINSTRUCTIONS\n\nWrite at most 70 words.",
    });
  });

  test("has each piece once, in its tags", () => {
    const request = summaryRequest({
      prompt,
      conversation: "CONVERSATION",
      previous: "PREVIOUS",
      focus: "FOCUS",
      context: ["FIRST", " ", "SECOND"],
      omitted: 12,
      maxTokens: 10,
    });
    expect(request.text).toBe(
      [
        "<previous-summary>\nPREVIOUS\n</previous-summary>",
        "<conversation>",
        "(12 older messages had no room here. Say in the summary that they are missing.)\n",
        "CONVERSATION\n</conversation>\n",
        "<injected-context>\nFIRST\n</injected-context>\n",
        "<injected-context>\nSECOND\n</injected-context>\n",
        "UPDATE\n",
        "The person asks you to dwell on this, below the same headings:",
        "<additional-focus>\nFOCUS\n</additional-focus>\n",
        "Write at most 7 words.",
      ]
        .join("\n")
        .replace("</previous-summary>\n", "</previous-summary>\n\n"),
    );
  });

  test("an earlier summary without a word is none", () => {
    const { text: asked } = summaryRequest({ prompt, conversation: "", previous: " \n", focus: " " });
    expect(asked).toBe("<conversation>\n\n</conversation>\n\nINSTRUCTIONS\n\nWrite at most 70 words.");
  });

  test("no material can close its tag or open another one", () => {
    const tags = ["conversation", "previous-summary", "injected-context", "additional-focus"];
    const nasty = fc
      .array(
        fc.oneof(
          text,
          fc.constantFrom(...tags.flatMap((tag) => [`<${tag}>`, `</${tag.toUpperCase()}>`, `< /${tag}`])),
        ),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(nasty, nasty, nasty, nasty, (conversation, previous, focus, added) => {
        const given = {
          prompt,
          conversation,
          previous: `x${previous}`,
          focus: `x${focus}`,
          context: [`x${added}`],
        };
        const { text: asked } = summaryRequest(given);
        expect(asked.match(new RegExp(`<[\\s/]*(?:${tags.join("|")})`, "gi"))?.length).toBe(8);
        for (const tag of tags) {
          expect(asked.split(`<${tag}>`)).toHaveLength(2);
          expect(asked.split(`</${tag}>`)).toHaveLength(2);
        }
        expect(asked.isWellFormed()).toBe(true);
      }),
    );
  });

  test("lists of files in an earlier summary stay as they are", () => {
    const previous = "## Goal\n\n<read-files>\na.ts\n</read-files>";
    expect(summaryRequest({ prompt: prompts.checkpoint, conversation: "", previous }).text).toContain(
      previous,
    );
  });

  test.each([{ omitted: -1 }, { omitted: 0.5 }, { maxTokens: 0 }, { maxTokens: Number.NaN }])(
    "refuses %j",
    (wrong) => {
      expect(() => summaryRequest({ prompt, conversation: "", ...wrong })).toThrow(RangeError);
    },
  );
});
