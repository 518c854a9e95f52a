/** Imports of Claude Code's sessions beside what the Agent SDK's own reader gives for the same files. */

import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import {
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  type SessionStore,
} from "@anthropic-ai/claude-agent-sdk";
import fc from "fast-check";
import { buildSessionContext, type ContextItem, parseSession } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { exportSession, type ImportedSession, importSession } from "sessile/interop";
import { type FoundSession, findSessions } from "sessile/node";
import { afterAll, describe, expect, it } from "vitest";
import { transcripts } from "../../arbitraries/claude-code.js";
import { conversation } from "../../arbitraries/conversations.js";
import { sessionOf } from "../../arbitraries/entries.js";
import { rounds } from "../../support/rounds.js";

const root = resolve(import.meta.dirname, "../../..");

type Fields = Readonly<Record<string, unknown>>;

/** A part of a conversation in one form for both readers. */
type Part =
  | { readonly reply: readonly unknown[] }
  | { readonly result: unknown; readonly content: unknown }
  | { readonly user: unknown };

const blocks = (content: unknown): readonly Fields[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : ((content ?? []) as readonly Fields[]);

/** A block without what has no place in a session: cache markers, undefined members. */
function plain(block: Fields): unknown {
  switch (block.type) {
    case "text":
      return { text: block.text };
    case "thinking":
      return { thinking: block.thinking, signature: block.signature ?? block.thinkingSignature };
    case "tool_use":
    case "toolCall":
      if (block.id === undefined) break;
      return { call: block.id, name: block.name, input: block.input ?? block.arguments };
    case "image":
      return { image: (block.source as Fields | undefined)?.data ?? block.data };
    case "opaque":
      return plain(block.data as Fields);
  }
  return block;
}

/** Results directly behind their reply in the order of their calls, then the rest. */
function ordered(parts: readonly Part[]): readonly Part[] {
  const out: Part[] = [];
  let rest: Part[] = [];
  let order = new Map<unknown, number>();
  const flush = () => {
    const isResult = (part: Part): part is Part & { readonly result: unknown } => "result" in part;
    const results = rest.filter(isResult);
    results.sort((a, b) => (order.get(a.result) ?? 0) - (order.get(b.result) ?? 0));
    out.push(...results, ...rest.filter((part) => !isResult(part)));
    rest = [];
  };
  for (const part of parts) {
    if ("reply" in part) {
      flush();
      out.push(part);
      order = new Map(part.reply.map((block, at) => [(block as Fields).call, at]));
    } else rest.push(part);
  }
  flush();
  return out;
}

/** The SDK's messages, with the lines of a reply joined, and without what is never sent. */
function sdkParts(
  messages: readonly { type: string; uuid: string; message: unknown }[],
  lines: readonly Fields[],
) {
  const byId = new Map(lines.map((line) => [line.uuid, line]));
  const replies = new Map<unknown, unknown[]>();
  const calls = new Set<unknown>();
  const answered = new Set<unknown>();
  const parts: Part[] = [];
  for (const { type, uuid, message } of messages) {
    const line = byId.get(uuid) ?? {};
    if (line.isApiErrorMessage === true || line.isMeta === true) continue;
    const { id, content } = message as Fields;
    if (type === "assistant") {
      let reply = id === undefined ? undefined : replies.get(id);
      if (reply === undefined) {
        reply = [];
        parts.push({ reply });
        if (id !== undefined) replies.set(id, reply);
      }
      for (const block of blocks(content)) {
        if (block.type === "tool_use") calls.add(block.id);
        reply.push(plain(block));
      }
      continue;
    }
    for (const block of blocks(content)) {
      if (block.type !== "tool_result") parts.push({ user: plain(block) });
      else if (calls.has(block.tool_use_id) && !answered.has(block.tool_use_id)) {
        answered.add(block.tool_use_id);
        parts.push({ result: block.tool_use_id, content: blocks(block.content).map(plain) });
      }
    }
  }
  return ordered(parts);
}

/** The context of an import, without what the program added and without what it cleared. */
function ownParts(imported: ImportedSession): readonly Part[] {
  const entries = imported.entries.map((entry) =>
    entry.type === "context_edit"
      ? { ...entry, type: "custom" as const, customType: "edit", targetId: undefined, replacement: undefined }
      : entry,
  );
  const text = [imported.header, ...entries].map((line) => JSON.stringify(line)).join("\n");
  const { items } = buildSessionContext(parseSession(`${text}\n`), imported.leafId);
  return ordered(
    items.flatMap(({ message }: ContextItem): readonly Part[] => {
      switch (message.role) {
        case "assistant":
          return [{ reply: message.content.map((block) => plain(block as unknown as Fields)) }];
        case "toolResult":
          return [
            {
              result: message.toolCallId,
              content: message.content.map((block) => plain(block as unknown as Fields)),
            },
          ];
        case "compactionSummary":
          return [{ user: { text: message.summary } }];
        case "user":
          return blocks(message.content).map((block) => ({ user: plain(block) }));
        default:
          return [];
      }
    }),
  );
}

/** Expects equal parts; all of the SDK's, if it left out messages before or beside a wrong parent. */
function expectSame({ report }: ImportedSession, own: readonly Part[], theirs: readonly Part[]): void {
  if (!report.findings.some(({ code }) => code === "missingParent")) expect(own).toEqual(theirs);
  const left = theirs.map((part) => JSON.stringify(part));
  for (const part of own) if (JSON.stringify(part) === left[0]) left.shift();
  expect(left).toEqual([]);
}

function linesOf(bytes: Uint8Array): readonly Fields[] {
  return new TextDecoder()
    .decode(bytes)
    .split("\n")
    .flatMap((line): readonly Fields[] => {
      try {
        return line === "" ? [] : [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}

const home = mkdtempSync(join(tmpdir(), "sessile-claude-"));
process.env.CLAUDE_CONFIG_DIR = home;
afterAll(() => rmSync(home, { recursive: true, force: true }));
const project = join(home, "projects", "-work");
mkdirSync(project, { recursive: true });

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "agents/claude-code");
const samples = [fixtures].flatMap((folder) => {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(folder, name));
  } catch {
    return [];
  }
});

describe("samples", () => {
  for (const path of samples.filter((name) => !basename(name).startsWith("agent-"))) {
    it(`reads the messages of ${basename(path)} as the SDK does`, async () => {
      const id = randomUUID();
      const bytes = readFileSync(path);
      writeFileSync(join(project, `${id}.jsonl`), bytes);
      const folder = path.replace(/\.jsonl$/, "");
      const beside = samples.filter((name) => name.startsWith(`${folder}/`));
      for (const name of beside) {
        const copy = join(project, id, name.slice(folder.length + 1));
        mkdirSync(dirname(copy), { recursive: true });
        cpSync(name, copy);
      }
      const files = [path, ...beside].map((name) => ({ path: name, bytes: readFileSync(name) }));
      const imported = await importSession(files, { from: claudeCode });
      const lines = linesOf(bytes);
      const [own, theirs] = [ownParts(imported), sdkParts(await getSessionMessages(id), lines)];
      expectSame(imported, own, theirs);
      for (const name of beside) {
        const agentId = basename(name, ".jsonl").slice("agent-".length);
        const messages = await getSubagentMessages(id, agentId);
        const child = imported.children.find(({ header }) => header.id.endsWith(`.agent-${agentId}`));
        expect(ownParts(child as ImportedSession)).toEqual(sdkParts(messages, linesOf(readFileSync(name))));
      }
    });
  }
});

const added = fc.constantFrom(
  "<command-name>/clear</command-name>\n<command-args></command-args>",
  "<command-message>a</command-message>\n<command-name>/a</command-name>",
  "<local-command-stdout>out</local-command-stdout>",
  "<bash-input>ls</bash-input>",
  '<note id="a">b</note>',
  "[Request interrupted by user]",
  "<ide_opened_file>a</ide_opened_file>",
  "Add tests",
  "<Component /> breaks",
  "two\nlines",
  "  ",
  "",
);
const titleRecord = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ content: added, more: fc.constantFrom({}, {}, {}, { isMeta: true }) }),
  },
  { weight: 2, arbitrary: fc.record({ content: fc.array(added, { maxLength: 3 }), more: fc.constant({}) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...["customTitle", "", "customTitle"].map((customTitle) => ({ type: "custom-title", customTitle })),
      { type: "ai-title", aiTitle: "ai" },
      { type: "summary", summary: "sum", leafUuid: "u0" },
      { type: "last-prompt", lastPrompt: "go" },
    ),
  },
);

it("shows the title of a session that the SDK lists", async () => {
  const name = (at: number) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
  let at = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(titleRecord, { minLength: 1, maxLength: 8 }), async (records) => {
      // Only messages name their directory, by which both lists are asked.
      fc.pre(records.some((record) => "content" in record));
      const sessionId = name(++at);
      const envelope = { isSidechain: false, cwd: "/titles", sessionId, timestamp: "2026-01-01T00:00:00Z" };
      const folder = join(home, "projects", "-titles");
      mkdirSync(folder, { recursive: true });
      const text = records
        .map((record, index) => {
          if (!("content" in record)) return { ...record, sessionId };
          const { content, more } = record;
          const blocks =
            typeof content === "string" ? content : content.map((each) => ({ type: "text", text: each }));
          const uuid = `${sessionId.slice(0, -4)}${String(index).padStart(4, "0")}`;
          return {
            ...envelope,
            type: "user",
            uuid,
            parentUuid: null,
            message: { role: "user", content: blocks },
            ...more,
          };
        })
        .map((record) => `${JSON.stringify(record)}\n`)
        .join("");
      writeFileSync(join(folder, `${sessionId}.jsonl`), text);
      const [theirs] = (await listSessions({ dir: "/titles" })).filter(
        (each) => each.sessionId === sessionId,
      );
      const listed: FoundSession[] = [];
      for await (const each of findSessions({ agents: ["claude-code"], cwd: "/titles" })) listed.push(each);
      const own = listed.find(({ id }) => id === sessionId);
      if (theirs !== undefined) expect(own?.title).toBe(theirs.summary.replace(/\s+/g, " "));
      rmSync(join(folder, `${sessionId}.jsonl`));
    }),
    { numRuns: rounds(60, 1000) },
  );
});

/** A store of the SDK that holds one transcript. */
function storeOf(lines: readonly Fields[]): SessionStore {
  return {
    append: async () => undefined,
    load: async ({ subpath }) => (subpath === undefined ? (structuredClone(lines) as never) : null),
  };
}

const recorded = new URL("../../agents/claude-code/files/", import.meta.url);
it.each(readdirSync(recorded))("reads the messages of the recorded run %s as the SDK does", async (name) => {
  const { files } = JSON.parse(readFileSync(new URL(name, recorded), "utf8")) as {
    readonly files: readonly { readonly path: string; readonly text: string }[];
  };
  const foreign = files.map(({ path, text }) => ({ path, bytes: new TextEncoder().encode(text) }));
  const main = foreign.find(({ path }) => !basename(path).startsWith("agent-"));
  const lines = linesOf(main?.bytes ?? new Uint8Array());
  const id = basename(main?.path ?? "", ".jsonl");
  const messages = await getSessionMessages(id, { sessionStore: storeOf(lines) });
  expect(messages.length).toBeGreaterThan(2);
  expect(ownParts(await importSession(foreign, { from: claudeCode }))).toEqual(sdkParts(messages, lines));
});

it("writes any session so that the SDK reads what an import shows", async () => {
  await fc.assert(
    fc.asyncProperty(conversation(14), async ({ entries }) => {
      const parsed = parseSession(sessionOf(entries).text);
      const { files } = await exportSession(parsed, { to: claudeCode });
      const [main] = files;
      const lines = linesOf(main?.bytes ?? new Uint8Array());
      const id = basename(main?.path ?? "", ".jsonl");
      const messages = await getSessionMessages(id, { sessionStore: storeOf(lines) });
      expect(ownParts(await importSession(files, { from: claudeCode }))).toEqual(sdkParts(messages, lines));
    }),
    { numRuns: rounds(80, 3000) },
  );
});

it("reads generated transcripts as the SDK does", async () => {
  await fc.assert(
    fc.asyncProperty(transcripts, async (lines) => {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      const sessionId = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";
      const messages = await getSessionMessages(sessionId, { sessionStore: storeOf(lines) });
      const files = [{ path: `${sessionId}.jsonl`, bytes: new TextEncoder().encode(text) }];
      const imported = await importSession(files, { from: claudeCode });
      expectSame(imported, ownParts(imported), sdkParts(messages, lines));
    }),
    { numRuns: rounds(150, 5000) },
  );
});
