import fc from "fast-check";
import { memoryBlobStore, parseSession } from "sessile";
import { expect, it } from "vitest";
import { inertJson } from "../../src/viewer/html.js";
import { viewerEvents, viewerHtml } from "../../src/viewer/internal.js";
import type { PageData, PageEntry, PageUpdate } from "../../src/viewer/page-data.js";
import { entryTree, header } from "../arbitraries/entries.js";
import { png } from "../attachments/samples.js";
import { Entries } from "./session.js";

const template = "<head connect-src 'none'><body><!--session-data--><script>run()</script>";

/** The data of a page, read as a browser does: a script element ends at the first `</script`. */
function readBack(html: string) {
  const elements = [...html.matchAll(/<script type="([^"]*)" ([^>]*)>(.*?)<\/script/gs)];
  const ofClass = (name: string) =>
    elements.filter(([, , attributes = ""]) => attributes.includes(`"${name}"`));
  return {
    data: JSON.parse(ofClass("session-data")[0]?.[3] ?? "null") as PageData,
    entries: ofClass("entry-data").flatMap(([, , , json = "[]"]) => JSON.parse(json) as PageEntry[]),
    images: ofClass("image-data").map(([, , attributes = "", base64 = ""]) => ({ attributes, base64 })),
  };
}

const hostile = fc.constantFrom(
  "</script>",
  "<!--",
  "<script>",
  "]]>",
  "\u2028",
  "\u2029",
  "$&",
  "<\\/ScRiPt ",
  "&quot;",
);

it("holds any session, and gives back its very entries", async () => {
  await fc.assert(
    fc.asyncProperty(
      entryTree({ maxLength: 12 }),
      header,
      fc.array(hostile),
      async (entries, head, texts) => {
        const note = {
          type: "custom",
          customType: texts.join(""),
          data: { [texts.join("-")]: texts },
          id: `note${texts.join("")}`,
          parentId: null,
          timestamp: "2026-01-05T09:00:00.000Z",
        } as const;
        const all = [...entries, note];
        const { parts } = await viewerHtml({ header: head, entries: all, leafId: note.id }, { template });
        const html = parts.join("");
        const page = readBack(html);
        const expected: PageEntry[] = JSON.parse(JSON.stringify(all));
        expect(withoutImages(page.entries)).toEqual(withoutImages(expected));
        const [session] = page.data.sessions;
        expect(session?.header).toEqual(JSON.parse(JSON.stringify(head)));
        expect(session?.leafId).toBe(note.id);
        // The application's own script is the only one of its kind.
        expect(html.match(/<script>/g)).toHaveLength(1);
      },
    ),
    { numRuns: 60 },
  );
});

/** Entries with all inline images the same, since a page keeps them apart. */
function withoutImages(entries: readonly PageEntry[]): unknown {
  return JSON.parse(JSON.stringify(entries), (_key, value: unknown) =>
    typeof value === "object" && value !== null && "type" in value && value.type === "image"
      ? { type: "image" }
      : value,
  );
}

it("writes JSON in which no markup and no line separator occurs", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(hostile, fc.string({ unit: "binary" }))), (texts) => {
      const json = inertJson(texts);
      expect(json).not.toMatch(/[<\u2028\u2029]/);
      expect(JSON.parse(json)).toEqual(texts);
    }),
  );
});

it("separates inline images, and leaves out the largest of those over the budget", async () => {
  const [small, large] = [png(2, 2), png(40, 40)];
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  const entries = new Entries();
  const image = (bytes: Uint8Array) =>
    ({ type: "image", mimeType: "image/png", data: base64(bytes) }) as const;
  entries.message({ role: "user", content: [image(large), image(small)], timestamp: 1 }, 'a"<b>');
  const { parts, leftOut } = await viewerHtml(entries.source, { template, maxImageBytes: large.length + 2 });
  const page = readBack(parts.join(""));
  expect(leftOut.map(({ key, reason, size }) => ({ key, reason, size }))).toEqual([
    { key: 'session-1/a"<b>/0', reason: "budget", size: expect.closeTo(large.length, -1) },
  ]);
  expect(page.data.leftOut).toEqual(leftOut);
  expect(page.images).toEqual([
    {
      attributes: `class="image-data" data-key="session-1/a&#34;&#60;b&#62;/1" data-type="image/png"`,
      base64: base64(small),
    },
  ]);
  expect(JSON.stringify(page.entries)).not.toContain(base64(small));
  const all = await viewerHtml(entries.source, { template });
  expect(readBack(all.parts.join("")).images).toHaveLength(2);
});

it("separates inline images wherever an entry has blocks, and says if a session is a part", async () => {
  const data = Buffer.from(png(2, 2)).toString("base64");
  const image = { type: "image", mimeType: "image/png", data } as const;
  const message = { role: "user", content: [image], timestamp: 1 } as const;
  const entry = (id: string, fields: object) =>
    ({ id, parentId: null, timestamp: "2026-01-05T09:00:00.000Z", ...fields }) as unknown as PageEntry;
  const all = [
    entry("a", { type: "message", message }),
    entry("b", { type: "message_update", targetId: "a", message }),
    entry("c", { type: "custom_message", customType: "x", content: [image], display: true }),
    entry("d", { type: "context_edit", targetId: "a", replacement: { content: [image] } }),
    entry("e", { type: "context_edit", targetId: "a", replacement: null }),
    entry("f", { type: "part_update", targetId: "a", part: image }),
  ];
  const read = async (more: object) => {
    const source = { ...new Entries().source, entries: all, leafId: "f", ...more };
    return readBack((await viewerHtml(source, { template })).parts.join(""));
  };
  const page = await read({ isPart: true });
  expect(JSON.stringify(page.entries)).not.toContain(data);
  expect(page.images.map(({ attributes }) => /data-key="([^"]*)"/.exec(attributes)?.[1])).toEqual(
    ["a", "b", "c", "d", "f"].map((id) => `session-1/${id}/0`),
  );
  expect(page.entries.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(page.data.sessions[0]?.isPart).toBe(true);
  for (const more of [{}, { isPart: false }])
    expect("isPart" in ((await read(more)).data.sessions[0] ?? {})).toBe(false);
});

it("takes stored images from the blob store, and names those that it does not have", async () => {
  const blobs = memoryBlobStore();
  const bytes = png(3, 3);
  const { ref } = await blobs.put(bytes);
  const contentSha256 = ref.slice("sha256:".length);
  const resource = (blob: typeof ref, name: string) =>
    ({
      resourceId: "res_0123456789abcdef",
      kind: "image",
      source: "upload",
      mediaType: "image/png",
      ...{ size: bytes.length, blob, contentSha256, name },
    }) as const;
  const gone = `sha256:${"0".repeat(64)}` as const;
  const entries = new Entries();
  const content = [resource(ref, "here.png"), resource(gone, "gone.png"), resource(ref, "again.png")].map(
    (one) => ({ type: "text", text: "[image]", resource: one }) as const,
  );
  entries.message({ role: "user", content, timestamp: 1 });
  const { parts, leftOut } = await viewerHtml(entries.source, { template, blobs });
  expect(readBack(parts.join("")).images.map(({ base64 }) => base64)).toEqual([
    Buffer.from(bytes).toString("base64"),
  ]);
  expect(leftOut).toEqual([expect.objectContaining({ key: gone, name: "gone.png", reason: "missing" })]);
});

it("gives no type to an image element but those of images", async () => {
  const entries = new Entries();
  const data = Buffer.from("<b>").toString("base64");
  for (const mimeType of ["text/html", 'image/png"><script>', "IMAGE/SVG+XML"]) {
    entries.message({ role: "user", content: [{ type: "image", mimeType, data }], timestamp: 1 });
  }
  const { parts } = await viewerHtml(entries.source, { template });
  expect(readBack(parts.join("")).images.map(({ attributes }) => attributes)).toEqual([
    expect.stringContaining('data-type="image/svg+xml"'),
  ]);
});

it("allows a connection only to its own origin, and only if the session is live", async () => {
  const entries = new Entries();
  const page = async (live?: string) =>
    (await viewerHtml(entries.source, { template, ...(live !== undefined && { live }) })).parts.join("");
  expect(await page()).toContain("connect-src 'none'");
  expect(await page("/events")).toContain("connect-src 'self'");
});

async function eventsOf(...change: Parameters<typeof viewerEvents>): Promise<readonly string[]> {
  const events: string[] = [];
  for await (const event of viewerEvents(...change)) events.push(event);
  return events;
}
const updateOf = (event = ""): PageUpdate => JSON.parse(event.split("data: ")[1] ?? "");

it("makes an event of new entries", async () => {
  const entries = new Entries();
  entries.user("line\n</script>\u2028");
  entries.reply("more");
  const changed = [{ key: "session-1", source: entries.source, from: 1 }];
  const [event, ...more] = await eventsOf(changed, { version: 7 });
  expect(more).toEqual([]);
  expect(event).toMatch(/^event: change\nid: 7\ndata: [^\n]*\n\n$/);
  const session = { ...entries.page, from: 1, at: 1, entries: entries.all.slice(1), total: 2 };
  expect(updateOf(event)).toEqual({ sessions: [session], images: [], leftOut: [] });
  const shorter = [{ key: "session-1", source: entries.source, from: 2 }];
  const [cut] = await eventsOf(shorter, { version: 8 });
  expect(updateOf(cut).sessions).toMatchObject([{ from: 2, at: 2, entries: [], total: 2 }]);
});

it("makes several events of a large change, the newest entries first, within one budget of images", async () => {
  const entries = new Entries();
  const data = Buffer.from(png(2, 2)).toString("base64");
  const image = { type: "image", mimeType: "image/png", data } as const;
  for (let at = 0; at < 30; at++) {
    const text = `question ${at} ${"x".repeat(100_000)}`;
    entries.message({ role: "user", content: [{ type: "text", text }, image], timestamp: 1 });
  }
  const child = new Entries("child", "session-1");
  child.user("beside it");
  const changed = [
    { key: "session-1", source: entries.source, from: 2 },
    { key: "child", source: child.source, from: 0 },
  ];
  const maxImageBytes = 10 * Math.floor((data.length * 3) / 4);
  const events = await eventsOf(changed, { version: 7, maxImageBytes });
  expect(events.map((event) => /^id: \d+$/m.test(event))).toEqual([false, false, true]);
  for (const event of events) expect(event.length).toBeLessThan(1_200_000);
  const updates = events.map(updateOf);
  expect(updates.flatMap(({ images }) => images)).toHaveLength(10);
  expect(updates.flatMap(({ leftOut }) => leftOut)).toHaveLength(18);
  const blocks = updates.flatMap(({ sessions }) => sessions);
  expect(blocks.map(({ key, at, entries }) => [key, at, at + entries.length])).toEqual([
    ["session-1", 20, 30],
    ["session-1", 10, 20],
    ["session-1", 2, 10],
    ["child", 0, 1],
  ]);
});

it("holds the sessions of subagents, each with a key of its own and its own images", async () => {
  const [main, child, other] = [new Entries("main"), new Entries("child", "main"), new Entries("child")];
  const data = Buffer.from(png(2, 2)).toString("base64");
  for (const entries of [main, child, other]) {
    const image = { type: "image", mimeType: "image/png", data } as const;
    entries.message({ role: "user", content: [image], timestamp: 1 }, "same");
    entries.user("twice", "same");
  }
  const source = { ...main.source, children: [{ ...child.source, children: [other.source] }] };
  const { parts } = await viewerHtml(source, { template });
  const html = parts.join("");
  const page = readBack(html);
  expect(page.data.sessions.map(({ key, header }) => [key, header?.id])).toEqual([
    ["main", "main"],
    ["child", "child"],
    ["child (2)", "child"],
  ]);
  expect(page.entries.map(({ id }) => id)).toEqual(["same", "same", "same"]);
  expect([...html.matchAll(/data-session="(\d)"/g)].map(([, at]) => at)).toEqual(["0", "1", "2"]);
  expect(page.images.map(({ attributes }) => /data-key="([^"]*)"/.exec(attributes)?.[1])).toEqual([
    "main/same/0",
    "child/same/0",
    "child (2)/same/0",
  ]);
});

it("lists the problems of a damaged session", async () => {
  const session = parseSession(
    `{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/"}\n{broken\n`,
  );
  const { parts } = await viewerHtml(session, { template });
  const diagnostics = readBack(parts.join("")).data.sessions[0]?.diagnostics;
  expect(diagnostics?.total).toBe(1);
  expect(diagnostics?.listed).toEqual([expect.objectContaining({ code: "INVALID_JSON", line: 2 })]);
});

it("refuses a template without a place for data", async () => {
  await expect(viewerHtml(new Entries().source, { template: "<html>" })).rejects.toThrow(TypeError);
  await expect(viewerHtml(new Entries().source, { template, maxImageBytes: -1 })).rejects.toThrow(RangeError);
});
