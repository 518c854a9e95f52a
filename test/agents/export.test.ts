import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import {
  eraseEntries,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  messageText,
  parseSession,
  type Session,
  type SessionEntry,
  userMessage,
} from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { type ExportableSession, exportSession, importSession, toAtif } from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { fileSessionStore } from "sessile/node";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, it } from "vitest";
import { conversation } from "../arbitraries/conversations.js";
import { encodeUtf8 } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";
import { lines, plain } from "./plain-format.js";

const records = [
  { kind: "start", id: "s1", cwd: "/w", time: "2026-01-01T00:00:00.000Z" },
  { kind: "say", id: "a", text: "one" },
  { kind: "noise" },
  { kind: "say", id: "b", text: "two" },
  { kind: "say", id: "c", text: "three" },
];
const bytes = encodeUtf8(` ${new TextDecoder().decode(lines(records)).replace('"say"', '  "s\\u0061y"')}`);

/** An import in a store. */
async function adopted(foreign = bytes) {
  const blobs = memoryBlobStore();
  const sessions = memorySessionStore({ blobs });
  const files = [{ path: "a.jsonl", bytes: foreign }];
  const session = await sessions.adopt(await importSession(files, { from: plain, blobs }));
  return { blobs, sessions, session };
}

/** The parts of an open session. */
async function partsOf(session: Session): Promise<ExportableSession> {
  const { header, leafId } = session;
  const tree = await session.tree();
  const entries = await Promise.all([...tree.walk()].map(({ node }) => session.entry(node.id)));
  return { header, leafId, entries: entries.filter((entry) => entry !== undefined) };
}

/** The path at the leaf of a result, as texts. */
async function textsOf(files: Parameters<typeof importSession>[0]) {
  const { entries, leafId } = await importSession(files, { from: plain, keep: "none" });
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const texts: unknown[] = [];
  for (let at = byId.get(leafId ?? ""); at !== undefined; at = byId.get(at.parentId ?? ""))
    texts.unshift(at.type === "message" ? textOrData(at.message) : at.type);
  return texts;
}

/** The text of a message; the data of one that is an image. */
function textOrData(message: Message): string {
  const [only] = "content" in message && typeof message.content !== "string" ? message.content : [];
  return only?.type === "image" ? only.data : messageText(message);
}

describe("exportSession to the agent of the import", () => {
  it("returns the very bytes of what did not change", async () => {
    const { session, blobs } = await adopted();
    const out = await exportSession(session, { to: plain, blobs });
    expect(out.files).toEqual([{ path: "a.jsonl", bytes }]);
    expect(out.resume).toEqual(["plain", "s1"]);
    expect(out.report).toMatchObject({ format: "codex", exact: true, findings: [] });
  });

  it.each([
    ...["../../.bashrc", "/etc/x", "a\\..\\..\\x", "C:/x", "a/.."],
    ...["CON", "a/nul.jsonl", "com1.txt/x", "a /x", "a./x", "x\0", "\u00e9".repeat(128), "a".repeat(256)],
  ])("names no path outside its directory, and none that is no file on every system: %s", async (path) => {
    const blobs = memoryBlobStore();
    const imported = await importSession([{ path, bytes }], { from: plain, blobs });
    const out = await exportSession(imported, { to: plain, blobs });
    expect(out.report.exact).toBe(false);
    expect(out.files.map((file) => file.path)).not.toContain(path);
  });

  it.each(["console.jsonl", "./a.jsonl", "a".repeat(255), "com10", "a b/nula"])(
    "keeps the name of a file: %s",
    async (path) => {
      const blobs = memoryBlobStore();
      const imported = await importSession([{ path, bytes }], { from: plain, blobs });
      expect((await exportSession(imported, { to: plain, blobs })).files).toEqual([{ path, bytes }]);
    },
  );

  it.each(["/", "/w/con", "C:\\NUL", "aux", "/srv/Lpt1/", `/${"long".repeat(100)}`, "/\ud800", "/\u6587"])(
    "writes to folders that can be made on every system: %s",
    async (cwd) => {
      const { session } = await adopted();
      for (const to of [claudeCode, codex, gemini, opencode, qwenCode, kimiCode]) {
        const child = { header: { ...session.header, id: "con" }, entries: [], leafId: null };
        const { files } = await exportSession(session, { to, cwd, children: [child] });
        for (const { path } of files)
          for (const part of path.split("/")) {
            expect(part).toMatch(/^[\w-][\w.-]{0,254}$/);
            expect(part).not.toMatch(/^(?:con|nul|aux|prn|(?:com|lpt)\d)(?:\.|$)|[.]$/i);
          }
      }
    },
  );

  it("does so for an import that no store has, and for a file that was read", async () => {
    const blobs = memoryBlobStore();
    const imported = await importSession([{ path: "a.jsonl", bytes }], { from: plain, blobs });
    expect((await exportSession(imported, { to: plain, blobs })).report.exact).toBe(true);
    const text = [imported.header, ...imported.entries].map((line) => JSON.stringify(line)).join("\n");
    const parsed = parseSession(`${text}\n`);
    expect((await exportSession(parsed, { to: plain, blobs })).report.exact).toBe(true);
  });

  it("returns the bytes if nothing was added that another agent has a home for", async () => {
    const { session, blobs } = await adopted();
    const leaf = session.leafId as string;
    await session.append([{ type: "label", targetId: leaf, label: "x" }]);
    const { files, report } = await exportSession(session, { to: plain, blobs });
    expect(files).toEqual([{ path: "a.jsonl", bytes }]);
    expect(report.findings).toMatchObject([{ code: "entry", text: "1 of type label" }]);
  });

  it("appends what came behind", async () => {
    const { session, blobs } = await adopted();
    await session.appendMessage(userMessage("four"));
    const { files, report } = await exportSession(session, { to: plain, blobs });
    expect(files[0]?.bytes.subarray(0, bytes.length)).toEqual(bytes);
    expect(report.exact).toBe(true);
    expect(await textsOf(files)).toEqual(["one", "two", "three", "four"]);
  });

  it("appends behind an earlier leaf, and moves the leaf back", async () => {
    const { session, blobs } = await adopted();
    const [one] = await session.path();
    await session.branch(one?.id as string);
    const back = await exportSession(session, { to: plain, blobs });
    expect(await textsOf(back.files)).toEqual(["one"]);
    await session.appendMessage(userMessage("other"));
    const { files, report } = await exportSession(session, { to: plain, blobs });
    expect(await textsOf(files)).toEqual(["one", "other"]);
    expect([report.exact, back.report.exact]).toEqual([true, true]);
    expect(report.findings).toMatchObject([{ code: "branch", text: "2 entries of other branches" }]);
  });

  it("writes anew if a message of the original was edited", async () => {
    const { session, blobs } = await adopted();
    const [one] = await session.path();
    await session.append([{ type: "context_edit", targetId: one?.id as string, replacement: null }]);
    const { files, report } = await exportSession(session, { to: plain, blobs });
    expect(await textsOf(files)).toEqual(["two", "three"]);
    expect(report.exact).toBe(false);
    expect(report.findings).toContainEqual({
      code: "edited",
      entryId: one?.id,
      text: "a context_edit was carried out",
    });
  });

  it("writes anew if an entry of the original was erased, also on another branch", async () => {
    for (const at of [0, 2]) {
      const { session, sessions, blobs } = await adopted();
      const ids = [...(await session.tree()).walk()]
        .filter(({ node }) => node.role === "user")
        .map(({ node }) => node.id);
      const [first, second] = ids as [string, string];
      if (at === 2) await session.branch(second);
      await session.appendMessage(userMessage("four"));
      const report = await eraseEntries(sessions, session, [ids[at] as string], { reason: "asked", blobs });
      // The original is named, so that it goes if the caller erases it too.
      const [named] = report.sessions[0]?.derived ?? [];
      expect(named).toMatchObject({ kind: "import", from: [ids[at]] });
      const later = await sessions.open(session.id);
      for (const source of [later, await partsOf(later)]) {
        const out = await exportSession(source, { to: plain, blobs });
        expect(out.report.exact).toBe(false);
        expect(JSON.stringify(out.files.map((file) => new TextDecoder().decode(file.bytes)))).not.toContain(
          at === 0 ? "one" : "three",
        );
      }
      expect(first).not.toBe(second);
      const again = await eraseEntries(sessions, session, [named?.entryId as string], {
        reason: "asked",
        blobs,
      });
      expect(again.blobs?.deleted).toHaveLength(1);
      for await (const blob of blobs.list()) expect(blob).toBeUndefined();
    }
  });

  it.each([
    ["one", '"one'],
    ["one", '"one\\x"'],
    ["three", '"three'],
  ])("writes anew if a damaged entry was erased: %s as %s", async (text, damaged) => {
    const blobs = memoryBlobStore();
    const sessions = fileSessionStore({ dir: mkdtempSync(join(tmpdir(), "sessile-export-")) });
    const files = [{ path: "a.jsonl", bytes }];
    const session = await sessions.adopt(await importSession(files, { from: plain, blobs }));
    const path = session.location as string;
    const said = (await session.path()).find(
      (entry) => entry.type === "message" && messageText(entry.message) === text,
    );
    await session.close();
    writeFileSync(path, readFileSync(path, "utf8").replace(`"${text}"`, damaged));
    await eraseEntries(sessions, session, [said?.id as string], { reason: "asked" });
    const later = await sessions.open("s1");
    for (const source of [later, parseSession(readFileSync(path, "utf8"))]) {
      const out = await exportSession(source, { to: plain, blobs });
      expect(out.files.map((file) => new TextDecoder().decode(file.bytes)).join()).not.toContain(text);
    }
    await later.close();
    rmSync(dirname(dirname(path)), { recursive: true });
  });

  describe("if an entry of a subagent was erased", () => {
    const family = lines([
      ...records,
      { kind: "say", child: "s1.c", id: "d", text: "canary" },
      { kind: "say", child: "s1.d", of: "s1.c", id: "e", text: "parakeet" },
    ]);

    /** An import with two subagents, one of them the other's. */
    async function adoptedFamily() {
      const blobs = memoryBlobStore();
      const sessions = memorySessionStore({ blobs });
      const imported = await importSession([{ path: "a.jsonl", bytes: family }], { from: plain, blobs });
      for (const each of [...imported.children, imported]) await (await sessions.adopt(each)).close();
      const erase = async (id: string) => {
        const found = imported.children.find(({ header }) => header.id === id);
        const [entry] = found?.entries ?? [];
        return eraseEntries(sessions, id, [entry?.id as string], { reason: "asked", blobs });
      };
      const exported = async () => {
        const { files, report } = await exportSession(await sessions.open("s1"), { to: plain, blobs });
        return { text: files.map(({ bytes: each }) => new TextDecoder().decode(each)).join(), report };
      };
      return { blobs, sessions, imported, erase, exported };
    }

    it.each([
      ["s1.c", "canary"],
      ["s1.d", "parakeet"],
    ])("does not return the text of %s, although its session is not given", async (id, text) => {
      const { blobs, erase, exported } = await adoptedFamily();
      expect((await exported()).text).toContain(text);
      const { sessions: done, blobs: gone, remaining } = await erase(id);
      expect(done.map((each) => [each.id, each.erased.length])).toEqual([
        [id, 1],
        ["s1", 1],
      ]);
      // The original files are gone too, and nothing is left to do about them.
      expect(gone?.deleted).toHaveLength(1);
      for await (const blob of blobs.list()) expect(blob).toBeUndefined();
      expect(remaining.join("\n")).not.toContain("original files");
      const { text: written, report } = await exported();
      expect(report.exact).toBe(false);
      expect(written).toContain("three");
      expect(written).not.toContain(text);
      const again = await erase(id);
      expect(again.sessions.map((each) => each.id)).toEqual([id]);
      expect(again.remaining.join("\n")).not.toContain("original files");
    });

    it("does not return it after another import either", async () => {
      const { sessions, blobs, erase, exported } = await adoptedFamily();
      await erase("s1.c");
      const grown = new Uint8Array([...family, ...lines([{ kind: "say", id: "f", text: "four" }])]);
      const imported = await importSession([{ path: "a.jsonl", bytes: grown }], { from: plain, blobs });
      for (const each of [...imported.children, imported])
        await (await sessions.adopt(each, { existing: "append" })).close();
      const { text } = await exported();
      expect(text).toContain("four");
      expect(text).not.toContain("canary");
    });

    it("names original files of a parent that the store does not have, or cannot read", async () => {
      const { sessions, erase } = await adoptedFamily();
      await sessions.delete("s1.c");
      expect((await erase("s1.d")).remaining.join("\n")).toContain("original files of an import");
    });

    it("keeps the original if a session of another origin names it as its parent", async () => {
      const { sessions, blobs, exported } = await adoptedFamily();
      const fork = await sessions.fork("s1");
      const own = await fork.appendMessage(userMessage("the fork's own"), { conflict: "follow" });
      const inFork = await eraseEntries(sessions, fork, [own.id], { reason: "asked", blobs });
      expect(inFork.sessions.map(({ id }) => id)).toEqual([fork.id]);
      await sessions.adopt({
        header: {
          type: "session",
          id: "other",
          timestamp: "2026-01-01T00:00:00.000Z",
          cwd: "/",
          parentSession: "s1",
        },
        entries: [],
        leafId: null,
      });
      const other = await sessions.open("other", { mode: "write" });
      const said = await other.appendMessage(userMessage("its own"));
      const report = await eraseEntries(sessions, other, [said.id], { reason: "asked", blobs });
      expect(report.sessions.map(({ id }) => id)).toEqual(["other"]);
      expect((await exported()).report.exact).toBe(true);
    });
  });

  it("writes anew if the bytes are gone, or without a blob store", async () => {
    const { session } = await adopted();
    for (const options of [{}, { blobs: memoryBlobStore() }]) {
      const { files, report } = await exportSession(session, { to: plain, ...options });
      expect(report.exact).toBe(false);
      expect(await textsOf(files)).toEqual(["one", "two", "three"]);
    }
  });

  it("writes a fork anew, since it is another session", async () => {
    const { session, sessions, blobs } = await adopted();
    const fork = await sessions.fork(session.id);
    const { files, report, resume } = await exportSession(fork, { to: plain, blobs });
    expect([report.exact, resume]).toEqual([false, ["plain", fork.id]]);
    expect(await textsOf(files)).toEqual(["one", "two", "three"]);
  });

  it("returns the newest bytes of a file that was imported again", async () => {
    const { session, sessions, blobs } = await adopted();
    const grown = new Uint8Array([...bytes, ...lines([{ kind: "say", id: "d", text: "four" }])]);
    const files = [{ path: "a.jsonl", bytes: grown }];
    const imported = await importSession(files, { from: plain, blobs });
    const again = await sessions.adopt(imported, { existing: "append" });
    expect((await again.tree()).size).toBe((await session.tree()).size + 2);
    const out = await exportSession(again, { to: plain, blobs });
    expect([out.files, out.report.exact]).toEqual([files, true]);
    const same = await sessions.adopt(imported, { existing: "append" });
    expect((await same.tree()).size).toBe((await again.tree()).size);
  });
});

describe("exportSession", () => {
  it("names bytes that are gone, and describes them", async () => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/w" });
    const data =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const image = { type: "image", data, mimeType: "image/png" } as const;
    const entry = await session.appendMessage({ ...userMessage("look"), content: [image] });
    const whole = await exportSession(session, { to: plain, blobs });
    expect(await textsOf(whole.files)).toEqual([data]);
    const without = await exportSession(session, { to: plain });
    expect(without.report.findings).toMatchObject([{ code: "missing", entryId: entry.id }]);
    expect(await textsOf(without.files)).toEqual([expect.stringMatching(/^\[image, image\/png, .*\]$/)]);
  });

  it("refuses an unknown leaf and a value that is no session", async () => {
    const { session } = await adopted();
    await expect(exportSession(session, { to: plain, leafId: "none" })).rejects.toThrow("none");
    await expect(exportSession(4 as never, { to: plain })).rejects.toThrow(TypeError);
    await expect(exportSession(session, {} as never)).rejects.toThrow("to: expected a format");
  });
});

/** Members whose texts are no words, or tie entries to each other. */
const fixed = new Set(
  "type role id parentId timestamp firstKeptEntryId targetId retain stopReason kind blob data mimeType mediaType entryId entryIds".split(
    " ",
  ),
);

/** A value with half of a surrogate pair in each text and key, but for {@link fixed} members. */
function halved(value: unknown): unknown {
  if (typeof value === "string") return `${value}\ud83d`;
  if (Array.isArray(value)) return value.map(halved);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (key === "arguments" && typeof member === "object" && member !== null)
        return [key, { ...(halved(member) as object), "\udc00": ["\ud800"] }];
      const isCall = key === "id" && (value as { type?: unknown }).type === "toolCall";
      return [key, fixed.has(key) && !isCall ? member : halved(member)];
    }),
  );
}

/** The texts and keys in a value that have half of a surrogate pair; JSON in a text counts too. */
function halvesIn(value: unknown): readonly string[] {
  if (typeof value === "string") {
    const inner = /^[[{]/.test(value) ? JSON.parse(/\\u[dD][89a-fA-F]/.test(value) ? value : "null") : null;
    return [...(value.isWellFormed() ? [] : [value]), ...(inner === null ? [] : halvesIn(inner))];
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([key, member]) => [...halvesIn(key), ...halvesIn(member)]);
}

it("writes no half of a surrogate pair in any member of any format", async () => {
  const others: readonly SessionEntry[] = [
    { type: "session_info", name: "n", title: "t" },
    { type: "model_change", provider: "p", modelId: "m" },
    { type: "thinking_level_change", thinkingLevel: "high" },
  ].map(
    (fields, at) =>
      ({
        ...fields,
        id: `0000000${at}`,
        parentId: null,
        timestamp: "2026-01-01T00:00:00.000Z",
      }) as SessionEntry,
  );
  await fc.assert(
    fc.asyncProperty(conversation(10), async ({ entries }) => {
      const chained = others.map((entry, at) => ({ ...entry, parentId: others[at - 1]?.id ?? null }));
      const moved = entries.map((entry) =>
        entry.parentId === null ? { ...entry, parentId: "00000002" } : entry,
      );
      const all = [...chained, ...moved].map(halved) as SessionEntry[];
      const header = {
        type: "session",
        version: 3,
        id: "s",
        timestamp: "2026-01-01T00:00:00.000Z",
        cwd: "/w\ud800",
      } as const;
      const source = { header, entries: all, leafId: all.at(-1)?.id ?? null };
      const named = {
        provider: "p\ud800",
        modelFor: () => "m\ud800",
        children: [{ ...source, header: { ...header, id: "c" } }],
      };
      for (const options of [{}, named]) {
        for (const to of [claudeCode, codex, gemini, opencode, qwenCode, kimiCode]) {
          const { files } = await exportSession(source, { to, ...options });
          for (const { path, bytes } of files) {
            const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
            const values = path.endsWith(".jsonl") ? text.split("\n").filter((each) => each !== "") : [text];
            for (const each of values) expect(halvesIn(JSON.parse(each))).toEqual([]);
          }
        }
        expect(halvesIn((await toAtif(source, options)).trajectory)).toEqual([]);
      }
    }),
    { numRuns: rounds(40, 1000) },
  );
});

it.each([claudeCode, codex, gemini, opencode, qwenCode, kimiCode])(
  "writes an empty session as a file that its import reads: %s",
  async (to) => {
    const empty = memorySessionStore();
    const session = await empty.create({ cwd: "/w/app" });
    const child = { header: { ...session.header, id: "child", cwd: "/w/child" }, entries: [], leafId: null };
    for (const children of [[], [child]]) {
      const { files } = await exportSession(session, { to, children });
      for (const from of [to, [claudeCode, codex, gemini, opencode, qwenCode, kimiCode]]) {
        const imported = await importSession(files, { from, keep: "none" });
        expect(imported.report.format).toBe(to.name);
        expect(imported.header.cwd).toBe("/w/app");
        expect(imported.entries.filter(({ type }) => type === "message")).toEqual([]);
        expect(imported.children.map(({ header }) => header.cwd)).toEqual(children.map(() => "/w/child"));
      }
    }
  },
);

it("names the provider that a caller gives, and keeps those of the replies for the way back", async () => {
  const sessions = memorySessionStore();
  const session = await sessions.create({ cwd: "/w" });
  await session.appendMessage(userMessage("hello"));
  for (const [provider, api] of [
    ["openai", "openai-responses"],
    ["anthropic", "anthropic-messages"],
  ] as const)
    await session.appendMessage({
      ...{
        role: "assistant",
        content: [{ type: "text", text: provider }],
        provider,
        api,
        model: `${provider}-1`,
      },
      ...{ usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }, stopReason: "stop", timestamp: 1 },
    });
  for (const to of [codex, opencode]) {
    const blobs = memoryBlobStore();
    const { files } = await exportSession(session, { to, provider: "local" });
    const text = new TextDecoder().decode(files[0]?.bytes);
    expect(text).toMatch(/"(?:model_provider|providerID)": ?"local"/);
    const imported = await importSession(files, { from: to, blobs });
    if (to === codex) {
      const makers = imported.entries.flatMap((entry) =>
        entry.type === "message" && entry.message.role === "assistant" ? [entry.message.provider] : [],
      );
      expect(makers).toEqual(["openai", "anthropic"]);
    }
    // The original bytes have another provider.
    const again = await exportSession(imported, { to, blobs, provider: "other" });
    expect(again.report.exact).toBe(false);
    expect(new TextDecoder().decode(again.files[0]?.bytes)).toMatch(
      /"(?:model_provider|providerID)": ?"other"/,
    );
    expect((await exportSession(imported, { to, blobs })).report.exact).toBe(true);
  }
  await expect(exportSession(session, { to: codex, provider: "" })).rejects.toThrow(
    "provider: expected a name",
  );
});
