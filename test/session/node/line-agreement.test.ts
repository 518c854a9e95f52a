import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { userMessage } from "sessile/content";
import { SessileError } from "sessile/errors";
import {
  encodeEntry,
  type ParsedSession,
  parseSession,
  type SessionEntry,
  type SessionStore,
  sessionBlobRoots,
  type UnknownEntry,
} from "sessile/session";
import {
  diagnoseSession,
  fileSessionStore,
  readEntriesBackwards,
  salvageSession,
} from "sessile/session/node";
import { describe, expect, test } from "vitest";
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
    const found = [];
    for (const { node } of session.tree.walk()) {
      const entry = await session.entry(node.id);
      if (entry !== undefined) found.push(entry);
    }
    await session.close();
    return found;
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
  test("damages that line for every reader, and is kept byte for byte", async () => {
    const fixture = await Fixture.create();
    const damaged = `${bom}${latin(Buffer.from(encodeEntry(message(1, null, "damaged"))))}`;
    const bytes = fixture.write(`${fixture.header}\n${damaged}\n${encodeEntry(message(2, null, "whole"))}\n`);
    const parsed = parseSession(bytes);
    expect(idsOf(parsed.entries)).toEqual(["00000002"]);
    expect(parsed.diagnostics.map(({ code, line }) => [code, line])).toEqual([["INVALID_JSON", 2]]);
    expect(idsOf(await fixture.opened())).toEqual(["00000002"]);
    expect(idsOf(await fixture.pages())).toEqual(["00000002"]);
    expect((await fixture.listed())?.firstMessage).toBe("whole");
    const { lines, after } = await fixture.forked();
    expect(idsOf(after.entries)).toEqual(["00000002"]);
    expect(lines[0]).toBe(damaged);
    expect((await diagnoseSession(fixture.path)).entries).toEqual({ total: 1, readable: 1 });
    expect((await sessionBlobRoots("a", bytes)).complete).toBe(false);
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
    expect(extracted.tree.path("00000002").map(({ id }) => id)).toEqual(["00000001", "00000002"]);
    await extracted.close();
    await session.close();
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
      { numRuns: 150 },
    );
    expect(damaged).toBeGreaterThan(50);
  });
});
