import { assistantMessage, memorySessionStore, toolResult, userMessage } from "sessile";
import { expect, test } from "vitest";

const call = { type: "toolCall", id: "c", name: "look", arguments: {} } as const;

// @covers R152
test("the latest update of a message or a part on the path is what contexts and tool states show", async () => {
  const session = await memorySessionStore().create({ cwd: "/p" });
  const told: string[] = [];
  session.on("entry", ({ entry }) => told.push(entry.type));
  const question = await session.appendMessage(userMessage("draft"));
  const reply = await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, "thinking"));
  const before = session.leafId;
  const message = userMessage("final");
  await session.append([
    { type: "message_update", targetId: question.id, message: userMessage("second") },
    { type: "message_update", targetId: question.id, message },
    { type: "part_update", targetId: reply.id, index: 1, part: call },
    { type: "part_update", targetId: reply.id, index: 0, part: { type: "text", text: "Let me look." } },
    { type: "part_update", targetId: reply.id, index: 7, part: { type: "text", text: "out of place" } },
    { type: "message_update", targetId: reply.id, message: userMessage("another role") },
  ]);
  expect(told.slice(2)).toEqual([
    ...["message_update", "message_update"],
    ...["part_update", "part_update", "part_update", "message_update"],
  ]);
  const { items, model, usageSince } = await session.context();
  expect(items[0]?.message).toEqual(message);
  expect(items[1]?.message).toMatchObject({ content: [{ type: "text", text: "Let me look." }, call] });
  expect([items.length, model?.modelId, usageSince]).toEqual([2, "m", 2]);
  expect((await session.toolStates())[0]).toMatchObject({ state: "pending", entryId: reply.id });
  const result = await session.appendMessage(toolResult(call, "running"));
  await session.append([
    { type: "message_update", targetId: result.id, message: { ...toolResult(call, "done"), isError: true } },
  ]);
  expect((await session.toolStates())[0]?.state).toBe("error");
  // The log has both, and the other branch has neither.
  expect(await session.entry(question.id)).toEqual(question);
  expect((await session.context(before)).items[0]?.message).toEqual(question.message);
});

test("an edit of a context stays in force over an update", async () => {
  const session = await memorySessionStore().create({ cwd: "/p" });
  const question = await session.appendMessage(userMessage("one"));
  await session.append([
    { type: "context_edit", targetId: question.id, replacement: { content: "[cleared]" } },
  ]);
  await session.append([{ type: "message_update", targetId: question.id, message: userMessage("two") }]);
  expect((await session.context()).items[0]?.message).toMatchObject({ content: "[cleared]" });
});

test("a target that is not there is refused", async () => {
  const session = await memorySessionStore().create({ cwd: "/p" });
  const part = { type: "text", text: "x" } as const;
  await expect(
    session.append([{ type: "part_update", targetId: "none", index: 0, part }]),
  ).rejects.toMatchObject({
    code: "ENTRY_NOT_FOUND",
  });
});

test("images in updates are kept out of the log as those of messages are", async () => {
  const data = "a".repeat(2000);
  const image = { type: "image", data, mimeType: "image/png" } as const;
  const session = await memorySessionStore().create({ cwd: "/p" });
  const { id: targetId } = await session.appendMessage(userMessage("one"));
  const message = { ...userMessage("two"), content: [image] };
  const refused = { code: "INLINE_BYTES" };
  await expect(session.append([{ type: "message_update", targetId, message }])).rejects.toMatchObject(
    refused,
  );
  await expect(
    session.append([{ type: "part_update", targetId, index: 0, part: image }]),
  ).rejects.toMatchObject(refused);
});
