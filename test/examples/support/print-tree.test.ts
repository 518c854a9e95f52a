import { assistantMessage, toolResult, userMessage } from "sessile/content";
import { memorySessionStore, type Session, toolStarted } from "sessile/session";
import { describe, expect, it } from "vitest";
import { treeLines } from "../../../examples/support/print-tree.js";
import { oneLine } from "../../../examples/support/terminal.js";

/** A session whose entries are called e1, e2 and so on. */
async function openSession(): Promise<Session> {
  let last = 0;
  return memorySessionStore({ newEntryId: () => `e${++last}` }).create({ cwd: "/project" });
}

const say = (session: Session, text: string) => session.appendMessage(userMessage(text));
const model = { provider: "p", model: "m" };
const call = (id: string, path: string) =>
  ({ type: "toolCall", id, name: "read", arguments: { path } }) as const;

describe("treeLines", () => {
  it("keeps a run in its column and indents at branches only", async () => {
    const session = await openSession();
    await say(session, "one");
    await say(session, "two");
    await say(session, "three");
    session.branch("e2");
    await say(session, "four");
    await say(session, "five");
    session.branch("e4");
    await say(session, "six");
    await session.append([{ type: "label", targetId: "e6", label: "good" }]);
    session.branch("e6");
    expect(await treeLines(session, { width: 80 })).toEqual([
      "e1 user: one",
      "e2 user: two",
      "├─ e3 user: three",
      "└─ e4 user: four",
      "   ├─ e5 user: five",
      "   └─ e6 user [good] <- tip: six",
      "      e7 label: e6 [good]",
    ]);
  });

  it("shows roots as branches of nothing", async () => {
    const session = await openSession();
    await say(session, "one");
    session.branch(null);
    await say(session, "two");
    expect(await treeLines(session, { width: 80 })).toEqual(["├─ e1 user: one", "└─ e2 user <- tip: two"]);
  });

  it("shows tool calls with their state, on every branch", async () => {
    const session = await openSession();
    const message = assistantMessage(
      model,
      "So.",
      call("a", "A"),
      call("b", "B"),
      call("c", "C"),
      call("d", "D"),
    );
    await session.appendMessage(message);
    await session.append([toolStarted.draft({ toolCallId: "c" })]);
    await session.append([
      { type: "message", message: toolResult(call("a", ""), "done") },
      { type: "message", message: { ...toolResult(call("b", ""), "bad"), isError: true } },
    ]);
    session.branch("e1");
    await say(session, "another way");
    const line = "e1 assistant: <completed read A> <error read B> <running read C> <pending read D> So.";
    expect((await treeLines(session, { width: 100 }))[0]).toBe(line);
    // Seen from e5 no call was begun. What counts is how far a call came on any branch, wherever the tip is.
    session.branch("e4");
    expect((await treeLines(session, { width: 100 }))[0]).toBe(line);
  });

  it("leaves out the middle of a long session and says how much", async () => {
    const session = await openSession();
    for (let n = 1; n <= 10; n++) await say(session, `${n}`);
    expect(await treeLines(session, { width: 80, maxEntries: 4 })).toEqual([
      "e1 user: 1",
      "e2 user: 2",
      "… 6 left out …",
      "e9 user: 9",
      "e10 user <- tip: 10",
    ]);
    expect(await treeLines(session, { width: 80, maxEntries: 10 })).toHaveLength(10);
  });

  it("clips lines to the width, whatever the depth", async () => {
    const session = await openSession();
    for (let n = 0; n < 60; n++) {
      const { parentId, id } = await say(session, "x".repeat(200));
      session.branch(parentId);
      await say(session, "y".repeat(200));
      session.branch(id);
    }
    const lines = await treeLines(session, { width: 60 });
    expect(lines).toHaveLength(120);
    expect(new Set(lines.map((line) => Array.from(line).length))).toEqual(new Set([60]));
  });

  it("walks a deep session without recursion", async () => {
    const session = await openSession();
    await session.append(Array.from({ length: 20_000 }, () => ({ type: "custom", customType: "t" })));
    expect(await treeLines(session, { width: 80, maxEntries: 2 })).toHaveLength(3);
  });
});

describe("oneLine", () => {
  it("takes out what a terminal would obey, and clips by characters", () => {
    expect(oneLine("a\u001b[31m\r\nb\u202e\u2028c\u0000", 20)).toBe("a [31m b c");
    expect(oneLine("😀".repeat(10), 4)).toBe("😀😀😀…");
    expect(oneLine("abcd", 4)).toBe("abcd");
    expect(oneLine("abcd", 0)).toBe("");
  });
});
