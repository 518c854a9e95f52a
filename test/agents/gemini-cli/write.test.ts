import fc from "fast-check";
import { memoryBlobStore, messageText, type SessionEntry } from "sessile";
import { gemini } from "sessile/gemini-cli";
import { type ExportableSession, exportSession, type ImportedSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { rounds } from "../../support/rounds.js";
import {
  call,
  chatPath,
  contextFrom,
  header,
  lines,
  pixel,
  read,
  reply,
  response,
  rowsOf,
  user,
} from "./chat-log.js";
import { comparable, projectionOfImport } from "./requests.js";
import {
  anthropic,
  called,
  chain,
  compacted,
  google,
  noBlobs,
  replied,
  resulted,
  rich,
  said,
  words,
} from "./written-session.js";

const now = () => Date.UTC(2026, 10, 23);

async function write(source: ExportableSession, options: object = {}) {
  const written = await exportSession(source, { to: gemini, now, ...options });
  const records = written.files.map(({ bytes }) =>
    new TextDecoder()
      .decode(bytes)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
  return { ...written, records: records[0] ?? [], all: records };
}

/** Writes a session and imports the result. */
async function there(source: ExportableSession, options: object = {}) {
  const written = await write(source, options);
  const imported = await importSession(written.files, { from: gemini, keep: "none" });
  return { ...written, imported };
}

const codesOf = ({ report }: { readonly report: { readonly findings: readonly { code: string }[] } }) =>
  report.findings.map(({ code }) => code);

describe("a written chat", () => {
  it("has the name, the place and the first record that the agent looks for", async () => {
    const { files, records, resume, report } = await write(rich, { cwd: "/srv/My App" });
    expect(files.map(({ path }) => path)).toEqual([
      "tmp/my-app/chats/session-2026-11-20T09-00-0a1b2c3d.jsonl",
    ]);
    expect(records[0]).toMatchObject({
      sessionId: rich.header?.id,
      projectHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      startTime: "2026-11-20T09:00:00.000Z",
      kind: "main",
    });
    expect(resume).toEqual(["gemini", "--resume", rich.header?.id]);
    expect(report).toMatchObject({ format: "gemini", exact: false });
  });

  it("has text, thoughts and calls beside each other, no function responses, and results at their calls", async () => {
    const { records } = await write(rich);
    const messages = records.filter(({ type }) => type !== undefined);
    for (const { type, content } of messages) {
      if (type === "gemini") expect(typeof content).toBe("string");
      expect(JSON.stringify(content)).not.toMatch(/functionResponse|functionCall/);
    }
    expect(messages[1]).toMatchObject({
      type: "gemini",
      content: "Let me look.",
      model: "claude-sonnet-4-6",
      tokens: { input: 100, cached: 40, output: 25, total: 125 },
      toolCalls: [
        {
          id: "toolu_1",
          status: "success",
          result: [{ functionResponse: { response: { output: "a picture" } } }, { inlineData: {} }],
        },
        {
          id: "toolu_2",
          status: "error",
          result: [{ functionResponse: { response: { error: "no such file" } } }],
        },
      ],
    });
    expect(messages[4]).toMatchObject({ thoughts: [{ subject: "", description: "I read it." }] });
  });

  it("has every member of a call, and names the reasoning that it leaves out", async () => {
    const thinking = (text: string, more: object = {}) => ({ type: "thinking", thinking: text, ...more });
    const signed = { thinkingSignature: "U0lH" };
    const { records, report } = await write(
      chain([
        said("go"),
        replied([
          ...[thinking("I look."), thinking("", signed), { type: "opaque", data: {} }],
          ...[called("c1", { a: 1 }), called("c2", "text")],
        ]),
        resulted("c1", [words("out")]),
        replied([thinking("Elsewhere.", signed), words("Done.")], anthropic),
      ]),
    );
    const [made] = records.filter(({ type }) => type === "gemini");
    expect(made.thoughts).toMatchObject([{ subject: "", description: "I look." }]);
    const always = { name: "look", displayName: "look", description: "", renderOutputAsMarkdown: false };
    expect(made.toolCalls).toEqual([
      {
        ...{ ...always, id: "c1", args: { a: 1 }, status: "success", resultDisplay: "out" },
        result: [{ functionResponse: { id: "c1", name: "look", response: { output: "out" } } }],
        timestamp: expect.any(String),
        sessile: { entry: expect.any(String) },
      },
      {
        ...{ ...always, id: "c2", args: { input: "text" }, status: "cancelled" },
        result: [{ functionResponse: { id: "c2", name: "look", response: { error: expect.any(String) } } }],
        resultDisplay: expect.any(String),
        timestamp: expect.any(String),
      },
    ]);
    expect(report.findings.map(({ code, text }) => `${code} ${text}`).sort()).toEqual([
      "entry arguments of call c2 that are no object are its argument `input`",
      expect.stringMatching(/^interrupted /),
      "opaque a block of a provider",
      "reasoning reasoning of another maker",
      "reasoning reasoning without text",
      "reasoning signatures are left out",
    ]);
  });

  it("was updated now: the agent deletes older ones", async () => {
    const day = 24 * 60 * 60 * 1000;
    const last = Date.UTC(2026, 10, 20, 9, 0, 13);
    const young = await write(rich, { now: () => last + 29 * day });
    expect(young.records[0].lastUpdated).toBe(new Date(last + 29 * day).toISOString());
    expect(codesOf(young)).not.toContain("retimed");
    const old = await write(rich, { now: () => last + 31 * day });
    expect(old.records[0].lastUpdated).toBe(new Date(last + 31 * day).toISOString());
    expect(codesOf(old)).toContain("retimed");
  });

  it("guards texts that the agent would drop after a resume, and gives them back", async () => {
    const texts = [
      "/etc/hosts",
      " ?",
      "<session_context>x",
      "<state_snapshot>",
      "\u200b/x",
      "\u200b",
      "plain",
      "a/b",
    ];
    const { records, imported } = await there(chain(texts.map((text) => said(text))));
    expect(rowsOf(imported)).toEqual(texts.map((text) => `user: ${text}`));
    for (const { type, content } of records) {
      if (type === "user") expect(content[0].text.trim()).not.toMatch(/^[/?]|^<(?:session|hook)_context>/);
    }
  });

  it("closes open calls, and leaves out what the format does not hold, with a finding each", async () => {
    const source = chain([
      said("go"),
      replied(
        [
          { type: "thinking", thinking: "secret", thinkingSignature: "s" },
          { type: "opaque", data: { type: "server_tool_use" } },
          words("I look."),
          called("c1", "not an object"),
        ],
        anthropic,
      ),
      replied([{ type: "text", text: "signed", textSignature: "U0lH" }], google),
      { type: "thinking_level_change", thinkingLevel: "high" },
    ]);
    const result = await there(source);
    expect(codesOf(result).sort()).toEqual([
      "entry",
      "entry",
      "interrupted",
      "opaque",
      "reasoning",
      "reasoning",
    ]);
    expect(rowsOf(result.imported)).toEqual([
      "user: go",
      "assistant: I look., call c1",
      "result c1: [This call was interrupted: there is no result.]",
      "assistant: signed",
    ]);
    expect(result.records[2].toolCalls[0]).toMatchObject({
      args: { input: "not an object" },
      status: "cancelled",
    });
  });

  it("comes back with its entry ids, makers, types and name", async () => {
    const source = chain([
      {
        type: "custom_message",
        customType: "sessile.initial_context",
        content: "AGENTS.md says so",
        display: false,
      },
      { type: "custom_message", customType: "acme.note", content: "a note", display: true },
      said("go"),
      replied([called("c1")], anthropic),
      resulted("c1", [words("one"), words("two")]),
      { type: "session_info", name: "Title" },
      { type: "custom", customType: "sessile.command", data: { text: "/stats" } },
    ]);
    const { imported, report } = await there(source);
    expect(report.findings).toEqual([]);
    expect(imported.header).toMatchObject({ id: source.header?.id, cwd: "/srv/work" });
    const joined = { ...(source.entries[4] as SessionEntry) };
    expect(imported.entries.map(({ id }) => id)).toEqual([
      "e1",
      "e2",
      "e3",
      "e4",
      "e5",
      expect.any(String),
      "e7",
    ]);
    expect(imported.entries[0]).toMatchObject({ customType: "sessile.initial_context", display: false });
    expect(imported.entries[1]).toMatchObject({ customType: "acme.note", display: true, content: "a note" });
    expect(imported.entries[3]).toMatchObject({ message: { provider: "anthropic", model: anthropic.model } });
    expect(joined).toMatchObject({ message: { isError: false } });
    expect(imported.entries[5]).toMatchObject({ type: "session_info", name: "Title" });
    expect(imported.entries[6]).toMatchObject({ customType: "sessile.command" });
  });

  it("says a compaction as a rewind, a summary, and what it keeps", async () => {
    const { records, imported } = await there(compacted);
    const rewinds = records.flatMap((record, at) => (record.$rewindTo === undefined ? [] : [at]));
    expect(rewinds).toHaveLength(1);
    expect(records[rewinds[0] ?? 0].$rewindTo).toBe(records[1].id);
    expect(rowsOf(imported)).toEqual(rowsOf({ ...compacted } as ImportedSession));
    expect(imported.entries.find(({ type }) => type === "compaction")).toMatchObject({
      id: "e7",
      firstKeptEntryId: "e7",
      retain: ["e1", "e5", "e6"],
    });
    expect(imported.leafId).toBe(compacted.leafId);
  });

  it("has its subagents in files of their own, which its calls name", async () => {
    const child = chain([said("find it"), replied([words("found")])], "0a1b2c3d-0000-4000-8000-000000000002");
    const source = chain([
      said("go"),
      replied([called("c1")]),
      resulted("c1", [words("found")]),
      {
        type: "custom",
        customType: "sessile.subagent",
        data: { toolCallId: "c1", sessionId: child.header?.id },
      },
    ]);
    const { files, imported, all } = await there(source, { children: [child] });
    expect(files[1]?.path).toBe(`tmp/work/chats/${source.header?.id}/${child.header?.id}.jsonl`);
    expect(imported.children.map(rowsOf)).toEqual([["user: find it", "assistant: found"]]);
    expect(all.map(([head]) => [head.kind, head.startTime, head.directories])).toEqual([
      ["main", "2026-11-20T09:00:00.000Z", undefined],
      ["subagent", "2026-11-20T09:00:00.000Z", ["/srv/work"]],
    ]);
    expect(imported.entries.at(-1)).toMatchObject({
      customType: "sessile.subagent",
      data: { toolCallId: "c1", sessionId: child.header?.id },
    });
  });

  it("is the projection of the session, for sessions of all kinds of messages", async () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom("/x", "?", "\u200b/", "<state_snapshot>\ns\n</state_snapshot>", "hello", "a\nb"),
    );
    const block = fc.oneof(
      text.map(words),
      fc.constantFrom("c1", "c2", "c 3").map((id) => called(id)),
      text.map((thinking) => ({ type: "thinking", thinking })),
    );
    const draft = fc.oneof(
      text.map((each) => said(each)),
      fc
        .uniqueArray(block, { minLength: 1, maxLength: 4, selector: (each) => ("id" in each ? each.id : {}) })
        .map((content) => replied(content)),
      fc
        .tuple(fc.constantFrom("c1", "c2", "c 3"), text, fc.boolean())
        .map(([id, each, isError]) => resulted(id, [words(each)], isError)),
      text.map(
        (content) => ({ type: "custom_message", customType: "acme.note", content, display: true }) as const,
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(draft, { minLength: 1, maxLength: 8 }), async (drafts) => {
        const source = chain(drafts);
        const { imported } = await there(source);
        const options = { blobs: noBlobs, last: "go on" };
        const [expected, actual] = [
          comparable(await projectionOfImport(source as ImportedSession, options)),
          comparable(await projectionOfImport(imported, options)),
        ];
        const kinds = (rows: readonly unknown[]) => ({
          texts: rows
            .flatMap((row) => ("text" in (row as object) ? [row] : []))
            .map((row) => JSON.stringify(row)),
          calls: rows.filter((row) => "call" in (row as object)),
          results: rows.filter((row) => "result" in (row as object)),
        });
        expect(kinds(actual)).toEqual(kinds(expected));
      }),
      { numRuns: rounds(15, 600) },
    );
  });

  it("comes back as it was, if there is no finding", async () => {
    const text = fc.stringMatching(/^[\u200b /?<>a-z_\n]{0,8}\S$/);
    const image = { type: "image", data: pixel, mimeType: "image/png" };
    const content = fc.array(fc.oneof(text.map(words), fc.constant(image)), { minLength: 1, maxLength: 3 });
    let calls = 0;
    const turn = fc.oneof(
      content.map((blocks) => [said(blocks)]),
      fc
        .tuple(text, fc.uniqueArray(text, { maxLength: 2 }), fc.array(fc.boolean(), { maxLength: 2 }))
        .map(([thinking, texts, errors]) => {
          const made = errors.map((isError) => ({ id: `c${calls++}`, isError }));
          return [
            replied([
              { type: "thinking", thinking },
              ...texts.map(words),
              ...made.map(({ id }) => called(id)),
            ]),
            ...made.map(({ id, isError }) => resulted(id, [words(id), ...(isError ? [] : [image])], isError)),
          ];
        }),
      text.map((summary) => [
        { type: "compaction", summary, firstKeptEntryId: "e1", tokensBefore: 1 } as const,
      ]),
      text.map((each) => [
        { type: "custom_message", customType: "acme.note", content: each, display: false } as const,
      ]),
      text.map((name) => [{ type: "session_info", name } as const]),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (turns) => {
        const source = chain(turns.flat());
        const { imported, report } = await there(source);
        expect(report.findings).toEqual([]);
        const shown = ({ items }: ReturnType<typeof contextFrom>) =>
          items.map(({ entryId, message }) => ({
            entryId,
            role: message.role,
            ...("content" in message
              ? { content: blocksIn(message.content) }
              : { text: messageText(message) }),
          }));
        expect(shown(contextFrom(imported))).toEqual(shown(contextFrom(source as ImportedSession)));
      }),
      { numRuns: rounds(30, 1500) },
    );
  });
});

describe("a chat that goes on", () => {
  const talk = [
    header(),
    user("u1", "one"),
    reply("g1", "two", { toolCalls: [call("c1", [response("c1", "out")])] }),
    user("u2", "three"),
    reply("g2", "four"),
  ];
  const more = (parentId: string | null, id = "more0001", text = "else") =>
    ({ ...said(text), id, parentId, timestamp: "2026-11-22T12:00:00.000Z" }) as SessionEntry;

  async function goOn(
    records: readonly unknown[],
    change: (imported: ImportedSession) => Partial<ImportedSession>,
  ) {
    const blobs = memoryBlobStore();
    const imported = await read(records, { blobs });
    const changed = { ...imported, ...change(imported) };
    const exported = await exportSession(changed, { to: gemini, blobs, now });
    const again = await importSession(exported.files, { from: gemini, blobs: memoryBlobStore() });
    const original = new TextDecoder().decode(lines(records));
    const written = new TextDecoder().decode(exported.files[0]?.bytes);
    const tail = written.startsWith(original)
      ? written
          .slice(original.length)
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line))
      : undefined;
    return { imported, changed, exported, again, tail };
  }

  it("has lines behind the original bytes", async () => {
    const { tail, exported, again, changed } = await goOn(talk, ({ entries, leafId }) => ({
      entries: [...entries, more(leafId)],
      leafId: "more0001",
    }));
    expect(exported.files[0]?.path).toBe(chatPath);
    expect(exported.report.exact).toBe(true);
    expect(tail).toMatchObject([
      { type: "user", content: [{ text: "else" }] },
      { $set: { lastUpdated: "2026-11-23T00:00:00.000Z" } },
    ]);
    expect(rowsOf(again)).toEqual(rowsOf(changed));
    expect(again.leafId).toBe("more0001");
  });

  it("goes back by $rewindTo, to the end of a message or before the first", async () => {
    for (const [length, target] of [
      [4, "g2"],
      [3, "u2"],
      [1, "g1"],
      [0, "u1"],
    ] as const) {
      const { tail, again, changed } = await goOn(talk, (imported) => {
        const parent = contextFrom(imported).items[length - 1]?.entryId ?? null;
        return { entries: [...imported.entries, more(parent)], leafId: "more0001" };
      });
      expect(tail?.[0]).toEqual({ $rewindTo: target });
      expect(rowsOf(again)).toEqual(rowsOf(changed));
    }
  });

  it("is written anew if the format cannot say the change", async () => {
    const behindCall = await goOn(talk, (imported) => {
      const parent = contextFrom(imported).items[1]?.entryId ?? null;
      return { entries: [...imported.entries, more(parent)], leafId: "more0001" };
    });
    expect(behindCall.tail).toBe(undefined);
    expect(behindCall.exported.report.exact).toBe(false);
    expect(behindCall.exported.report.findings.map(({ code }) => code)).toContain("interrupted");
  });

  it("is written anew for a leaf among the messages that a compaction kept", async () => {
    const snapshot = user("s", "<state_snapshot>sum</state_snapshot>");
    const compact = [...talk, { $set: { messages: [snapshot, ...talk.slice(3)] } }, user("u3", "five")];
    for (const [message, rows] of [
      ["three", ["user: one", "assistant: two, call c1", "result c1: out", "user: three", "user: else"]],
      [
        "five",
        [
          "summary: <state_snapshot>sum</state_snapshot>",
          "user: three",
          "assistant: four",
          "user: five",
          "user: else",
        ],
      ],
    ] as const) {
      const { tail, again, changed } = await goOn(compact, (imported) => {
        const parent = imported.entries.find(
          (entry) => entry.type === "message" && messageText(entry.message) === message,
        );
        return { entries: [...imported.entries, more(parent?.id ?? null)], leafId: "more0001" };
      });
      expect(tail === undefined).toBe(message === "three");
      expect(rowsOf(changed)).toEqual(rows);
      expect(rowsOf(again)).toEqual(rows);
    }
    // Back to the compaction itself: the agent drops what follows its kept messages.
    const back = await goOn(compact, (imported) => {
      const compaction = imported.entries.find(({ type }) => type === "compaction");
      return { entries: [...imported.entries, more(compaction?.id ?? null)], leafId: "more0001" };
    });
    expect(back.tail?.[0]).toEqual({ $rewindTo: "u3" });
    expect(rowsOf(back.again)).toEqual(rowsOf(back.changed));
  });

  it("takes a result of an open call, and a compaction with what it keeps", async () => {
    const open = [...talk, reply("g3", "", { toolCalls: [call("c9", undefined, { result: undefined })] })];
    const { tail, again, changed } = await goOn(open, (imported) => {
      const { entries, leafId } = imported;
      const timestamp = "2026-11-22T12:00:00.000Z";
      const result = { ...resulted("c9", [words("late")]), id: "late0001", parentId: leafId, timestamp };
      const kept = contextFrom(imported).items.slice(-1);
      const compaction = {
        type: "compaction",
        id: "comp0001",
        parentId: "late0001",
        timestamp,
        summary: "sum",
        firstKeptEntryId: kept[0]?.entryId ?? "",
        tokensBefore: 1,
      };
      const all = [...entries, result, compaction, more("comp0001")] as ImportedSession["entries"];
      return { entries: all, leafId: "more0001" };
    });
    expect(tail?.map((record) => record.$rewindTo ?? record.type)).toEqual([
      "user",
      "u1",
      "user",
      "gemini",
      "user",
      "user",
      undefined,
    ]);
    expect(rowsOf(again)).toEqual(rowsOf(changed));
    expect(rowsOf(again)).toEqual(["summary: sum", "assistant: call c9", "result c9: late", "user: else"]);
  });
});

/** Content as blocks. */
const blocksIn = (content: unknown): unknown =>
  typeof content === "string" ? (content === "" ? [] : [words(content)]) : content;
