/** One damaged line of another agent's file costs that line alone. */

import fc from "fast-check";
import { buildSessionContext, memoryBlobStore, messageText, parseSession } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { concatBytes, encodeUtf8 } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";

const words = Array.from({ length: 10 }, (_, at) => `w${at}w é`);
const time = (at: number) => new Date(Date.UTC(2026, 10, 1, 9, 0, at)).toISOString();
const id = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f";
const isAsked = (at: number) => at % 2 === 0;

/** A line a message, and the lines before them. */
const formats = {
  "claude-code": {
    format: claudeCode,
    path: `projects/-w/${id}.jsonl`,
    head: [{ type: "mode", mode: "normal", sessionId: id }],
    line: (text: string, at: number) => ({
      ...{
        parentUuid: at === 0 ? null : `u${at - 1}`,
        isSidechain: false,
        cwd: "/w",
        sessionId: id,
        uuid: `u${at}`,
      },
      ...(isAsked(at)
        ? { type: "user", message: { role: "user", content: [{ type: "text", text }] } }
        : {
            type: "assistant",
            requestId: `r${at}`,
            message: {
              id: `m${at}`,
              role: "assistant",
              model: "claude-x",
              content: [{ type: "text", text }],
              usage: {},
            },
          }),
      timestamp: time(at),
    }),
  },
  codex: {
    format: codex,
    path: `sessions/2026/11/01/rollout-2026-11-01T09-00-00-${id}.jsonl`,
    head: [
      {
        timestamp: time(0),
        type: "session_meta",
        payload: { id, cwd: "/w", timestamp: time(0), cli_version: "0.98.0" },
      },
    ],
    line: (text: string, at: number) => ({
      timestamp: time(at),
      type: "response_item",
      payload: {
        type: "message",
        role: isAsked(at) ? "user" : "assistant",
        content: [{ type: isAsked(at) ? "input_text" : "output_text", text }],
      },
    }),
  },
  gemini: {
    format: gemini,
    path: `tmp/w/chats/session-2026-11-01T09-00-${id.slice(0, 8)}.jsonl`,
    head: [{ sessionId: id, projectHash: "h", startTime: time(0), lastUpdated: time(0) }],
    line: (text: string, at: number) => ({
      id: `g${at}`,
      timestamp: time(at),
      type: isAsked(at) ? "user" : "gemini",
      content: isAsked(at) ? [{ text }] : text,
      ...(isAsked(at)
        ? {}
        : { model: "gemini-x", thoughts: [{ subject: "s", description: "d", timestamp: time(at) }] }),
    }),
  },
};

type Format = (typeof formats)[keyof typeof formats];

const feed = Uint8Array.of(10);
const linesOf = ({ head, line }: Format) => ({
  head: concatBytes(head.map((each) => encodeUtf8(`${JSON.stringify(each)}\n`))),
  lines: words.map((text, at) => encodeUtf8(JSON.stringify(line(text, at)))),
});

async function textsOf({ format, path }: Format, bytes: Uint8Array) {
  const blobs = memoryBlobStore();
  const imported = await importSession([{ path, bytes }], { from: format, blobs });
  const text = [imported.header, ...imported.entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
  const { items } = buildSessionContext(parseSession(text), imported.leafId);
  const exported = await exportSession(imported, { to: format, blobs });
  expect(exported.files[0]?.bytes).toEqual(bytes);
  const findings = imported.report.findings.filter(({ code }) => code === "unreadable");
  // Replies of Codex without a message of the user between them are one.
  return { texts: items.flatMap(({ message }) => messageText(message).trim().split("\n")), findings };
}

const nuls = (count: number) => new Uint8Array(count);
const bom = Uint8Array.of(0xef, 0xbb, 0xbf);

describe.each(Object.entries(formats))("%s", (_name, each: Format) => {
  const { head, lines } = linesOf(each);
  const whole = (parts: readonly (readonly Uint8Array[])[]) =>
    concatBytes([head, ...parts.flatMap((part) => [...part, feed])]);

  it("loses half a line alone, wherever the next one was written behind it", async () => {
    const at = fc.integer({ min: 1, max: lines.length - 2 });
    await fc.assert(
      fc.asyncProperty(at, fc.nat(1e6), fc.constantFrom(0, 1, 300), async (torn, place, gap) => {
        const line = lines[torn] as Uint8Array;
        const cut = place % line.length;
        const half = [line.subarray(0, cut), nuls(gap), lines[torn + 1] as Uint8Array];
        const parts = lines.flatMap((own, index) =>
          index === torn ? [half] : index === torn + 1 ? [] : [[own]],
        );
        const { texts, findings } = await textsOf(each, whole(parts));
        expect(texts).toEqual(words.filter((_, index) => index !== torn));
        expect(findings).toHaveLength(cut + gap === 0 ? 0 : 1);
      }),
      { numRuns: rounds(60, 3000) },
    );
  });

  it("loses nothing for a line feed that is missing, and for bytes that no program meant", async () => {
    const joined = lines.map((line, at) =>
      at % 3 === 0 ? [line, lines[at + 1] ?? nuls(0)] : at % 3 === 1 ? [] : [line],
    );
    for (const parts of [
      joined,
      [lines.flatMap((line) => [line, nuls(1)])],
      lines.map((line, at) => (at === 4 ? [nuls(200), line] : [line])),
      lines.map((line, at) => (at === 4 ? [line, nuls(200)] : [line])),
      lines.map((line, at) => (at === 4 ? [line.subarray(0, 9), nuls(5), line.subarray(9)] : [line])),
      lines.map((line) => [bom, line]),
      lines.flatMap((line, at) => (at === 4 ? [[nuls(64)], [line]] : [[line]])),
    ]) {
      const { texts, findings } = await textsOf(each, whole(parts));
      expect(texts).toEqual(words);
      expect(findings.length).toBeGreaterThan(0);
    }
  });

  it("loses a line with a byte that is not UTF-8, and no other of the same line", async () => {
    const bad = (line: Uint8Array) => line.map((byte, at) => (at === line.indexOf(0x77) + 1 ? 0xff : byte));
    const alone = lines.map((line, at) => [at === 4 ? bad(line) : line]);
    const beside = lines.flatMap((line, at) =>
      at === 4 ? [[bad(line), lines[5] as Uint8Array]] : at === 5 ? [] : [[line]],
    );
    for (const parts of [alone, beside]) {
      const { texts, findings } = await textsOf(each, whole(parts));
      expect(texts).toEqual(words.filter((_, at) => at !== 4));
      expect(findings).toHaveLength(1);
    }
  });

  it("takes no value within half a line for a record", async () => {
    const line = lines[5] as Uint8Array;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: line.length - 1 }), async (cut) => {
        const parts = lines.map((own, at) => [at === 5 ? own.subarray(0, cut) : own]);
        expect((await textsOf(each, whole(parts))).texts).toEqual(words.filter((_, at) => at !== 5));
      }),
      { numRuns: rounds(40, 1000) },
    );
  });
});
