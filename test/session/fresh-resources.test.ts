import fc from "fast-check";
import { expect, test } from "vitest";
import {
  assistantMessage,
  type StoredResource,
  toolResult,
  type UserMessage,
  userMessage,
} from "../../src/content/index.js";
import type { SessionEntry } from "../../src/session/api/entries.js";
import type { Session } from "../../src/session/api/types.js";
import { FreshResources } from "../../src/session/store/fork.js";
import { memorySessionStore } from "../../src/session/store/memory-backend.js";
import { sessionEntry } from "../arbitraries/entries.js";

const old = "res_0123456789abcdef";
const sha = "a".repeat(64);
const image: StoredResource = {
  resourceId: old,
  kind: "image",
  source: "upload",
  name: "a.png",
  mediaType: "image/png",
  size: 70,
  blob: `sha256:${sha}`,
  contentSha256: sha,
};

async function entriesOf(session: Session): Promise<SessionEntry[]> {
  const ids = Array.from(session.tree.walk(), ({ node }) => node.id);
  return Promise.all(ids.map((id) => session.entry(id) as Promise<SessionEntry>));
}

// @covers R23
test("a fork with fresh resources has new ids everywhere, and the same contents", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/p", id: "source" });
  const call = { type: "toolCall", id: "c", name: "view", arguments: { resourceId: old } } as const;
  const foreign = "res_ffffffffffffffff";
  await source.appendMessage(userMessage(`see ${foreign}`, image));
  await source.appendMessage(
    assistantMessage(
      { provider: "p", model: "m" },
      { type: "thinking", thinking: `It is ${old}`, thinkingSignature: "signed" },
      call,
    ),
  );
  await source.appendMessage(toolResult(call, `[image a.png, ${old}]`));
  await source.append([
    { type: "resource_view", resourceId: old },
    { type: "resource_observation", resourceId: old, text: "a cat" },
    { type: "custom", customType: "c", data: { [old]: [old, `${old}0`] } },
  ]);
  const [before] = await source.append([
    {
      type: "compaction",
      summary: `- ${old} a.png`,
      firstKeptEntryId: source.tree.path(source.leafId)[0]?.id as string,
      tokensBefore: 1,
    },
  ]);
  const [fork, second, plain] = [
    await store.fork("source", { resources: "fresh" }),
    await store.fork("source", { resources: "fresh" }),
    await store.fork("source"),
  ];
  const context = await fork.context();
  const fresh = context.views[0]?.resourceId as string;
  expect(fresh).toMatch(/^res_[0-9a-f]{16}$/);
  expect([fresh === old, (await second.context()).views[0]?.resourceId === fresh]).toEqual([false, false]);
  const text = JSON.stringify(await entriesOf(fork));
  const wanted = JSON.stringify(await entriesOf(source)).replaceAll(new RegExp(`${old}\\b`, "g"), fresh);
  // What the provider signed is as it was; the name of the fork comes last.
  expect(text).toContain(wanted.slice(1, -1).replace(`It is ${fresh}`, `It is ${old}`));
  expect(text).toContain(foreign);
  const shown = context.items.map(({ message }) => message).filter(({ role }) => role === "user");
  const [user] = shown as readonly UserMessage[];
  expect(user?.content).toContainEqual(
    expect.objectContaining({
      resource: { ...image, resourceId: fresh },
      text: expect.stringContaining(fresh),
    }),
  );
  expect(context.items[0]?.entryId).toBe(before?.id);
  expect(JSON.stringify(await entriesOf(plain))).toContain(
    JSON.stringify(await entriesOf(source)).slice(1, -1),
  );
  await expect(store.fork("source", { resources: "new" as never })).rejects.toThrow(TypeError);
});

test("a rewrite of one's own goes first", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/p", id: "source" });
  await source.appendMessage(userMessage(image));
  const fork = await store.fork("source", {
    resources: "fresh",
    rewrite: (entry) => (entry.type === "message" ? { ...entry, message: userMessage(`was ${old}`) } : entry),
  });
  const { items } = await fork.context();
  expect(items[0]?.message).toMatchObject({
    content: expect.stringMatching(/^was res_(?!0123456789abcdef)/),
  });
});

// @covers R23
test("nothing but the ids changes in any entry, and what has none is the very same", () => {
  fc.assert(
    fc.property(sessionEntry, fc.boolean(), (entry, notes) => {
      const fresh = new FreshResources();
      if (notes) fresh.collect(entry);
      const out = fresh.rewrite(entry);
      const masked = (value: unknown) => JSON.stringify(value).replace(/res_[0-9a-f]{16}/g, "res");
      expect(masked(out)).toBe(masked(entry));
      if (!notes) expect(out).toBe(entry);
    }),
  );
});
