import fc from "fast-check";
import { contextFrom, memorySessionStore, toolResult, userMessage } from "sessile";
import { type CoveredResource, compact, type FileLedger, rollingSummary } from "sessile/compaction";
import { estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import {
  coveredResources,
  footerText,
  mergeCoveredResources,
  readCoveredResources,
  resourceNotes,
  withFooter,
  withoutFooter,
  withoutResourceNotes,
} from "../../src/compaction/boundary.js";
import { serializeItems } from "../../src/compaction/prompts.js";
import { message, resource } from "../arbitraries/messages.js";
import { jsonValue, text } from "../arbitraries/values.js";

describe("covered resources", () => {
  const covered: fc.Arbitrary<CoveredResource> = resource
    .map((of) => coveredResources(contextFrom([userMessage(of)]).items)[0])
    .filter((of) => of !== undefined);
  const numbered = (at: number): CoveredResource => ({
    resourceId: `res_${String(at).padStart(16, "0")}`,
    kind: "image",
    name: `${at}.png`,
    mediaType: "image/png",
  });

  describe("coveredResources", () => {
    test("are the images and files of the items, each once, by where they come last", () => {
      fc.assert(
        fc.property(fc.array(fc.array(resource, { maxLength: 3 }), { maxLength: 4 }), (lists) => {
          const twice = [...lists, ...lists.toReversed()];
          const { items } = contextFrom(
            twice.map((list, at) =>
              at % 2 ? toolResult({ id: "", name: "" }, ...list) : userMessage(...list),
            ),
          );
          const ids = twice
            .flat()
            .filter(({ kind }) => kind !== "link")
            .map(({ resourceId }) => resourceId);
          const last = ids.filter((id, at) => ids.lastIndexOf(id) === at);
          expect(coveredResources(items).map(({ resourceId }) => resourceId)).toEqual(last);
        }),
      );
    });

    test("come back from details, whatever else is in there", () => {
      fc.assert(
        fc.property(fc.array(fc.oneof(covered, jsonValue), { maxLength: 5 }), jsonValue, (list, other) => {
          const stored = JSON.parse(JSON.stringify({ other, resources: list })) as unknown;
          const known = list.filter((of): of is CoveredResource =>
            /^res_/.test(String((of as CoveredResource | null)?.resourceId)),
          );
          expect(readCoveredResources(stored)).toEqual(known);
        }),
      );
      fc.assert(
        fc.property(fc.anything(), (details) => {
          expect(readCoveredResources(details)).toEqual([]);
        }),
      );
      const { resourceId, kind } = numbered(1);
      expect(
        readCoveredResources({
          resources: [{ resourceId, kind, name: 5, mediaType: `a\n${"b".repeat(99)}` }],
        }),
      ).toEqual([{ resourceId, kind, mediaType: `a ${"b".repeat(77)}…` }]);
      expect(
        readCoveredResources({
          resources: [
            { resourceId, kind: "link" },
            { resourceId: "res_x", kind },
          ],
        }),
      ).toEqual([]);
    });

    test("merge as the items would in one go", () => {
      fc.assert(
        fc.property(fc.array(message, { maxLength: 6 }), fc.nat({ max: 6 }), (messages, at) => {
          const { items } = contextFrom(messages);
          expect(
            mergeCoveredResources(coveredResources(items.slice(0, at)), coveredResources(items.slice(at))),
          ).toEqual(coveredResources(items));
        }),
      );
    });
  });

  describe("resourceNotes", () => {
    // @covers R21
    test("say that a description is not the image, and name each id", () => {
      const notes = resourceNotes([numbered(1), { resourceId: "res_00000000000000aa", kind: "file" }]);
      expect(notes).toContain("a description of an image is not the image");
      expect(notes).toContain(
        "- res_0000000000000001, image 1.png, image/png\n- res_00000000000000aa, file\n",
      );
      expect(resourceNotes([])).toBe("");
    });

    test("list the newest, and count the others", () => {
      const many = Array.from({ length: 130 }, (_, at) => numbered(at));
      const ids = (notes: string) => notes.match(/res_\d+/g);
      expect(ids(resourceNotes(many))).toEqual(many.slice(30).map(({ resourceId }) => resourceId));
      expect(resourceNotes(many)).toContain("\n- 30 older ones, not listed here\n");
      expect(ids(resourceNotes(many, { maxResources: 0 }))).toBe(null);
      expect(resourceNotes(many, { maxResources: 130 })).not.toContain("older ones");
      expect(() => resourceNotes(many, { maxResources: -1 })).toThrow(RangeError);
    });

    test("are taken off a summary as they were put on", () => {
      fc.assert(
        fc.property(text, fc.array(covered, { minLength: 1, maxLength: 3 }), (said, resources) => {
          const summary = said.trimEnd();
          const notes = resourceNotes(resources);
          expect(withoutResourceNotes(`${summary}\n\n${notes}`)).toBe(summary);
          expect(withoutResourceNotes(`${summary}\n\n${notes}\n\n<read-files>\na\n</read-files>`)).toBe(
            `${summary}\n\n<read-files>\na\n</read-files>`,
          );
          expect(withoutResourceNotes(summary)).toBe(summary);
        }),
      );
    });

    test("cannot be forged in a conversation", () => {
      const { items } = contextFrom([userMessage(resourceNotes([numbered(1)]))]);
      expect(serializeItems(items)).not.toMatch(/<\/?covered-resources/);
    });
  });
});

describe("the footer", () => {
  const resources: fc.Arbitrary<readonly CoveredResource[]> = fc.array(
    fc.record({ resourceId: fc.uuid().map((id) => `res_${id}`), kind: fc.constant("image" as const) }),
    { maxLength: 3 },
  );
  const files: fc.Arbitrary<FileLedger> = fc
    .uniqueArray(fc.constantFrom("a.ts", "b/c.ts", "d e"), { maxLength: 3 })
    .map((paths) => ({
      files: paths.map((path, at) => ({ path, operations: [at % 2 === 0 ? "read" : "modified"], step: at })),
    }));
  const text = fc.lorem({ maxCount: 5, mode: "sentences" });

  // @covers R132
  test("what closes a summary stands on lines of its own, and comes off again", () => {
    fc.assert(
      fc.property(text, resources, files, (text, resources, files) => {
        const whole = withFooter(text, footerText({ resources, files }, Number.POSITIVE_INFINITY));
        expect(whole.startsWith(text)).toBe(true);
        expect(whole.slice(text.length)).toMatch(/^(\n\n|$)/);
        expect(withoutFooter(whole)).toBe(text);
      }),
    );
  });

  test("what closes a summary has room, and says how much it leaves out", () => {
    const files: FileLedger = {
      files: Array.from({ length: 220 }, (_, at) => ({
        path: `packages/some/long/directory/of/a/java/project/Class${at}.java`,
        operations: ["modified"],
        step: at,
      })),
    };
    for (const room of [0, 100, 1000, 5000]) {
      const text = footerText({ resources: [], files }, room);
      expect(estimateTextTokens(text)).toBeLessThanOrEqual(room);
      if (room > 0) expect(text).toMatch(/\(\d+ files touched earlier left out\)/);
    }
    expect(footerText({ resources: [], files }, 5000)).toContain("Class219.java");
  });

  test("an earlier summary is shown to the model without its lists, however often it is brought up to date", async () => {
    const session = await memorySessionStore().create({ cwd: "/work/project" });
    const earlier: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      await session.appendMessage({ role: "user", content: "x".repeat(20_000), timestamp: turn });
      const toolCall = {
        type: "toolCall",
        id: `c${turn}`,
        name: "edit",
        arguments: { path: `${turn}.ts` },
      } as const;
      await session.appendMessage({
        role: "assistant",
        content: [toolCall],
        provider: "p",
        model: "m",
        timestamp: turn,
      });
      await session.appendMessage({
        role: "toolResult",
        toolCallId: toolCall.id,
        toolName: "edit",
        content: [],
        isError: false,
        timestamp: turn,
      });
      await session.appendMessage({ role: "user", content: "go on", timestamp: turn });
      const done = await compact(session, {
        strategy: rollingSummary({ keepRecentTokens: 1 }),
        window: 100_000,
        generate: async ({ text }) => {
          earlier.push(text);
          return { text: `summary ${turn}` };
        },
      });
      expect(done).toMatchObject({
        entry: { summary: expect.stringContaining(`\n${turn}.ts\n</modified-files>`) },
      });
    }
    expect(earlier).toHaveLength(3);
    for (const text of earlier) expect(text).not.toContain("<modified-files>");
  });
});
