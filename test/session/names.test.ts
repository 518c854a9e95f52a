import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { userMessage } from "../../src/content/index.js";
import { uuidv7 } from "../../src/internal/ids.js";
import { forkTitle, slugOf } from "../../src/session/runtime/session-info.js";
import { memorySessionStore } from "../../src/session/store/memory-backend.js";

describe("forkTitle", () => {
  // @covers R151
  it("numbers a title's forks from 1", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 20 }), (title, count) => {
        fc.pre(!/ \(fork #\d{1,9}\)$/.test(title));
        let forked = title;
        for (let i = 0; i < count; i++) forked = forkTitle(forked);
        expect(forked).toBe(`${title} (fork #${count})`);
      }),
    );
  });

  it.each([
    ["A title", "A title (fork #1)"],
    ["A title (fork #1)", "A title (fork #2)"],
    ["A title (fork #9)", "A title (fork #10)"],
    ["two\nlines (fork #3)", "two\nlines (fork #4)"],
    ["A (fork #2) title", "A (fork #2) title (fork #1)"],
    ["A title(fork #2)", "A title(fork #2) (fork #1)"],
    ["A title (fork #x)", "A title (fork #x) (fork #1)"],
    ["A title (fork #99999999999999999999)", "A title (fork #99999999999999999999) (fork #1)"],
    ["", " (fork #1)"],
    [" (fork #1)", " (fork #2)"],
  ])("makes of %j %j", (title, forked) => {
    expect(forkTitle(title)).toBe(forked);
  });
});

describe("slugOf", () => {
  // @covers R138
  it("is two words and four digits, the same for an id at any time", () => {
    expect(slugOf("01a204df-d78c-767b-ad59-68d7b467f70f")).toBe(
      slugOf("01a204df-d78c-767b-ad59-68d7b467f70f"),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (id) => {
        expect(slugOf(id)).toMatch(/^[a-z]+-[a-z]+-[0-9a-f]{4}$/);
      }),
    );
  });

  it("is another one for nearly every session", () => {
    const slugs = new Set(Array.from({ length: 10_000 }, () => slugOf(uuidv7(1_800_000_000_000))));
    expect(slugs.size).toBeGreaterThan(9_980);
  });

  // @covers R138
  it("is there from the start, in info and lists, until one is given, and of each fork its own", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a" });
    expect(session.info.slug).toBe(slugOf("a"));
    await session.appendMessage(userMessage("x"));
    expect(await store.latest()).toMatchObject({ slug: slugOf("a") });
    await session.updateInfo({ slug: "given" });
    expect([session.info.slug, (await store.latest())?.slug]).toEqual(["given", "given"]);
    expect((await store.fork("a", { id: "b" })).info.slug).not.toBe(slugOf("a"));
    await session.updateInfo({ slug: null });
    expect(session.info.slug).toBe(slugOf("a"));
  });
});
