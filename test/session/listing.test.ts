import fc from "fast-check";
import {
  describeResource,
  memorySessionStore,
  type Resource,
  type SessionEntry,
  type SessionHeader,
  type SessionSummary,
  type StoredSession,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, it, test } from "vitest";
import { slugBySessionId } from "../../src/session/runtime/session-info.js";
import {
  firstText,
  parseCursor,
  printCursor,
  storedSummary,
  summaryTest,
  withCounts,
} from "../../src/session/store/list.js";
import { plainHeader, sessionEntry, sessionOf } from "../arbitraries/entries.js";
import { resource } from "../arbitraries/messages.js";
import { collectGarbage } from "../support/collect-garbage.js";
import { processorMs } from "../support/processor-time.js";

const place = { id: "a", parentId: null, timestamp: "" };
let count = 0;
const said = (content: string | object[]) =>
  ({
    type: "message",
    ...place,
    id: `said${count++}`,
    message: { role: "user", content, timestamp: 0 },
  }) as unknown as SessionEntry;

/** A text block that stands for an attachment. */
const attached = (name: string | undefined): object => {
  const resource: Resource = {
    resourceId: "res_0123456789abcdef",
    kind: "image",
    source: "upload",
    ...(name === undefined ? {} : { name }),
    mediaType: "image/png",
    size: 70,
    blob: `sha256:${"a".repeat(64)}`,
    contentSha256: "a".repeat(64),
  };
  return { type: "text", text: describeResource(resource), resource };
};

/** A listed session of these lines, the first and the last so many of them at its ends. */
function stored(lines: readonly string[], ends = lines.length): StoredSession {
  const bytes = lines.map((line) => new TextEncoder().encode(line));
  return {
    id: "a",
    head: bytes.slice(0, ends),
    tail: bytes.slice(-ends),
    modifiedAt: 1500,
    size: 99,
    location: "/a",
  };
}

const header: SessionHeader = { ...plainHeader, id: "one", cwd: "/work", parentSession: "zero" };
const summary = (entries: readonly SessionEntry[], ends?: number) =>
  storedSummary(stored(sessionOf(entries, { header }).lines, ends));
const info = (fields: object): SessionEntry => ({ type: "session_info", ...place, id: "i", ...fields });

describe("summaryOf", () => {
  // @covers R135
  it("tells what header, first message and last session_info say", () => {
    const entries = [
      info({ name: "old", slug: "slug" }),
      said("  hello  "),
      said("later"),
      info({ name: "new", title: "t" }),
    ];
    expect(summary(entries)).toEqual({
      // That of the header, whatever orders the list.
      id: "one",
      cwd: "/work",
      parentSession: "zero",
      name: "new",
      slug: slugBySessionId("one"),
      title: "t",
      created: header.timestamp,
      modified: "1970-01-01T00:00:01.500Z",
      firstMessage: "hello",
      size: 99,
      location: "/a",
      cursor: "1500_a",
    });
  });

  it("goes by the last session_info of the tail, or one that is joined to the header", () => {
    const middle = Array.from({ length: 20 }, () => said("x"));
    expect(summary([said("first"), info({ name: "begin" }), ...middle, info({ name: "end" })], 4)?.name).toBe(
      "end",
    );
    const joined = [`${JSON.stringify(header)}${JSON.stringify(info({ name: "joined" }))}`];
    expect(storedSummary({ ...stored(joined), tail: [] })?.name).toBe("joined");
    expect(summary([said("first"), info({ name: "begin" }), ...middle, info({})], 4)).not.toHaveProperty(
      "name",
    );
  });

  it("leaves out an empty name, as pi writes one to clear it", () => {
    expect(summary([info({ name: "" })])).not.toHaveProperty("name");
  });

  it("passes over what is no message of a user, and messages without text", () => {
    const assistant = {
      ...said("no"),
      message: {
        role: "assistant",
        content: [{ type: "text", text: "no" }],
        provider: "p",
        model: "m",
        timestamp: 0,
      },
    };
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const entries = [
      assistant as unknown as SessionEntry,
      said(""),
      said(" \n "),
      said([image]),
      said("this one"),
    ];
    expect(summary(entries)?.firstMessage).toBe("this one");
    const again = { ...said("of a duplicate"), id: assistant.id };
    expect(summary([assistant as unknown as SessionEntry, again])).not.toHaveProperty("firstMessage");
    expect(summary([])).not.toHaveProperty("firstMessage");
  });

  it("holds on to nothing of a long first message but what it shows", async () => {
    await collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const all = Array.from({ length: 16 }, (_, at) => summary([said(`${at} ${"x".repeat(1 << 20)}`)]));
    const most = 8 << 20;
    let held = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 20 && held >= most; i++) {
      await collectGarbage();
      held = process.memoryUsage().heapUsed - before;
    }
    expect(held).toBeLessThan(most);
    expect(all.map((each) => each?.firstMessage?.length)).toEqual(all.map(() => 200));
  });

  it("takes no time for a long text that begins like a descriptor", () => {
    const start = processorMs();
    const text = `[image, ${"/".repeat(200_000)}`;
    expect(summary([said(text)])?.firstMessage).toBe(text.slice(0, 200));
    expect(processorMs() - start).toBeLessThan(2000);
  });

  it("is undefined where no line is a header", () => {
    expect(storedSummary(stored([]))).toBeUndefined();
    expect(storedSummary(stored(['{"type":"message"', "null", "{}"]))).toBeUndefined();
  });

  it("reads any lines", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(sessionEntry, fc.string()), { maxLength: 6 }),
        fc.nat({ max: 8 }),
        (items, ends) => {
          const lines = items.map(
            (item) => (typeof item === "string" ? item : sessionOf([item]).lines[1]) as string,
          );
          const listed = storedSummary(stored([JSON.stringify(header), ...lines], ends + 1));
          expect(listed?.id).toBe("one");
        },
      ),
    );
  });
});

describe("firstText", () => {
  it("joins what a person wrote, never a descriptor, and cuts after 200 characters", () => {
    const blocks = [
      { type: "text", text: "look" },
      { type: "image", data: "", mimeType: "" },
      attached("a.png"),
      { type: "text", text: "here" },
    ];
    expect(firstText(said(blocks))).toBe("look here");
    expect(firstText(said("🙂".repeat(300)))).toBe("🙂".repeat(200));
  });

  it("names the attachments of a message that is nothing else", () => {
    expect(firstText(said([attached("holiday.png"), attached("a\n[b].pdf")]))).toBe("holiday.png, a [b].pdf");
    expect(firstText(said([attached(undefined), attached(" ")]))).toBeUndefined();
    expect(firstText(said([attached("🙂".repeat(300))]))).toBe("🙂".repeat(200));
    expect(firstText(said([{ type: "text", text: " " }, attached("a.png")]))).toBe("a.png");
  });

  it("never shows a descriptor that another writer left as plain text", () => {
    const id = "res_0123456789abcdef";
    const image = `[image holiday.png, image/png, 70 B, ${id}]`;
    expect(firstText(said(image))).toBe("holiday.png");
    expect(firstText(said(`${image}\n[file, application/pdf, 1.2 MB, ${id}]`))).toBe("holiday.png");
    expect(firstText(said([{ type: "text", text: image }]))).toBe("holiday.png");
    expect(firstText(said(`Where was ${image} taken?`))).toBe("Where was taken?");
    expect(firstText(said([{ type: "text", text: `${image} Where?` }]))).toBe("Where?");
    expect(firstText(said(`See [link a page, https://a.example/x, ${id}]`))).toBe("See");
    expect(firstText(said("[image, image/png, 14 kB] [image, image/png, 14 kB]"))).toBeUndefined();
    const others = "[image of a cat] [link x] [file a, b] list[0]";
    expect(firstText(said(others))).toBe(others);
  });

  it("never shows the descriptor of any resource, alone or within a text", () => {
    fc.assert(
      fc.property(resource, fc.constantFrom("", "Look: "), (attachment, before) => {
        const shown = firstText(said(`${before}${describeResource(attachment)}`)) ?? "";
        expect(shown).not.toContain("res_");
        if (before !== "") expect(shown).toBe("Look:");
      }),
    );
  });

  it("is undefined for anything but a user's message", () => {
    expect(firstText(undefined)).toBeUndefined();
    expect(firstText(info({ name: "x" }))).toBeUndefined();
    expect(firstText({ type: "unknown", entryType: "later", ...place, raw: "{}" })).toBeUndefined();
  });
});

describe("fits", () => {
  const one = summary([info({ archivedAt: "2026-01-01T00:00:00.000Z" })]) as NonNullable<
    ReturnType<typeof summary>
  >;
  const { archivedAt: _, ...active } = one;

  it.each([
    [{}, true, true],
    [{ cwd: "/work" }, true, true],
    [{ cwd: "/work/" }, true, true],
    [{ cwd: "/workers" }, false, false],
    [{ archived: true }, true, false],
    [{ archived: false }, false, true],
    [{ since: new Date(1500) }, true, true],
    [{ since: new Date(1501) }, false, false],
    [{ until: new Date(1501) }, true, true],
    [{ until: new Date(1500) }, false, false],
    [{ cwd: "/work", archived: true, since: new Date(0), until: new Date(9999) }, true, false],
  ])("%j: archived %j, active %j", async (query, archivedFits, activeFits) => {
    const matches = await summaryTest(query, {});
    expect(matches(one)).toBe(archivedFits);
    expect(matches(active)).toBe(activeFits);
  });
});

describe("a cursor", () => {
  it("is printed and parsed", () => {
    // Times of a file system have parts of milliseconds, and a wrong clock makes them negative.
    const time = fc.oneof(
      fc.nat(),
      fc.double({ min: 1, max: 8.64e15, noNaN: true }),
      fc.integer({ min: -1e9, max: 0 }),
    );
    fc.assert(
      fc.property(time, fc.string({ minLength: 1 }), (modifiedAt, id) => {
        fc.pre(!/[\n\r\u2028\u2029]/.test(id));
        expect(parseCursor(printCursor({ modifiedAt, id }))).toEqual({ modifiedAt: modifiedAt + 0, id });
      }),
    );
  });

  it.each(["", "1500", "_a", "1500_", "x_a", "1500a", "NaN_a"])("is not %j", (cursor) => {
    expect(() => parseCursor(cursor)).toThrow(
      new TypeError(`after: expected a cursor of a list, got ${cursor}`),
    );
  });
});

describe("list", () => {
  const collect = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
    const all: T[] = [];
    for await (const item of source) all.push(item);
    return all;
  };

  // @covers R153
  it("gives pages that end where the query ends", async () => {
    let now = 1000;
    const sessions = memorySessionStore({ now: () => now });
    for (const [id, cwd] of [
      ["a", "/x"],
      ["b", "/y"],
      ["c", "/x"],
      ["d", "/x"],
    ] as const) {
      now += 10;
      const session = await sessions.create({ cwd, id });
      await session.appendMessage(userMessage(id));
    }
    const first = await collect(sessions.list({ cwd: "/x", limit: 2 }));
    expect(first.map(({ id }) => id)).toEqual(["d", "c"]);
    const { cursor = "" } = first.at(-1) ?? {};
    const rest = await collect(sessions.list({ cwd: "/x", limit: 2, after: cursor }));
    expect(rest.map(({ id }) => id)).toEqual(["a"]);
    expect(await collect(sessions.list({ since: new Date(1021), until: new Date(1040) }))).toMatchObject([
      { id: "c" },
    ]);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %j as a limit", async (limit) => {
    await expect(collect(memorySessionStore().list({ limit }))).rejects.toThrow(
      new RangeError(`limit: expected an integer >= 1, got ${limit}`),
    );
  });
});

const listedSummary: SessionSummary = {
  id: "one",
  slug: "s",
  cwd: "/",
  created: "",
  modified: "",
  size: 0,
  cursor: "0_one",
};

test("entries and messages are counted, and the session is closed", async () => {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/", id: "one" });
  await session.append([
    { type: "custom", customType: "c" },
    { type: "message", message: { role: "user", content: "a", timestamp: 0 } },
  ]);
  expect(await withCounts(listedSummary, () => Promise.resolve(session))).toEqual({
    ...listedSummary,
    counts: { entries: 2, messages: 1 },
  });
  await expect(session.append([])).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

// @covers R135
test("a session that was deleted since it was listed is left out, so that the list goes on", async () => {
  const gone = new SessileError("SESSION_NOT_FOUND", "gone", { details: { id: "one" } });
  expect(await withCounts(listedSummary, () => Promise.reject(gone))).toBeUndefined();
  await expect(withCounts(listedSummary, () => Promise.reject(new Error("other")))).rejects.toThrow("other");
});
