import { userMessage } from "sessile/content";
import { memorySessionStore, type Session, type SessionEntry } from "sessile/session";
import { describe, expect, it } from "vitest";
import { needsInfoRewrite } from "../../src/session/runtime/session-info.js";
import { LogReader } from "../../src/session/tree/log-reader.js";
import { sessionOf } from "../arbitraries/entries.js";

/** A reader of these entries: texts are messages of that many characters, objects the fields of a session_info. */
function readerOf(...parts: readonly (number | object)[]): LogReader {
  const entries = parts.map((part, index) => {
    const place = { id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}`, timestamp: "" };
    const fields =
      typeof part === "number"
        ? { type: "message", message: userMessage("x".repeat(part)) }
        : { type: "session_info", ...part };
    return { ...place, ...fields } as SessionEntry;
  });
  const reader = new LogReader({ maxDepth: 256, full: false });
  let at = 0;
  for (const line of sessionOf(entries).lines) {
    reader.line(new TextEncoder().encode(line), at);
    at += line.length + 1;
  }
  return reader;
}

describe("isInfoFar", () => {
  it.each([
    ["nothing", [], false],
    ["no session_info", [50_000], false],
    ["one at the end", [50_000, { name: "a" }], false],
    ["one before little", [50_000, { name: "a" }, 20_000], false],
    ["one before much", [{ name: "a" }, 20_000, 20_000], true],
    ["one before one long line", [{ name: "a" }, 40_000], true],
    [
      "an empty one before much, since a list would find an older name",
      [{ name: "a" }, 50_000, {}, 50_000],
      true,
    ],
    ["another one near the end", [{ name: "a" }, 50_000, { name: "b" }, 10], false],
  ])("%s: %j is %j", (_, parts, far) => {
    expect(needsInfoRewrite(readerOf(...parts))).toBe(far);
  });
});

describe("close", () => {
  const typesOf = (session: Session) => [...session.tree.walk()].map(({ node }) => node.type);

  it("writes a session_info again that came to lie far from the end", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name", slug: "slug" });
    const { id } = await session.appendMessage(userMessage("x".repeat(50_000)));
    await session.close();
    const again = await sessions.open(session.id, { mode: "write" });
    expect(typesOf(again)).toEqual(["session_info", "message", "session_info"]);
    expect(again.info).toMatchObject({ name: "name", slug: "slug" });
    expect(again.tree.path(again.leafId).map((node) => node.id)).toContain(id);
    expect(again.diagnostics).toEqual([]);
    await again.close();
    expect((await sessions.open(session.id)).tree.size).toBe(3);
  });

  it("keeps the tip where it was moved to", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    const { id } = await session.appendMessage(userMessage("first"));
    await session.appendMessage(userMessage("x".repeat(50_000)));
    session.branch(id);
    await session.close();
    const { items } = await (await sessions.open(session.id)).context();
    expect(items.map(({ entryId }) => entryId)).toEqual([id]);
  });

  it("leaves a log as it is that this handle did not write to", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    await session.appendMessage(userMessage("x".repeat(50_000)));
    const other = await sessions.open(session.id, { mode: "write" });
    await other.context();
    await other.close();
    expect((await sessions.open(session.id)).tree.size).toBe(2);
  });

  it("does not write what is only staged", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.updateInfo({ name: "name" });
    await session.appendMessage(userMessage("x".repeat(50_000)));
    session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await session.close();
    expect((await sessions.open(session.id)).tree.size).toBe(2);
  });
});
