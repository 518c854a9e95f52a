// An export of a session that is open reads its entries as it writes them: with outlines of all, and whole ones of few.

import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  type ParsedSession,
  parseSession,
  type Session,
  type SessionEntry,
  userMessage,
} from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { SessileError } from "sessile/errors";
import { gemini } from "sessile/gemini-cli";
import { type ExportSource, exportSession, type ForeignFormat } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { describe, expect, it, test } from "vitest";
import { entryOutline } from "../../src/agents/export.js";
import { conversation } from "../arbitraries/conversations.js";
import { sessionOf } from "../arbitraries/entries.js";
import { encodeUtf8 } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";

const formats: readonly ForeignFormat[] = [claudeCode, codex, gemini, opencode];
const now = () => Date.UTC(2026, 0, 1);

/** Members that have a text, as entries of all types name them. */
const textMembers = new Set([
  ...["text", "thinking", "content", "summary", "command", "output", "errorMessage", "title", "description"],
  ...["thinkingSignature", "textSignature", "thoughtSignature", "data", "raw", "path"],
]);

/** The entries with texts that an outline cuts. */
function lengthened<T>(value: T, key = ""): T {
  if (typeof value === "string")
    return (textMembers.has(key) && value.length > 1 ? value + " and so on".repeat(40) : value) as T;
  if (Array.isArray(value)) return value.map((item) => lengthened(item, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, lengthened(member, name)]),
  ) as T;
}

/** A session as a store opens it, of which all is in memory here. */
function opened(source: ParsedSession, read: (id: string) => void = () => {}): Session {
  const { header, tree, leafId } = source;
  const entry = async (id: string) => {
    read(id);
    return source.entry(id);
  };
  return {
    header,
    tree: async () => tree,
    leafId,
    entry,
    path: () => Promise.reject(new Error("reads all")),
  } as never;
}

describe.each(formats)("$name", (to) => {
  it("writes the same of outlines and entries as of entries alone", async () => {
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(conversation(14), async ({ entries, leafId }) => {
        const parsed = parseSession(sessionOf(lengthened(entries)).text);
        cut += parsed.entries.filter(
          (entry) => JSON.stringify(entryOutline(entry)) !== JSON.stringify(entry),
        ).length;
        const written = async (source: ExportSource) =>
          exportSession(source, { to, now, leafId, modelFor: ({ model }) => model });
        const whole = await written(parsed as never);
        const streamed = await written(opened(parsed));
        expect(streamed.report).toEqual(whole.report);
        expect(streamed.files.map(textOf)).toEqual(whole.files.map(textOf));
      }),
      { numRuns: rounds(40, 2000) },
    );
    expect(cut).toBeGreaterThan(0);
  });

  it("reads an entry whole when it writes it, and hands the bytes on before the next ones", async () => {
    const source = await longSession(60);
    let reads: string[] = [];
    let ahead = 0;
    const pieces: Uint8Array[] = [];
    const { files, resume } = await exportSession(
      opened(source, (id) => reads.push(id)),
      {
        to,
        now,
        async write({ bytes }) {
          // Those of the outline.
          reads = [];
          for await (const piece of bytes) {
            pieces.push(piece);
            const lines = new TextDecoder().decode(piece).split("message number").length - 1;
            ahead = Math.max(ahead, new Set(reads).size - lines);
            reads = [];
          }
        },
      },
    );
    expect(files).toEqual([]);
    expect(pieces.length).toBeGreaterThan(10);
    expect(ahead).toBeLessThan(20);
    const whole = await exportSession(source as never, { to, now });
    expect(resume).toEqual(whole.resume);
    expect(Buffer.concat(pieces).equals(whole.files[0]?.bytes ?? new Uint8Array())).toBe(true);
  });
});

/** Messages of 20 kB: three a piece. */
async function longSession(count: number) {
  const session = await memorySessionStore().create({ cwd: "/w" });
  for (let at = 0; at < count; at++) {
    await session.appendMessage(userMessage(`message number ${at} ${"x".repeat(20_000)}`));
    await session.appendMessage(assistantMessage({ provider: "a", model: "m" }, `message number ${at}`));
  }
  const lines = await Promise.all(
    Array.from((await session.tree()).walk(), ({ node }) => session.raw(node.id)),
  );
  const header = encodeUtf8(JSON.stringify(session.header));
  return parseSession(
    Buffer.concat([header, ...lines].flatMap((line) => [line as Uint8Array, Buffer.from("\n")])),
  );
}

const textOf = ({ path, bytes }: { readonly path: string; readonly bytes: Uint8Array }) =>
  `${path}\n${new TextDecoder().decode(bytes)}`;

test("an error of the writer, or of the session, ends the export", async () => {
  const source = await longSession(3);
  const failing = exportSession(source as never, {
    to: codex,
    write: async () => {
      throw new Error("no space");
    },
  });
  await expect(failing).rejects.toThrow("no space");
  await expect(exportSession(source as never, { to: codex, write: "out" as never })).rejects.toThrow(
    TypeError,
  );
  // Erased by another program after the outline.
  let reads = 0;
  const entry = async (id: string) => (++reads > source.entries.length ? undefined : source.entry(id));
  const gone = exportSession({ ...opened(source), entry } as Session, { to: codex });
  await expect(gone).rejects.toSatisfy((error) => SessileError.is(error, "ENTRY_NOT_FOUND"));
});

test("an outline has names and references whole, and no long text", () => {
  const id = "i".repeat(1000);
  const long = "long text ".repeat(100);
  const call = { type: "toolCall", id, name: id, arguments: { text: long } };
  const message = {
    ...assistantMessage({ provider: "p", model: id }, long),
    content: [call, { type: "text", text: long }],
  };
  const entry = { type: "message", id, parentId: id, timestamp: "", message } as never as SessionEntry;
  expect(entryOutline(entry)).toEqual({
    ...entry,
    message: {
      ...message,
      content: [
        { ...call, arguments: {} },
        { type: "text", text: long.slice(0, 256) },
      ],
    },
  });
});
