import fc from "fast-check";
import {
  assistantMessage,
  type ContextMessage,
  contextFrom,
  type LinkResource,
  memorySessionStore,
  type Resource,
  toolResult,
  userMessage,
} from "sessile";
import { findResource, grantResources, listResources, resourcesIn } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { resourceBlocks } from "../../src/attachments/resources.js";
import { message as anyMessage, resource as anyResource, message } from "../arbitraries/messages.js";
import { image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");

describe("resourceBlocks", () => {
  // @covers R26
  test("finds what stands in a message, and where", () => {
    expect(resourceBlocks(userMessage("a", image(1), "b", image(2)))).toEqual([
      { resource: image(1), block: 1 },
      { resource: image(2), block: 3 },
    ]);
    expect(resourceBlocks(userMessage("a"))).toEqual([]);
    expect(resourceBlocks({ role: "branchSummary", summary: "s", fromId: "x", timestamp: 0 })).toEqual([]);
  });

  test("finds no more and no less than the blocks say, in any message", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const content: unknown = "content" in message ? message.content : undefined;
        const blocks: readonly { readonly type: string; readonly resource?: Resource }[] = Array.isArray(
          content,
        )
          ? content
          : [];
        const expected = blocks.flatMap((block, at) =>
          block.type === "text" && block.resource !== undefined
            ? [{ resource: block.resource, block: at }]
            : [],
        );
        expect(resourceBlocks(message)).toEqual(expected);
      }),
    );
  });
});

describe("resourcesIn", () => {
  test("gives each once, in the order of their first appearance, tool results too", () => {
    const messages = [
      userMessage(image(2), image(1)),
      reply,
      toolResult({ id: "c", name: "shot" }, image(3), image(2)),
    ];
    const ids = (resources: readonly Resource[]) =>
      resources.map(({ resourceId }) => Number(resourceId.slice(4)));
    expect(ids(resourcesIn(messages))).toEqual([2, 1, 3]);
    expect(ids(resourcesIn(contextFrom(messages)))).toEqual([2, 1, 3]);
  });

  test("knows of the path what a compaction took out of the context", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const attached = await session.appendMessage(userMessage("see", image(1)));
    const id = "c0mpac71";
    await session.append([{ type: "compaction", id, summary: "s", firstKeptEntryId: id, tokensBefore: 1 }]);
    expect(resourcesIn(await session.context())).toEqual([]);
    expect(resourcesIn(await session.context(attached.id))).toEqual([image(1)]);
  });
});

describe("listResources", () => {
  // @covers R21
  test("says that a description is not the thing, and how to see it", () => {
    const line = "\n[image shot-1.png, image/png, 100 B, res_0000000000000001]";
    const heading = "Attached resources. These lines describe them and are not what is in them";
    expect(listResources([image(1)])).toBe(`${heading}.${line}`);
    expect(listResources([image(1)], { viewTool: true })).toBe(
      `${heading}; view one by its id to see it.${line}`,
    );
  });

  test("invites to view nothing that cannot be shown", () => {
    const link = {
      resourceId: "res_00000000000000a1",
      kind: "link",
      source: "link",
      uri: "https://a.example/",
    };
    const unknown = image(2, { kind: "file", mediaType: "application/octet-stream" });
    const unviewable = [link as LinkResource, unknown];
    expect(listResources(unviewable, { viewTool: true })).toBe(listResources(unviewable));
    const mixed = [...unviewable, image(1)];
    for (const maxCharacters of [undefined, 0]) {
      const options = { viewTool: true, ...(maxCharacters === undefined ? {} : { maxCharacters }) };
      const [heading, ...lines] = listResources(mixed, options).split("\n");
      expect(heading).toContain("view one by its id");
      expect(lines.map((line) => line.endsWith(" (cannot be viewed)"))).toEqual([true, true, false]);
    }
  });

  test("shortens the oldest to their ids", () => {
    const [, first, second] = listResources([image(1), image(2)], { maxCharacters: 170 }).split("\n");
    expect(first).toBe("[res_0000000000000001]");
    expect(second).toContain("shot-2.png");
  });

  test("never loses an id, however little room there is, and keeps to the room if that can be", () => {
    fc.assert(
      fc.property(
        fc.array(anyResource, { maxLength: 30 }),
        fc.nat({ max: 1500 }),
        (resources, maxCharacters) => {
          const list = listResources(resources, { maxCharacters });
          for (const { resourceId } of resources) expect(list).toContain(resourceId);
          const least = listResources(resources, { maxCharacters: 0 });
          expect(list.length).toBeLessThanOrEqual(Math.max(maxCharacters, least.length));
          expect(least.length).toBeLessThanOrEqual(105 + 23 * resources.length);
        },
      ),
    );
  });

  test("takes only bounds that make sense", () => {
    expect(() => listResources([image(1)], { maxCharacters: -1 })).toThrow(RangeError);
  });
});

describe("grantResources", () => {
  const messages: readonly ContextMessage[] = [
    userMessage("see", image(1), image(2)),
    assistantMessage({ provider: "p", model: "m" }, "ok", {
      type: "toolCall",
      id: "c",
      name: "t",
      arguments: {},
    }),
    toolResult({ id: "c", name: "t" }, image(3)),
    { role: "user", content: [{ type: "image", data: "Zg==", mimeType: "image/png" }], timestamp: 0 },
  ];

  // @covers R20 security:subagents
  test("passes on nothing unless it is granted, not even a name", () => {
    const given = grantResources(messages);
    expect(resourcesIn(given)).toEqual([]);
    expect(JSON.stringify(given)).not.toMatch(/res_0|shot-|sha256|Zg==/);
    expect(given[0]).toMatchObject({ content: [{ type: "text", text: "see" }, {}, {}] });
    expect(given[1]).toEqual(messages[1]);
  });

  test("passes on what is granted by its id", () => {
    expect(resourcesIn(grantResources(messages, [image(2).resourceId]))).toEqual([image(2)]);
  });

  test("passes on no details, which may have anything in them, of a text alone either", () => {
    const details = { resource: image(3) };
    const result = { ...toolResult({ id: "c", name: "t" }, "ok"), details };
    const custom = { role: "custom", customType: "x", display: true, details, timestamp: 0 } as const;
    const given = grantResources([result, { ...custom, content: "ok" }, { ...custom, content: [] }]);
    expect(JSON.stringify(given)).not.toMatch(/res_0|shot-|sha256|details/);
    expect(given).toMatchObject([
      { role: "toolResult", toolCallId: "c" },
      { content: "ok" },
      { content: [] },
    ]);
  });

  test("never passes on another, in any messages, and leaves all else", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), fc.nat({ max: 3 }), (any, count) => {
        const granted = resourcesIn(any).slice(0, count);
        const ids = granted.map(({ resourceId }) => resourceId);
        const given = grantResources(any, ids);
        expect(resourcesIn(given)).toEqual(granted);
        const blocks = (list: readonly ContextMessage[]) =>
          list.map((one) => ("content" in one ? one.content.length : 0));
        expect(blocks(given)).toEqual(blocks(any));
        expect(grantResources(given, ids)).toEqual(given);
      }),
    );
  });
});

describe("findResource", () => {
  test("finds a resource of the path by its id, and none of another branch or of an edited entry", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const first = await session.appendMessage(userMessage("one", image(1)));
    await session.appendMessage(userMessage("two", image(2)));
    const find = (number: number) => findResource(session, image(number).resourceId);
    expect(await Promise.all([find(1), find(2), find(3)])).toEqual([image(1), image(2), undefined]);
    await session.branch(first.id);
    expect(await Promise.all([find(1), find(2)])).toEqual([image(1), undefined]);
    await session.append([{ type: "context_edit", targetId: first.id, replacement: null }]);
    expect(await find(1)).toBe(undefined);
  });
});
