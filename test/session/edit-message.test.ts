import {
  assistantMessage,
  describeResource,
  type LinkResource,
  memorySessionStore,
  messageText,
  type Session,
  sessionStore,
  toolResult,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { hookedBackend, hookedMemory, type LogHooks } from "./hooked-backend.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const link = (digit: string): LinkResource => ({
  resourceId: `res_${digit.repeat(16)}`,
  kind: "link",
  source: "link",
  uri: `https://${digit}.example`,
});
const blockOf = (resource: LinkResource) => ({ type: "text", text: describeResource(resource), resource });
const reply = (text: string) => assistantMessage({ provider: "p", model: "m" }, text);

const newSession = (): Promise<Session> => memorySessionStore().create({ cwd: "/w" });

async function texts(session: Session): Promise<string[]> {
  return (await session.context()).items.map(({ message }) => messageText(message));
}

describe("editMessage", () => {
  test("asks again beside the message, and keeps the other branch", async () => {
    const session = await newSession();
    const first = await session.appendMessage(userMessage("a"));
    const answer = await session.appendMessage(reply("b"));
    const second = await session.appendMessage(userMessage("c"));
    const last = await session.appendMessage(reply("d"));
    const edited = await session.editMessage(second.id, "C");
    expect([edited.parentId, session.leafId]).toEqual([answer.id, edited.id]);
    expect(await texts(session)).toEqual(["a", "b", "C"]);
    expect((await session.context(last.id)).items).toHaveLength(4);
    const again = await session.editMessage(first.id, "A");
    expect([again.parentId, await texts(session)]).toEqual([null, ["A"]]);
    // Of a message on a branch that was left.
    await session.editMessage(second.id, "another");
    expect(await texts(session)).toEqual(["a", "b", "another"]);
  });

  test("keeps the attachments in their places, and the other fields", async () => {
    const session = await newSession();
    const [one, two] = [link("1"), link("2")];
    const message = { ...userMessage(one, "a", two, "b"), name: "Anna", timestamp: 5 };
    const { id } = await session.appendMessage(message);
    const edited = await session.editMessage(id, "c");
    expect(edited.message).toMatchObject({
      role: "user",
      name: "Anna",
      content: [blockOf(one), { type: "text", text: "c" }, blockOf(two)],
    });
    expect(edited.message.timestamp).not.toBe(5);
    const alone = await session.editMessage(id, " ");
    expect(alone.message).toMatchObject({ content: [blockOf(one), blockOf(two)] });
  });

  test("puts a text before attachments that had none", async () => {
    const session = await newSession();
    const { id } = await session.appendMessage(userMessage(link("1")));
    const { message } = await session.editMessage(id, "a");
    expect(message).toMatchObject({ content: [{ type: "text", text: "a" }, blockOf(link("1"))] });
  });

  test("takes other attachments, none, and an id", async () => {
    const session = await newSession();
    const { id } = await session.appendMessage(userMessage("a", link("1")));
    const other = await session.editMessage(id, "b", { attachments: [link("2")], id: "chosen00" });
    expect(other).toMatchObject({
      id: "chosen00",
      message: { content: [{ type: "text", text: "b" }, blockOf(link("2"))] },
    });
    const none = await session.editMessage(id, "b", { attachments: [] });
    expect(none.message).toMatchObject({ content: "b" });
    await expect(session.editMessage(id, "b", { id: "chosen00" })).rejects.toMatchObject({
      code: "DUPLICATE_ID",
    });
  });

  test("has the attachments that updates and edits of its branch left", async () => {
    const session = await newSession();
    const { id } = await session.appendMessage(userMessage("a", link("1")));
    const before = session.leafId;
    await session.append([
      {
        type: "message_update",
        targetId: id,
        message: { ...userMessage("a", link("2"), link("3")), name: "Anna" },
      },
    ]);
    const updated = await session.editMessage(id, "b");
    expect(updated.message).toMatchObject({
      name: "Anna",
      content: [{ text: "b" }, blockOf(link("2")), blockOf(link("3"))],
    });
    await session.branch(before);
    await session.append([
      {
        type: "context_edit",
        targetId: id,
        replacement: { content: [{ type: "text", text: "[left out: refused]" }] },
      },
    ]);
    const edited = await session.editMessage(id, "b");
    expect(edited.message).toMatchObject({ content: "b" });
    // The leaf is on a branch without the update and the edit.
    const plain = await session.editMessage(id, "b");
    expect(plain.message).toMatchObject({ content: [{ text: "b" }, blockOf(link("1"))] });
  });

  test("refuses what is no user message, and a message of nothing", async () => {
    const session = await newSession();
    const asked = await session.appendMessage(userMessage("a"));
    const call = { type: "toolCall", id: "c", name: "look", arguments: {} } as const;
    const answer = await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, call));
    const result = await session.appendMessage(toolResult(call, "b"));
    const size = (await session.tree()).size;
    await expect(session.editMessage("none", "b")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
    for (const { id } of [answer, result])
      await expect(session.editMessage(id, "b")).rejects.toMatchObject({
        code: "INVALID_MESSAGE",
        details: { path: "id" },
      });
    for (const text of ["", " \n"])
      await expect(session.editMessage(asked.id, text)).rejects.toMatchObject({
        code: "INVALID_MESSAGE",
        details: { path: "text" },
      });
    expect([session.leafId, (await session.tree()).size]).toEqual([result.id, size]);
    await session.close();
    await expect(session.editMessage(asked.id, "b")).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  test("goes where the message is, whatever another writer appended, and leaves the leaf if it fails", async () => {
    const hooks: LogHooks = {};
    const backend = hookedMemory();
    const session = await sessionStore(hookedBackend(backend, hooks)).create({ cwd: "/w", id: "s" });
    const { id } = await session.appendMessage(userMessage("a"));
    const last = await session.appendMessage(reply("b"));
    const other = await sessionStore(backend).open("s", { mode: "write" });
    await other.appendMessage(userMessage("c"));
    hooks.append = () => Promise.reject(new Error("no"));
    await expect(session.editMessage(id, "A")).rejects.toThrow("no");
    expect(session.leafId).toBe(last.id);
    delete hooks.append;
    const edited = await session.editMessage(id, "A");
    expect([edited.parentId, session.leafId]).toEqual([null, edited.id]);
    await other.refresh();
    expect(await texts(other)).toEqual(["a", "b", "c"]);
  });

  test("keeps its place among the calls of a handle", async () => {
    const session = await newSession();
    const { id } = await session.appendMessage(userMessage("a", link("1")));
    const replacement = { content: [{ type: "text", text: "a" }] } as const;
    const changed = session.append([{ type: "context_edit", targetId: id, replacement }]);
    const edited = session.editMessage(id, "A");
    const answered = session.appendMessage(reply("B"));
    const again = session.editMessage(id, "AA");
    const other = session.appendMessage(reply("BB"));
    await Promise.all([changed, answered, again, other]);
    expect((await edited).message).toMatchObject({ content: "A" });
    expect(await texts(session)).toEqual(["AA", "BB"]);
    const moved = [session.editMessage(id, "AAA"), session.branch((await answered).id)];
    await Promise.all(moved);
    expect(await texts(session)).toEqual(["A", "B"]);
    const closed = [session.editMessage(id, "last"), session.close()];
    await expect(Promise.all(closed)).resolves.toMatchObject([
      { message: { content: [{ text: "last" }, {}] } },
      undefined,
    ]);
  });

  test("sees an edit of the message that is being written", async () => {
    const hooks: LogHooks = {};
    const session = await sessionStore(hookedBackend(hookedMemory(), hooks)).create({ cwd: "/w" });
    const { id } = await session.appendMessage(userMessage("a", link("1")));
    let write = () => {};
    const written = new Promise<void>((resolve) => {
      write = resolve;
    });
    hooks.append = async (_lines, _expected, append) => {
      await written;
      return append();
    };
    const replacement = { content: [{ type: "text", text: "a" }] } as const;
    const changed = session.append([{ type: "context_edit", targetId: id, replacement }]);
    const edited = session.editMessage(id, "A");
    // As long as reading the message would take.
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    write();
    await changed;
    expect((await edited).message).toMatchObject({ content: "A" });
  });

  test("fails the appends that were to follow it, and none after a move", async () => {
    const session = await newSession();
    const { id } = await session.appendMessage(userMessage("a"));
    const last = await session.appendMessage(reply("b"));
    const results = await Promise.allSettled([
      session.editMessage(id, ""),
      session.appendMessage(reply("B")),
      session.branch(id),
      session.appendMessage(reply("bb")),
      session.editMessage(id, "A", { signal: AbortSignal.abort() }),
    ]);
    const code = "INVALID_MESSAGE";
    expect(results).toMatchObject([
      { reason: { code } },
      { reason: { code } },
      { value: undefined },
      { value: { parentId: id } },
      { reason: { name: "AbortError" } },
    ]);
    expect(await texts(session)).toEqual(["a", "bb"]);
    expect((await session.leaves()).map((leaf) => leaf.id)).toContain(last.id);
  });

  test("finds a message before the part that opening reads", async () => {
    const sessions = fileSessionStore({ dir: temporaryDirectory() });
    const session = await sessions.create({ cwd: "/w" });
    const { id } = await session.appendMessage(userMessage("first", link("1")));
    for (let at = 0; at < 40; at++) {
      await session.appendMessage(userMessage(`${at} ${"x".repeat(20_000)}`));
      await session.appendMessage(reply("y"));
    }
    const firstKeptEntryId = session.leafId ?? "";
    await session.append([{ type: "compaction", summary: "so far", firstKeptEntryId, tokensBefore: 1 }]);
    await session.close();
    const again = await sessions.open(session.id, { mode: "write" });
    const edited = await again.editMessage(id, "second");
    expect(edited).toMatchObject({
      parentId: null,
      message: { content: [{ text: "second" }, blockOf(link("1"))] },
    });
    await again.close();
  });
});
