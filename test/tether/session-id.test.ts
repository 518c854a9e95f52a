import { createHash } from "node:crypto";
import fc from "fast-check";
import { memorySessionStore } from "sessile/session";
import { tetherSessionId } from "sessile/tether";
import { describe, expect, it } from "vitest";
import { isName } from "../../src/internal/names.js";
import { text } from "../arbitraries/values.js";

const name = text.filter((one) => one !== "");
const conversation = fc.record({ channel: name, id: name });

describe("tetherSessionId", () => {
  it("is the same for the same conversation, and another for every other", () => {
    const names = fc.tuple(conversation, fc.option(name, { nil: undefined }));
    fc.assert(
      fc.property(names, names, ([session, instance], [other, otherInstance]) => {
        const same = JSON.stringify([session, instance]) === JSON.stringify([other, otherInstance]);
        expect(tetherSessionId({ ...session }, instance)).toBe(tetherSessionId(session, instance));
        expect(tetherSessionId(session, instance) === tetherSessionId(other, otherInstance)).toBe(same);
      }),
    );
  });

  it("never meets for names that are parted elsewhere", () => {
    const ids = [
      tetherSessionId({ channel: "a_b", id: "c" }),
      tetherSessionId({ channel: "a", id: "b_c" }),
      tetherSessionId({ channel: "a", id: "b" }, "c"),
      tetherSessionId({ channel: "b", id: "c" }, "a"),
      tetherSessionId({ channel: "b", id: "c" }),
      tetherSessionId({ channel: 'a","b', id: "c" }),
      tetherSessionId({ channel: "a", id: 'b","c' }),
      tetherSessionId({ channel: "b", id: "c" }, "null"),
      tetherSessionId({ channel: "\ud83d", id: "a" }),
      tetherSessionId({ channel: "\ud83e", id: "a" }),
      tetherSessionId({ channel: "\ufffd", id: "a" }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is the digest that others can compute", () => {
    const digest = createHash("sha256").update('["agent-1","telegram","42"]').digest("hex").slice(0, 32);
    expect(tetherSessionId({ channel: "telegram", id: "42" }, "agent-1")).toBe(`tether-${digest}`);
    const without = createHash("sha256").update('[null,"telegram","42"]').digest("hex").slice(0, 32);
    expect(tetherSessionId({ channel: "telegram", id: "42" })).toBe(`tether-${without}`);
  });

  it.each(["../../etc/passwd", "/", "..", "C:\\x", "nul", "a\u0000b", "x".repeat(200), "ümläut", "\ud83d"])(
    "is a name for a session, though the conversation is %j",
    async (id) => {
      const made = tetherSessionId({ channel: id, id }, id);
      expect(made).toMatch(/^tether-[0-9a-f]{32}$/);
      expect(isName(made)).toBe(true);
      const session = await memorySessionStore().create({ id: made, cwd: "/" });
      expect(session.id).toBe(made);
    },
  );

  it.each([
    [undefined, undefined, /^session: /],
    [{ channel: "", id: "a" }, undefined, /^session\.channel: /],
    [{ channel: "a" }, undefined, /^session\.id: /],
    [{ channel: "a", id: "b" }, "", /^instance: expected a non-empty string/],
    [{ channel: "a", id: "b" }, null, /^instance: /],
  ])("wants names: %j and %j", (session, instance, message) => {
    expect(() => tetherSessionId(session as never, instance as never)).toThrow(TypeError);
    expect(() => tetherSessionId(session as never, instance as never)).toThrow(message);
  });
});
