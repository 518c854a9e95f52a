import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  encodeEntry,
  memorySessionStore,
  type ParsedSession,
  parseSession,
  type SessionEntry,
  type SessionStore,
  sessionBlobRoots,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { diagnoseSession, fileSessionStore, readEntriesBackwards, salvageSession } from "sessile/node";
import { copySessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import { readSlice } from "../../../src/session/internal.js";
import { rounds } from "../../support/rounds.js";
import { temporaryDirectory } from "./temporary-directory.js";

/** Every reader of a session file takes its lines from one decoder: what is an entry to one is an entry to all. */

const bom = "\u00ef\u00bb\u00bf";
const latin = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));

const digest = (number: number) => number.toString(16).padStart(64, "0");
const place = (number: number, parent: number | null) => ({
  id: number.toString(16).padStart(8, "0"),
  parentId: parent === null ? null : parent.toString(16).padStart(8, "0"),
  timestamp: "2026-01-01T00:00:00.000Z",
});
const message = (number: number, parent: number | null, text = `text ${number}`): SessionEntry => ({
  type: "message",
  ...place(number, parent),
  message: { ...userMessage(text), timestamp: 1 },
});
const named = (number: number, parent: number | null): SessionEntry => ({
  type: "custom",
  ...place(number, parent),
  customType: "test.blob",
  data: { blob: `sha256:${digest(number)}` },
});
const info = (number: number, parent: number | null): SessionEntry => ({
  type: "session_info",
  ...place(number, parent),
  name: `name ${number}`,
});

/** A session in a store, whose file is given other bytes. */
class Fixture {
  readonly dir = temporaryDirectory();
  readonly store: SessionStore = fileSessionStore({ dir: this.dir, durability: "os" });
  readonly #aside = temporaryDirectory();
  #path = "";
  header = "";
  id = "";

  static async create(): Promise<Fixture> {
    const fixture = new Fixture();
    const session = await fixture.store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("first"));
    await session.close();
    fixture.id = session.id;
    fixture.#path = session.location as string;
    fixture.header = latin(readFileSync(fixture.#path)).split("\n")[0] ?? "";
    return fixture;
  }

  get path(): string {
    return this.#path;
  }

  write(text: string): Uint8Array {
    const bytes = bytesOf(text);
    writeFileSync(this.#path, bytes);
    return bytes;
  }

  async opened(): Promise<readonly (SessionEntry | UnknownEntry)[]> {
    const session = await this.store.open(this.id, { mode: "read" });
    const ids = Array.from((await session.tree()).walk(), ({ node }) => node.id);
    const found = [];
    for (const id of ids) found.push(await session.entry(id));
    const slices = [];
    for (let at = 0; at < ids.length; ) {
      const { entries, end } = await readSlice(session, ids, at);
      slices.push(...entries);
      at = end;
    }
    await session.close();
    expect(slices).toEqual(found);
    return found.filter((entry) => entry !== undefined);
  }

  async pages(): Promise<readonly (SessionEntry | UnknownEntry)[]> {
    const pages = [];
    for (let before: string | undefined; ; ) {
      const page = await readEntriesBackwards(this.#path, {
        limit: 3,
        ...(before === undefined ? {} : { before }),
      });
      pages.unshift(...page.entries);
      before = page.before;
      if (before === undefined) return pages;
    }
  }

  /** The lines of a fork that changes each message, and what the rewrite was given. */
  async forked(): Promise<{ readonly lines: readonly string[]; readonly after: ParsedSession }> {
    const fork = await this.store.fork(this.id, {
      rewrite: (entry) =>
        entry.type === "message"
          ? { ...entry, message: { ...entry.message, timestamp: 2 } as typeof entry.message }
          : entry,
    });
    await fork.close();
    const bytes = readFileSync(fork.location as string);
    rmSync(fork.location as string);
    return { lines: latin(bytes).split("\n").slice(1), after: parseSession(bytes) };
  }

  async salvaged(): Promise<ParsedSession | undefined> {
    const to = join(this.#aside, "salvaged.jsonl");
    rmSync(to, { force: true });
    try {
      await salvageSession(this.#path, { to });
    } catch (error) {
      if (error instanceof SessileError) return undefined;
      throw error;
    }
    return parseSession(readFileSync(to));
  }

  async listed() {
    for await (const row of this.store.list()) if (row.id === this.id) return row;
    return undefined;
  }
}

/** Those of the fixture alone: a fork adds an entry with an id of its own. */
const idsOf = (entries: readonly (SessionEntry | UnknownEntry)[]) =>
  entries.map(({ id }) => id).filter((id) => id.startsWith("000000"));
const sorted = (ids: readonly string[]) => [...ids].sort();

describe("a byte order mark before the second line", () => {
  test("is skipped by every reader, and is kept byte for byte", async () => {
    const fixture = await Fixture.create();
    const damaged = `${bom}${latin(Buffer.from(encodeEntry(message(1, null, "damaged"))))}`;
    const bytes = fixture.write(`${fixture.header}\n${damaged}\n${encodeEntry(message(2, null, "whole"))}\n`);
    const parsed = parseSession(bytes);
    expect(idsOf(parsed.entries)).toEqual(["00000001", "00000002"]);
    expect(parsed.diagnostics.map(({ code, line }) => [code, line])).toEqual([["BYTE_ORDER_MARK", 2]]);
    expect(idsOf(await fixture.opened())).toEqual(["00000001", "00000002"]);
    expect(idsOf(await fixture.pages())).toEqual(["00000001", "00000002"]);
    expect((await fixture.listed())?.firstMessage).toBe("damaged");
    expect(idsOf((await fixture.forked()).after.entries)).toEqual(["00000001", "00000002"]);
    const copy = await fixture.store.fork(fixture.id);
    await copy.close();
    expect(latin(readFileSync(copy.location as string)).split("\n")[1]).toBe(damaged);
    expect((await diagnoseSession(fixture.path)).entries).toEqual({ total: 2, readable: 2 });
    expect((await sessionBlobRoots("a", bytes)).complete).toBe(true);
  });
});

describe("a byte order mark before a first line that is an entry", () => {
  test("is no part of it for any reader, and in no copy", async () => {
    const fixture = await Fixture.create();
    const first = latin(Buffer.from(encodeEntry(message(1, null, "early"))));
    fixture.write(`${bom}${first}\n${fixture.header}\n${encodeEntry(message(2, 1, "late"))}\n`);
    expect(idsOf(await fixture.opened())).toEqual(["00000001", "00000002"]);
    expect(idsOf(await fixture.pages())).toEqual(["00000001", "00000002"]);
    expect((await fixture.listed())?.firstMessage).toBe("early");
    expect(idsOf((await fixture.forked()).after.entries)).toEqual(["00000001", "00000002"]);
    const copy = await fixture.store.fork(fixture.id);
    await copy.close();
    const copied = parseSession(readFileSync(copy.location as string));
    expect(copied.diagnostics).toEqual([]);
    expect(idsOf(copied.entries)).toEqual(["00000001", "00000002"]);
    const session = await fixture.store.open(fixture.id, { mode: "read" });
    const extracted = await session.extract("00000002");
    expect(extracted.diagnostics).toEqual([]);
    expect((await extracted.tree()).path("00000002").map(({ id }) => id)).toEqual(["00000001", "00000002"]);
    await extracted.close();
    await session.close();
  });
});

describe("a whole line with the id of a damaged one", () => {
  // @covers durability:same-id
  test.each([
    [null, ["00000000"], "second"],
    [0, [], undefined],
  ] as const)("counts for every reader if it has its parent, here %s", async (parent, ids, text) => {
    const fixture = await Fixture.create();
    const damaged = latin(Buffer.from(encodeEntry(message(0, null, "first")))).replace("first", "\xff");
    const bytes = fixture.write(
      `${damaged}\n${fixture.header}\n${encodeEntry(message(0, parent, "second"))}\n`,
    );
    expect(idsOf(parseSession(bytes).entries)).toEqual(ids);
    expect(idsOf(await fixture.opened())).toEqual(ids);
    expect((await fixture.listed())?.firstMessage).toBe(text);
    expect(idsOf((await fixture.forked()).after.entries)).toEqual(ids);
  });
});

type Line =
  | { readonly kind: "entry"; readonly of: "message" | "named" | "info"; readonly back: number }
  | { readonly kind: "raw"; readonly text: string };

const raw = fc.constantFrom(
  "",
  " \t ",
  "null",
  "[]",
  "{",
  '{"type":"message"}',
  `${"[".repeat(300)}${"]".repeat(300)}`,
  '{"type":"custom","id":"0000000a","parentId":null,"timestamp":"","customType":"c","data":{"__proto__":1}}',
  '{"type":"session","version":3,"id":"other","timestamp":"","cwd":""}',
);

const line: fc.Arbitrary<Line> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("entry" as const),
      of: fc.constantFrom("message" as const, "named" as const, "info" as const),
      back: fc.nat({ max: 3 }),
    }),
  },
  { weight: 1, arbitrary: raw.map((text) => ({ kind: "raw", text }) as const) },
);

/** What is done to the bytes of one line, its line feed included. */
const hazards: Readonly<Record<string, (line: string) => string>> = {
  none: (line) => line,
  bom: (line) => `${bom}${line}`,
  partialBom: (line) => `\u00ef${line}`,
  twoBoms: (line) => `${bom}${bom}${line}`,
  inner: (line) => line.replace("text", `te${bom}xt`),
  cr: (line) => line.replace(/\n$/, "\r\n"),
  nul: (line) => line.replace("\n", "\0\0\n"),
  joined: (line) => line.replace(/\n$/, ""),
  notUtf8: (line) => line.replace("text", "te\xffxt"),
  surrogate: (line) => line.replace("text", "\xed\xa0\x80"),
  half: (line) => `${line.slice(0, line.length / 2)}\n`,
  torn: (line) => `${line.slice(0, line.length / 2)}\t\n`,
  changed: (line) => line.replace("text", "TEXT"),
};

const file = fc.record({
  lines: fc.array(
    fc.record({
      line,
      hazard: fc.oneof(
        { weight: 3, arbitrary: fc.constant("none") },
        { weight: 2, arbitrary: fc.constantFrom(...Object.keys(hazards)) },
      ),
      again: fc.integer({ min: 0, max: 8 }),
    }),
    { maxLength: 10 },
  ),
  headerAt: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 2 }) }),
  headerHazard: fc.constantFrom("none", "none", "bom", "cr"),
  endsOpen: fc.boolean(),
  version: fc.oneof(
    { weight: 3, arbitrary: fc.constant(3) },
    { weight: 1, arbitrary: fc.constantFrom(1, 2) },
  ),
});

function printed(
  { lines, headerAt, headerHazard, endsOpen, version }: typeof file extends fc.Arbitrary<infer T> ? T : never,
  header: string,
): string {
  const texts: string[] = [];
  for (const [at, { line, hazard, again }] of lines.entries()) {
    const damage = hazards[hazard] as (line: string) => string;
    // An id that an earlier line has.
    const number = again === 0 && at > 0 ? at - 1 : at;
    const parent = line.kind === "entry" && at - line.back > 0 ? at - line.back - 1 : null;
    const make = { message, named, info };
    const entry = line.kind === "raw" ? undefined : make[line.of](line.of === "info" ? at : number, parent);
    const whole = entry === undefined ? "" : encodeEntry(entry, { checksum: version > 1 });
    // Version 1 has no ids.
    const fields = version > 1 ? whole : whole.replace(/"id":.*?,"parentId":.*?,/, "");
    const text = line.kind === "raw" ? line.text : fields;
    texts.push(damage(`${latin(Buffer.from(text))}\n`));
  }
  const first = (hazards[headerHazard] as (line: string) => string)(
    `${header.replace('"version":3', `"version":${version}`)}\n`,
  );
  // A list reads the names in the end of a file without knowing what precedes the header, which matters to version 1.
  texts.splice(version === 1 ? 0 : Math.min(headerAt, texts.length), 0, first);
  const all = texts.join("");
  return endsOpen ? all.replace(/\n$/, "") : all;
}

describe("open, parse, list, pages, fork, diagnose, salvage and blob roots", () => {
  test("agree on which entries exist, whatever is wrong with the lines", async () => {
    const fixture = await Fixture.create();
    const { header } = fixture;
    let damaged = 0;
    await fc.assert(
      fc.asyncProperty(file, async (shape) => {
        const bytes = fixture.write(printed(shape, header));
        const parsed = parseSession(bytes);
        fc.pre(parsed.header?.id === fixture.id);
        const ids = idsOf(parsed.entries);
        if (parsed.diagnostics.length > 0) damaged++;

        expect(sorted(idsOf(await fixture.opened()))).toEqual(sorted(ids));

        // A page does not know the lines before it: it has each line whose id an earlier one has.
        const seen = new Set<string>();
        const first = (await fixture.pages()).filter(({ id }) => !seen.has(id) && seen.add(id));
        const readable = first.filter(({ id }) => parsed.entry(id) !== undefined);
        expect(idsOf(readable)).toEqual(ids);
        expect(first.every(({ id }) => parsed.tree.has(id))).toBe(true);

        const { after } = await fixture.forked();
        expect(idsOf(after.entries)).toEqual(ids);

        const diagnosis = await diagnoseSession(fixture.path);
        expect(diagnosis.entries.total).toBeGreaterThanOrEqual(parsed.tree.size);
        expect(diagnosis.entries.readable).toBeGreaterThanOrEqual(ids.length);

        // A salvage finds more, whole lines within those that are lost. Version 1 numbers these too, so that the ids
        // after them differ, and the types in their order are compared.
        const salvaged = await fixture.salvaged();
        if (salvaged !== undefined && shape.version === 1) {
          const types = salvaged.entries.map(({ type }) => type);
          for (const { type } of parsed.entries) {
            const at = types.indexOf(type);
            expect(at).toBeGreaterThanOrEqual(0);
            types.splice(0, at + 1);
          }
        } else if (salvaged !== undefined) {
          for (const id of ids) expect(salvaged.entry(id)?.type).toEqual(parsed.entry(id)?.type);
        }

        const { refs } = await sessionBlobRoots("a", bytes);
        for (const entry of parsed.entries)
          if (entry.type === "custom" && entry.customType === "test.blob")
            expect(refs).toContain((entry.data as { blob: string }).blob);

        const row = await fixture.listed();
        const texts = parsed.entries.flatMap((entry) =>
          entry.type === "message" && entry.message.role === "user" ? [entry.message.content] : [],
        );
        if (row?.firstMessage !== undefined) {
          const [block] = texts;
          const text =
            typeof block === "string" ? block : block?.map((part) => ("text" in part ? part.text : ""));
          expect([text].flat()).toContain(row.firstMessage);
        }
        expect(row?.name).toBe(parsed.info.name);
      }),
      { numRuns: rounds(38, 150) },
    );
    expect(damaged).toBeGreaterThan(rounds(38, 150) / 4);
  });
});

/** Damage that leaves the bytes of each entry whole. `torn` is the beginning of a line that is lost. */
type Damage =
  | { readonly kind: "none" | "join" | "lost" | "bom" | "cr" }
  | { readonly kind: "nuls"; readonly count: number; readonly where: "before" | "behind" | "within" }
  | { readonly kind: "torn" | "retried"; readonly share: number };

const harm: fc.Arbitrary<Damage> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: "none" } as const) },
  fc.constantFrom("join" as const, "lost" as const, "bom" as const, "cr" as const).map((kind) => ({ kind })),
  fc.record({
    kind: fc.constant("nuls" as const),
    count: fc.integer({ min: 1, max: 600 }),
    where: fc.constantFrom("before" as const, "behind" as const, "within" as const),
  }),
  fc.record({
    kind: fc.constantFrom("torn" as const, "retried" as const),
    share: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  }),
);

const harmed = fc.record({
  lines: fc.array(
    fc.record({
      of: fc.constantFrom("message" as const, "message" as const, "named" as const, "info" as const),
      back: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 4 }) }),
      harm,
      checksum: fc.boolean(),
    }),
    { minLength: 1, maxLength: 14 },
  ),
  headerJoined: fc.boolean(),
  endsOpen: fc.boolean(),
});

/** The bytes of a damaged file, and the entries whose bytes are whole in it, in order. */
function damagedFile({ lines, headerJoined, endsOpen }: Drawn, header: string) {
  let text = `${header}${headerJoined ? "" : "\n"}`;
  const whole: SessionEntry[] = [];
  for (const [at, { of, back, harm, checksum }] of lines.entries()) {
    const make = { message, named, info };
    const entry = make[of](at, back === 0 || back > at ? null : at - back);
    const line = latin(Buffer.from(encodeEntry(entry, { checksum })));
    const cut = "share" in harm ? line.slice(0, Math.floor(harm.share * line.length)) : "";
    if (harm.kind === "lost") continue;
    // A line that was torn has the next one behind it.
    if (harm.kind === "torn") {
      text += cut;
      continue;
    }
    whole.push(entry);
    const nuls = harm.kind === "nuls" ? "\0".repeat(harm.count) : "";
    const where = harm.kind === "nuls" ? harm.where : undefined;
    if (where === "before") text += nuls;
    if (harm.kind === "bom") text += bom;
    if (harm.kind === "retried") text += cut;
    text += where === "within" ? line.replace('"timestamp"', `"timest${nuls}amp"`) : line;
    if (where === "behind") text += nuls;
    text += harm.kind === "join" ? "" : harm.kind === "cr" ? "\r\n" : "\n";
  }
  // What follows the last line would be a line of its own.
  return { text: endsOpen ? text.replace(/\n$/, "") : text, whole };
}

type Drawn = typeof harmed extends fc.Arbitrary<infer T> ? T : never;

describe("whole lines that were joined, padded or that lost their parent", () => {
  const parentsOf = (tree: ParsedSession["tree"], ids: readonly string[]) =>
    ids.map((id) => [id, tree.node(id)?.parentId]);

  test("are entries to every reader, in one tree, and an append after them is the next", async () => {
    const fixture = await Fixture.create();
    const { header, id } = fixture;
    const memory = memorySessionStore();
    let joined = 0;
    await fc.assert(
      fc.asyncProperty(harmed, async (drawn) => {
        const { text, whole } = damagedFile(drawn, header);
        fc.pre(whole.length > 0);
        const bytes = fixture.write(text);
        const ids = whole.map((entry) => entry.id);
        const parsed = parseSession(bytes);
        const { counts } = parsed.diagnostics;
        if (counts.JOINED_LINE !== undefined) joined++;
        expect(sorted(idsOf(parsed.entries))).toEqual(ids);
        for (const entry of whole) expect(parsed.entry(entry.id)).toEqual(entry);
        // Nothing was done in silence.
        if (text.includes("\0") && ids.length > 0) expect(Object.keys(counts).length).toBeGreaterThan(0);
        const parents = parentsOf(parsed.tree, ids);
        // History is in one piece: roots are entries without a parent, and the first one with its siblings.
        for (const { id, parentId } of whole.slice(1))
          if (parentId !== null && parentId !== whole[0]?.parentId)
            expect(parsed.tree.node(id)?.parentId).not.toBeNull();

        const session = await fixture.store.open(id, { mode: "read" });
        expect(parentsOf(await session.tree(), ids)).toEqual(parents);
        for (const entry of whole) expect(await session.entry(entry.id)).toEqual(entry);
        expect(session.leafId).toBe(parsed.leafId);
        const path = idsOf(await session.path());
        for (const recent of [await session.recent(), await fixture.store.recent(id)])
          expect(idsOf(recent.entries)).toEqual(path);
        if (path.length > 0) {
          const extracted = await session.extract(path.at(-1) as string);
          expect(idsOf(await extracted.path())).toEqual(path);
          rmSync(extracted.location as string);
          await extracted.close();
        }
        expect((await session.diagnose()).counts).toEqual(counts);
        await session.close();

        expect(sorted(idsOf(await fixture.pages()))).toEqual(ids);
        expect((await fixture.forked()).after.entries.map(({ id }) => id)).toEqual(
          expect.arrayContaining(ids),
        );
        const copy = await fixture.store.fork(id);
        const copied = parseSession(readFileSync(copy.location as string));
        expect(parentsOf(copied.tree, ids)).toEqual(parents);
        rmSync(copy.location as string);
        await copy.close();
        const diagnosis = await diagnoseSession(fixture.path);
        expect(diagnosis.entries.readable).toBe(ids.length);
        const salvaged = await fixture.salvaged();
        for (const entry of whole) expect(salvaged?.entry(entry.id)).toEqual(entry);
        expect((await fixture.listed())?.name).toBe(parsed.info.name);
        for (const entry of whole.slice(0, 2)) {
          if (entry.type !== "message") continue;
          const words = `"text ${Number.parseInt(entry.id, 16)}"`;
          const hits: string[] = [];
          for await (const { entryId } of fixture.store.search({ text: words, branch: "all" }))
            hits.push(entryId);
          expect(hits).toContain(entry.id);
        }

        await copySessions(fixture.store, memory, { ids: [id] });
        const other = await memory.open(id, { mode: "read" });
        expect(parentsOf(await other.tree(), ids)).toEqual(parents);
        for (const entry of whole) expect(await other.entry(entry.id)).toEqual(entry);
        await other.close();
        await memory.delete(id);

        const writer = await fixture.store.open(id, { mode: "write" });
        const next = await writer.appendMessage(userMessage("next"));
        await writer.close();
        const after = readFileSync(fixture.path);
        expect(latin(after.subarray(0, bytes.length))).toBe(text);
        const again = parseSession(after);
        expect(parentsOf(again.tree, ids)).toEqual(parents);
        for (const entry of whole) expect(again.entry(entry.id)).toEqual(entry);
        expect(again.leafId).toBe(next.id);
        expect(again.tree.node(next.id)?.parentId ?? null).toBe(parsed.leafId);
      }),
      { numRuns: rounds(25, 100) },
    );
    expect(joined).toBeGreaterThan(rounds(25, 100) / 5);
  });
});
