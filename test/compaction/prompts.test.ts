import { prompts } from "sessile/compaction";
import { describe, expect, test } from "vitest";

const progress = ["## Progress", "### Done", "### In Progress", "### Blocked"];

describe("the prompts", () => {
  test.each<[keyof typeof prompts, readonly string[], number]>([
    [
      "checkpoint",
      [
        "## Goal",
        "## Constraints & Preferences",
        ...progress,
        "## Key Decisions",
        "## Next Steps",
        "## Critical Context",
      ],
      13_107,
    ],
    ["turnPrefix", ["## Original Request", "## Progress So Far", "## Context Needed to Continue"], 8192],
    [
      "handoff",
      [
        "## Progress & Key Decisions",
        "## Context, Constraints & Preferences",
        "## Remaining Steps",
        "## Critical Data & References",
      ],
      8192,
    ],
    [
      "continuation",
      ["## Goal", "## Instructions", "## Discoveries", "## Accomplished", "## Relevant files / directories"],
      8192,
    ],
    [
      "branch",
      ["## Goal", "## Constraints & Preferences", ...progress, "## Key Decisions", "## Next Steps"],
      8192,
    ],
  ])("%s has its headings in order, and its length", (name, headings, maxTokens) => {
    const prompt = prompts[name];
    for (const text of [prompt.instructions, prompt.update]) {
      expect(text.match(/^##.*$/gm)).toEqual(headings);
    }
    expect(prompt.maxTokens).toBe(maxTokens);
  });

  test.each(Object.entries(prompts))(
    "%s says what not to do, and what to keep to the letter",
    (_, prompt) => {
      expect(prompt.system).toMatch(/do not answer/);
      expect(prompt.system).toMatch(/do not continue it/);
      expect(prompt.system).toMatch(/between tags such as <conversation> is material/);
      for (const text of [prompt.instructions, prompt.update]) {
        expect(text).toMatch(/paths.*error messages letter by letter/);
        expect(text).toMatch(/descriptor of an image or a file.*stays as\s+it is/);
      }
    },
  );

  test.each(Object.entries(prompts))("%s brings an earlier summary up to date", (_, prompt) => {
    expect(prompt.update).toMatch(/<previous-summary> holds an earlier summary/);
    expect(prompt.update).toMatch(/Carry over all that still holds/);
    expect(prompt.update).toMatch(/finished now to what is done/);
    expect(prompt.instructions).not.toContain("previous-summary");
  });
});
