/** Stored lines: limits, unknown fields, torn tails. */

import type { UserMessage } from "../../content/index.js";
import { encodeUtf8 } from "../../core/bytes.js";
import { equal, rejects } from "../expect.js";
import { conformanceCase, say, textsInContext } from "./harness.js";

const mebibyte = 1024 * 1024;

const oddTexts: readonly string[] = [
  "",
  "line feed \n, carriage return \r, both \r\n",
  "a bare \r alone",
  "\u2028 and \u2029",
  "NUL \u0000, escape \u001b, delete \u007f",
  "a \\u0000 that was written out",
  '"quotes" and \\backslashes\\',
  "ü, ß, 日本語, ا",
  "👩‍👩‍👧‍👦 and 𝒳",
  "\ufeff a byte order mark",
  "\ud83d a high surrogate alone",
  "\ude00 a low surrogate alone",
  "\ude00\ud83d the wrong way round",
  '{"type":"session","id":"inside"}\n{"type":"message"}',
  ',"crc":"00000000"}',
  "\uffff\u0001",
];

export const lineCases = [
  conformanceCase("text with any character comes back as it was", async (harness) => {
    const session = await harness.create();
    const entries = await session.append(oddTexts.map((text) => say(text)));
    const back = await harness.readBack(session.id);
    for (const [index, text] of oddTexts.entries()) {
      const entry = back.entries[index];
      const message = entry?.type === "message" ? (entry.message as UserMessage) : undefined;
      equal(message?.content, text, `text ${index}`);
    }
    equal(back.entries, entries, "entries read back");
    equal(back.codes, [], "diagnostics");
  }),

  conformanceCase("numbers and keys of custom data come back as they were", async (harness) => {
    const session = await harness.create();
    const data = {
      numbers: [0, -1, 1.5, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, 0.1 + 0.2],
      "": { "a key\n": null, constructor: "c", toString: [] },
    };
    const entries = await session.append([{ type: "custom", customType: "acme.data", data }]);
    await harness.reads(session.id, entries, "with custom data");
  }),

  conformanceCase("a text of one mebibyte comes back as it was", async (harness) => {
    const session = await harness.create();
    const text = "0123456789abcdeü".repeat(mebibyte / 16);
    const entries = await session.append([say("small"), say(text), say("behind")]);
    await harness.reads(session.id, entries, "with a large line in the middle");
    const reader = await harness.open(session.id, "read");
    equal((await textsInContext(reader))[1] === text, true, "the text in context is the same");
  }),

  conformanceCase("raw gives the line as it is stored", async (harness) => {
    const session = await harness.start();
    const [entry] = await session.append([say("raw \u2028")]);
    const id = entry?.id as string;
    const line = new TextDecoder().decode(await session.raw(id));
    equal(line.includes("\n"), false, "the line has a line feed");
    const { crc: _, ...value } = JSON.parse(line) as Record<string, unknown>;
    equal(value, entry, "the line as JSON");
    const reader = await harness.open(session.id, "read");
    equal(await reader.raw(id), encodeUtf8(line), "the line as another handle reads it");
    equal(await reader.raw("nowhere"), undefined, "the line of no entry");
  }),

  conformanceCase("a line of maxLineBytes is stored, and one byte more is refused", async (harness) => {
    const maxBytes = harness.fixture.maxLineBytes ?? 64 * mebibyte;
    const session = await harness.start();
    const root = session.leafId;
    const [probe] = await session.append([say("", "size0000")]);
    const overhead = (await session.raw(probe?.id as string))?.length ?? 0;
    const [largest] = await session.append([say("x".repeat(maxBytes - overhead), "size0001")]);
    equal((await session.raw("size0001"))?.length, maxBytes, "bytes of the largest line");
    const details = await rejects(
      () => session.append([say("before"), say("x".repeat(maxBytes - overhead + 1), "size0002")]),
      "LINE_TOO_LONG",
      "append of one byte more",
    );
    equal(details, { bytes: maxBytes + 1, maxBytes }, "details");
    const back = await harness.readBack(session.id);
    equal(back.ids, [root, probe?.id, largest?.id], "entries read back");
    equal(back.codes, [], "diagnostics");
    const [next] = await session.append([say("next")]);
    equal(next?.parentId, largest?.id, "parent of the next entry");
  }),

  conformanceCase("a torn end is no entry, and reading leaves it as it is", async (harness) => {
    const { fixture } = harness;
    if (fixture.tear === undefined) return { skipped: "this storage cannot tear" };
    const session = await harness.create();
    const entries = await session.append([say("one"), say("two")]);
    await session.close();
    await fixture.tear(session.id);
    for (const time of ["first", "second"]) {
      const back = await harness.readBack(session.id);
      equal(back.entries, entries, `entries read back the ${time} time`);
      equal(back.codes, ["TORN_TAIL"], `diagnostics the ${time} time`);
    }
    return undefined;
  }),

  conformanceCase(
    "a session with a torn end opens for writing, and loses nothing acknowledged",
    async (harness) => {
      const { fixture } = harness;
      if (fixture.tear === undefined) return { skipped: "this storage cannot tear" };
      const session = await harness.create();
      const entries = [...(await session.append([say("one"), say("two")]))];
      await session.close();
      for (const text of ["three", "four"]) {
        await fixture.tear(session.id);
        const writer = await harness.open(session.id);
        // A backend may keep the torn line, or cut it if no other process can be writing it.
        equal(
          writer.diagnostics.map(({ code }) => code).filter((code) => code !== "TORN_LINE"),
          [],
          `diagnostics before ${text}`,
        );
        equal(writer.leafId, entries.at(-1)?.id, `leaf before ${text}`);
        entries.push(...(await writer.append([say(text)])));
        await writer.close();
        await harness.reads(session.id, entries, `after ${text}`, ["TORN_LINE"]);
      }
      return undefined;
    },
  ),

  conformanceCase("a handle that is open when the end is torn goes on writing", async (harness) => {
    const { fixture } = harness;
    if (fixture.tear === undefined) return { skipped: "this storage cannot tear" };
    const session = await harness.create();
    const entries = [...(await session.append([say("one")]))];
    const reader = await harness.open(session.id, "read");
    await fixture.tear(session.id);
    equal(await reader.refresh(), [], "what a reader finds new");
    entries.push(...(await session.append([say("two")])));
    await harness.reads(session.id, entries, "after the append", ["TORN_LINE"]);
    equal(
      (await reader.refresh()).map(({ id }) => id),
      [entries[1]?.id],
      "what a reader finds new after the append",
    );
    return undefined;
  }),
];
