import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { buildSessionContext, encodeEntry, type ParsedSession, parseSession } from "sessile";
import { openSessionFile } from "sessile/node";
import { describe, expect, test } from "vitest";
import { cuts, damage, damaged, piecesOf } from "../arbitraries/bytes.js";
import { conversation } from "../arbitraries/conversations.js";
import { type AnyEntry, entryTree, header, plainHeader, sessionOf } from "../arbitraries/entries.js";
import { text } from "../arbitraries/values.js";
import { fixture } from "../support/fixtures.js";
import { rounds } from "../support/rounds.js";
import { temporaryDirectory } from "./node/temporary-directory.js";
import { naiveTree, naiveWalk } from "./tree/naive-tree.js";

const encoder = new TextEncoder();

/** Everything that a parse gives, as plain data. */
function contents(session: ParsedSession): unknown {
  const { header, entries, leafId, info, diagnostics, tree } = session;
  return { header, entries, leafId, info, diagnostics, walk: [...tree.walk()], labels: [...tree.labels()] };
}

/** The leaf that the last entry names, unless what it names is not there. */
function leafOf(entries: readonly AnyEntry[]): string | null {
  const last = entries.at(-1);
  if (last === undefined) return null;
  if (last.type !== "leaf") return last.id;
  const isThere = last.targetId === null || entries.some(({ id }) => id === last.targetId);
  return isThere ? last.targetId : last.id;
}

/** The fields of the last session_info. */
function infoOf(entries: readonly AnyEntry[]): unknown {
  const last = entries.filter((entry) => entry.type === "session_info").at(-1);
  if (last === undefined) return {};
  const { type: _type, id: _id, parentId: _parentId, timestamp: _timestamp, ...fields } = last;
  return fields;
}

/** Where each line begins. */
function lineStarts(bytes: Uint8Array): readonly number[] {
  const starts = [0];
  for (const [at, byte] of bytes.entries()) if (byte === 10) starts.push(at + 1);
  return starts;
}

/** Parses, and checks what every diagnostic must be. */
function checked(bytes: Uint8Array): ParsedSession {
  const session = parseSession(bytes);
  const starts = lineStarts(bytes);
  for (const { code, line, offset, message, entryId } of session.diagnostics) {
    expect(message).not.toBe("");
    if (line === 0) expect(["EMPTY", "NO_HEADER"]).toContain(code);
    expect(offset).toBe(line === 0 ? 0 : starts[line - 1]);
    if (entryId !== undefined) expect(session.tree.has(entryId)).toBe(true);
  }
  for (const entry of session.entries) expect(session.entry(entry.id)).toBe(entry);
  expect([...session.tree.walk()]).toHaveLength(session.tree.size);
  if (session.leafId !== null) expect(session.tree.path(session.leafId).at(-1)?.id).toBe(session.leafId);
  return session;
}

const file = entryTree().map((entries) => encoder.encode(sessionOf(entries).text));
/** A small file without the long strings, for what is done at each of its bytes. */
const smallFile = entryTree({ minLength: 1, maxLength: 4 }).filter(
  (entries) => sessionOf(entries).text.length < 2000,
);

describe("a session file", () => {
  // @covers R109 R110 R111 R112 R113 R114 R115 R116 R117
  test("is read as it was written: entries, order, tree, leaf, info and labels", () => {
    fc.assert(
      fc.property(header, entryTree(), fc.boolean(), (header, entries, checksum) => {
        const { text, lines } = sessionOf(entries, { header, checksum });
        const session = parseSession(text);
        expect(session.header).toEqual(header);
        expect(session.entries).toEqual(entries);
        expect(session.diagnostics).toEqual([]);
        expect(session.leafId).toBe(leafOf(entries));
        expect(Array.from(session.tree.walk(), ({ node, depth }) => [node.id, depth])).toEqual(
          naiveWalk(naiveTree(entries)),
        );
        expect(session.entries.map((entry) => encodeEntry(entry, { checksum }))).toEqual(lines.slice(1));
        expect(session.info).toEqual(infoOf(entries));
      }),
      { numRuns: rounds(50, 200) },
    );
  });

  test("is read without an exception, whatever its bytes are", () => {
    const telling = fc.constantFrom(...'{}[]",:\\\n\r 0-eutypeidsession', "\0", "\ufeff");
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: telling, maxLength: 200 }).map((text) => encoder.encode(text)),
      fc.array(text).map((lines) => encoder.encode(lines.join("\n"))),
    );
    fc.assert(
      fc.property(anything, (bytes) => void checked(bytes)),
      { numRuns: rounds(125, 500) },
    );
  });

  test("is read without an exception, whatever became of it, and says in which line", () => {
    fc.assert(
      fc.property(file, damage, (bytes, changes) => void checked(damaged(bytes, changes))),
      { numRuns: rounds(125, 500) },
    );
  });

  // @covers durability:changed-bytes
  test("keeps every line that was not touched", () => {
    const change = fc.record({ entries: entryTree({ minLength: 2, maxLength: 6 }), at: fc.nat(), damage });
    fc.assert(
      fc.property(change, ({ entries, at, damage }) => {
        const { lines } = sessionOf(entries);
        const hit = 1 + (at % entries.length);
        const bad = damaged(encoder.encode(lines[hit]), damage);
        fc.pre(!bad.includes(10));
        const bytes = Buffer.concat(
          lines.map((line, index) =>
            Buffer.concat([index === hit ? bad : encoder.encode(line), Buffer.from("\n")]),
          ),
        );
        const session = checked(bytes);
        // The damage may have made one id of two.
        fc.pre(session.diagnostics.every(({ code }) => code !== "DUPLICATE_ID"));
        const others = entries.filter((_, index) => index !== hit - 1);
        const found = new Map(session.entries.map((entry) => [entry.id, entry]));
        const lost = others.filter(({ id }) => !found.has(id));
        expect(lost).toEqual([]);
      }),
      { numRuns: rounds(75, 300) },
    );
  });

  // @covers durability:cut-file
  test("cut at any byte is the lines before the cut", () => {
    fc.assert(
      fc.property(smallFile, (entries) => {
        const bytes = encoder.encode(sessionOf(entries).text);
        const ends = lineStarts(bytes).slice(1);
        for (let cut = 0; cut <= bytes.length; cut++) {
          const { header, entries: left, diagnostics } = parseSession(bytes.subarray(0, cut));
          // A last line needs no line feed.
          const whole = ends.filter((end) => end - 1 <= cut).length;
          const isTorn = !ends.includes(cut) && !ends.includes(cut + 1) && cut > 0;
          expect(left).toEqual(entries.slice(0, Math.max(0, whole - 1)));
          expect(header).toEqual(whole === 0 ? undefined : plainHeader);
          expect(diagnostics.map(({ code }) => code)).toEqual([
            ...(isTorn ? ["TORN_TAIL"] : []),
            ...(cut === 0 ? ["EMPTY"] : whole === 0 ? ["NO_HEADER"] : []),
          ]);
        }
      }),
      { numRuns: rounds(5, 20) },
    );
  });

  test("is the same in any chunks", () => {
    fc.assert(
      fc.property(file, fc.option(damage), cuts, (bytes, changes, parts) => {
        const source = changes === null ? bytes : damaged(bytes, changes);
        expect(contents(parseSession(piecesOf(source, parts)))).toEqual(contents(parseSession(source)));
      }),
      { numRuns: rounds(50, 200) },
    );
  });

  test("is the same as text and as bytes, in any chunks of either", async () => {
    const source = fc
      .record({ entries: entryTree(), noise: text, at: fc.double({ min: 0, max: 1, noNaN: true }) })
      .map(({ entries, noise, at }) => {
        const { text } = sessionOf(entries);
        const place = Math.floor(at * text.length);
        return (text.slice(0, place) + noise + text.slice(place)).toWellFormed();
      });
    await fc.assert(
      fc.asyncProperty(source, cuts, async (text, parts) => {
        const expected = contents(parseSession(encoder.encode(text)));
        expect(contents(parseSession(text))).toEqual(expected);
        expect(contents(parseSession(piecesOf(text, parts)))).toEqual(expected);
        async function* stream() {
          yield* piecesOf(text, parts);
        }
        expect(contents(await parseSession(stream()))).toEqual(expected);
      }),
      { numRuns: rounds(50, 200) },
    );
  });

  test("has the same entries in any order of its keys", () => {
    const known = entryTree().map((entries) => entries.filter((entry) => entry.type !== "unknown"));
    fc.assert(
      fc.property(known, fc.nat(), (entries, seed) => {
        const lines = entries.map((entry) => JSON.stringify(shuffled(entry, seed)));
        const {
          entries: parsed,
          leafId,
          tree,
        } = parseSession([JSON.stringify(plainHeader), ...lines, ""].join("\n"));
        const canonical = parseSession(sessionOf(entries).text);
        expect(parsed).toEqual(entries);
        expect(leafId).toBe(canonical.leafId);
        expect([...tree.walk()]).toEqual([...canonical.tree.walk()]);
      }),
    );
  });
});

describe("an open session", () => {
  test("has what a parse of its file has", async () => {
    const path = join(temporaryDirectory(), "t_session.jsonl");
    const source = fc.oneof(
      entryTree().map((entries) => sessionOf(entries).text),
      conversation(24).map(({ entries }) => sessionOf(entries).text),
    );
    await fc.assert(
      fc.asyncProperty(source, fc.option(damage), async (text, changes) => {
        const bytes = changes === null ? encoder.encode(text) : damaged(encoder.encode(text), changes);
        const parsed = parseSession(bytes);
        fc.pre(parsed.header !== undefined);
        writeFileSync(path, bytes);
        const session = await openSessionFile(path);
        expect([...(await session.tree()).walk()]).toEqual([...parsed.tree.walk()]);
        expect([...(await session.tree()).labels()]).toEqual([...parsed.tree.labels()]);
        expect(session.leafId).toBe(parsed.leafId);
        expect(await session.context()).toEqual(buildSessionContext(parsed));
        for (const { node } of parsed.tree.walk()) {
          expect(await session.entry(node.id)).toEqual(parsed.entry(node.id));
        }
        expect(await session.diagnose()).toEqual(parsed.diagnostics);
        await session.close();
      }),
      { numRuns: rounds(38, 150) },
    );
  });
});

/** The value with the keys of all its objects in an order that the seed chooses. */
function shuffled(value: unknown, seed: number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, seed));
  if (typeof value !== "object" || value === null) return value;
  const rank = (key: string) =>
    Array.from(key).reduce(
      (sum, character) => Math.imul(sum + (character.codePointAt(0) ?? 0), 0x9e3779b1),
      seed,
    );
  const pairs = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(pairs.map(([key, member]) => [key, shuffled(member, seed)]));
}

const real = fixture("pi/large-session.v1.jsonl");

describe(`a real file${real.absent === undefined ? "" : ` (${real.absent})`}`, () => {
  test.skipIf(real.absent !== undefined)("is read without an exception, whatever became of it", () => {
    const bytes = real.read();
    fc.assert(
      fc.property(damage, (changes) => {
        const { header, entries } = parseSession(damaged(bytes, changes));
        const isCut = changes.some(({ kind }) => kind === "end");
        // Without its header nothing says that the lines are of version 1, which have no ids.
        if (header !== undefined && !isCut) expect(entries.length).toBeGreaterThan(1000);
      }),
      { numRuns: rounds(8, 30) },
    );
  });
});
