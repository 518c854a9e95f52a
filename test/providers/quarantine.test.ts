import fc from "fast-check";
import {
  assistantMessage,
  contextFrom,
  memorySessionStore,
  type QuarantinePlace,
  quarantine,
  type SessionEntry,
  toolResult,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";
import { contextAt, hazardousSession } from "../arbitraries/hazards.js";
import { image } from "../attachments/samples.js";

const maker = { provider: "p", model: "m" };
const call = { type: "toolCall", id: "c", name: "t", arguments: {} } as const;

describe("quarantine", () => {
  test("takes a block out of a message, and says what kind of thing was there, and nothing that a boundary might keep", () => {
    const context = contextFrom([userMessage("look", image(1), "so?")]);
    expect(quarantine(context, [{ entryId: "m0", block: 1 }])).toEqual([
      {
        type: "context_edit",
        targetId: "m0",
        replacement: {
          content: [
            { type: "text", text: "look" },
            { type: "text", text: "[image] (left out: the provider refused it)" },
            { type: "text", text: "so?" },
          ],
        },
      },
    ]);
  });

  test("names the kind of block that has no name, and takes a reason of the caller's", () => {
    const inline = { ...userMessage(""), content: [{ type: "image", data: "", mimeType: "" } as const] };
    const context = contextFrom([
      inline,
      assistantMessage(maker, { type: "thinking", thinking: "secret" }, call),
    ]);
    const places = [
      { entryId: "m0", block: 0 },
      { entryId: "m1", block: 0 },
      { entryId: "m1", block: 1 },
    ];
    expect(quarantine(context, places, "too odd")).toMatchObject([
      { replacement: { content: [{ type: "text", text: "[image] (left out: too odd)" }] } },
      {
        replacement: {
          content: [{ text: "[thinking] (left out: too odd)" }, { text: "[toolCall] (left out: too odd)" }],
        },
      },
    ]);
  });

  test("takes the whole message where it has no blocks, or no block is named", () => {
    const context = contextFrom([
      userMessage("text"),
      { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 },
      toolResult(call, "r"),
    ]);
    const places = [
      { entryId: "m0", block: 0 },
      { entryId: "m1" },
      { entryId: "m2" },
      { entryId: "m2", block: 0 },
    ];
    expect(quarantine(context, places)).toEqual(
      ["m0", "m1", "m2"].map((targetId) => ({ type: "context_edit", targetId, replacement: null })),
    );
  });

  test("gives an entry one edit, and knows only what the context holds", () => {
    const context = contextFrom([userMessage("a", "b"), userMessage("c", "d")]);
    const places = [
      { entryId: "m1", block: 1 },
      { entryId: "gone", block: 0 },
      { entryId: "m1", block: 0 },
      { entryId: "__proto__" },
    ];
    const drafts = quarantine(context, places);
    expect(drafts).toHaveLength(1);
    expect(JSON.stringify(drafts)).not.toMatch(/"text":"[cd]"/);
    expect(quarantine(context, [])).toEqual([]);
  });

  test("takes out a compaction once, though it is two items of a context", () => {
    const [summary] = contextFrom([
      { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 },
    ]).items;
    const [system] = contextFrom([{ role: "system", content: "be brief", timestamp: 0 }]).items;
    const items = [system, summary].flatMap((item) =>
      item === undefined ? [] : [{ ...item, entryId: "c" }],
    );
    expect(quarantine({ items }, [{ entryId: "c" }])).toEqual([
      { type: "context_edit", targetId: "c", replacement: null },
    ]);
  });

  test("is appended to a session, which keeps what was there", async () => {
    const session = await memorySessionStore().create({ cwd: "/" });
    const { id } = await session.appendMessage(userMessage("bad", "good"));
    await session.append(quarantine(await session.context(), [{ entryId: id, block: 0 }]));
    const { items } = await session.context();
    expect(items).toMatchObject([{ edited: true }]);
    expect(JSON.stringify(items)).not.toContain('"bad"');
    expect(JSON.stringify(await session.entry(id))).toContain('"bad"');
  });

  test("takes out what it is told to, of any session, and nothing else", () => {
    const sessions = hazardousSession(20, [{ ...maker, api: "a" }]);
    fc.assert(
      fc.property(
        sessions,
        fc.array(fc.tuple(fc.nat(), fc.option(fc.nat({ max: 4 }))), { maxLength: 3 }),
        (session, picks) => {
          const before = contextAt(session);
          fc.pre(before.items.length > 0);
          const places = picks.map(([at, block]): QuarantinePlace => {
            const entryId = before.items[at % before.items.length]?.entryId ?? "";
            return block === null ? { entryId } : { entryId, block };
          });
          const drafts = quarantine(before, places);
          const parentId = session.entries.at(-1)?.id ?? null;
          const edits = drafts.map((draft, at) => ({
            ...draft,
            id: `f${at}`,
            parentId: at === 0 ? parentId : `f${at - 1}`,
            timestamp: "2026-01-01T00:00:00.000Z",
          })) as SessionEntry[];
          const after = contextAt({ ...session, entries: [...session.entries, ...edits] });
          const edited = new Set(
            drafts.map((draft) => (draft.type === "context_edit" ? draft.targetId : "")),
          );
          expect(edited).toEqual(new Set(places.map(({ entryId }) => entryId)));
          for (const { entryId, block } of places) {
            const item = after.items.find((one) => one.entryId === entryId);
            if (item === undefined) continue;
            // What is left was edited by its blocks, and of the place nothing is.
            if (block === undefined || !("content" in item.message)) return expect.fail("it is still there");
            const left = [...item.message.content][block];
            if (left !== undefined)
              expect(left).toMatchObject({ type: "text", text: expect.stringContaining("(left out:") });
          }
          // Results go with their calls; all else stays as it was.
          const others = ({ items }: typeof before) =>
            items.filter(({ entryId, message }) => !edited.has(entryId) && message.role !== "toolResult");
          expect(others(after)).toEqual(others(before));
        },
      ),
      { numRuns: 70 },
    );
  });
});
