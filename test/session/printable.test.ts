import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memorySessionStore, parseSession } from "sessile";
import { SessileError } from "sessile/errors";
import { diagnoseSession, fileSessionStore, openSessionFile, readEntriesBackwards } from "sessile/node";
import { describe, expect, test } from "vitest";
import { sessionOf } from "../arbitraries/entries.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const evil = "\u001b[2J\r\n\u0085\u009b\u007f\u200e\u200f\u2028\u2029\u202e\u2066\u2069";
/** By code and not by the class of the implementation. */
const isControl = (code: number) =>
  code < 0x20 ||
  (code >= 0x7f && code <= 0x9f) ||
  [0x61c, 0x200e, 0x200f].includes(code) ||
  (code >= 0x2028 && code <= 0x202e) ||
  (code >= 0x2066 && code <= 0x2069);
const isClean = (text: string) =>
  text.isWellFormed() && !Array.from(text).some((c) => isControl(c.codePointAt(0) ?? 0));

async function messageOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

describe("printable", () => {
  test("leaves no control character, and all else as it is", () => {
    const part = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...evil, "\ud800", "\udfff", "🧷", "é", "\\"),
    );
    fc.assert(
      fc.property(
        fc.array(part).map((parts) => parts.join("")),
        (text) => {
          const shown = SessileError.printable(text);
          expect(isClean(shown)).toBe(true);
          if (isClean(text)) expect(shown).toBe(text);
          expect(SessileError.printable(shown)).toBe(shown);
        },
      ),
    );
    expect(SessileError.printable("a\u001b[2J\n\t\r\u202e🧷\ud83e")).toBe(
      "a\\u001b[2J\\n\\t\\r\\u202e🧷\\ud83e",
    );
  });
});

describe("control characters are escaped", () => {
  // @covers security:printable
  test("in messages of errors, whose details have the text as it is", async () => {
    const id = `no${evil}one`;
    const error = new SessileError("SESSION_NOT_FOUND", `there is no session ${id}`, { details: { id } });
    expect([isClean(error.message), isClean(error.toJSON().message), error.details.id]).toEqual([
      true,
      true,
      id,
    ]);
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const path = join(dir, `x${evil}.jsonl`);
    for (const act of [
      () => store.open(id),
      () => store.fork({ id, location: path }),
      () => store.create({ cwd: "/p", id }),
      () => store.create({ cwd: "/p", partition: id }),
      () => memorySessionStore().open(id),
      () => openSessionFile(path),
      async () => {
        for await (const _ of store.list({ after: evil }));
      },
      () => diagnoseSession(path, { maxFindings: id as never }),
    ]) {
      expect(isClean(await messageOf(act))).toBe(true);
    }
    writeFileSync(path, "x\n");
    expect(isClean(await messageOf(() => openSessionFile(path)))).toBe(true);
  });

  // @covers security:printable
  test("in messages of diagnostics, of every reader", async () => {
    const id = JSON.stringify(`a${evil}`);
    const entry = (type: string) =>
      `{"type":"${type}","id":${id},"parentId":null,"timestamp":"","customType":"c","message":{"role":"user","content":1}}`;
    const garbage = `{"${evil.replace(/[\r\n]/g, "")}`.padEnd(100, `\u202e${evil.slice(0, 1)}`);
    const lines = [
      sessionOf([]).lines[0],
      garbage,
      `{"a":\u001b[2J}`,
      entry("custom"),
      entry("custom"),
      entry("message"),
    ];
    const text = lines.map((line) => `${line}\n`).join("");
    const path = join(temporaryDirectory(), "x.jsonl");
    writeFileSync(path, text);
    const session = await openSessionFile(path);
    const found = [
      parseSession(text).diagnostics,
      session.diagnostics,
      await session.diagnose(),
      (await diagnoseSession(path)).findings,
    ];
    await session.close();
    for await (const page of readPages(path)) found.push(page);
    for (const diagnostics of found) {
      expect(diagnostics.length).toBeGreaterThan(1);
      for (const { message } of diagnostics) expect([message, isClean(message)]).toEqual([message, true]);
    }
    expect(parseSession(text).diagnostics.find(({ code }) => code === "DUPLICATE_ID")?.entryId).toBe(
      `a${evil}`,
    );
  });
});

async function* readPages(path: string) {
  yield (await readEntriesBackwards(path)).diagnostics as never;
}

test("a project's directory with half of a pair is refused by name", async () => {
  const store = memorySessionStore();
  await expect(store.create({ cwd: "/a\ud800b" })).rejects.toThrow(
    /^cwd: expected text without lone surrogates/,
  );
  await expect(store.create({ cwd: "/a\ud800b" })).rejects.toBeInstanceOf(TypeError);
  const session = await store.create({ cwd: "/a🧷b", id: "a" });
  await session.append([{ type: "custom", customType: "c" }]);
  await expect(store.fork("a", { cwd: "\udc00" })).rejects.toBeInstanceOf(TypeError);
});
