import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { memoryBlobStore } from "sessile";
import { gemini } from "sessile/gemini-cli";
import { exportSession, importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { fixture } from "../../support/fixtures.js";
import { rounds } from "../../support/rounds.js";
import { call, header, lines, pixel, reply, response, rowsOf, user } from "./chat-log.js";

const samples = fixture("agents/gemini");

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.jsonl?$/.test(entry.name) && entry.name !== "projects.json")
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: path.slice(folder.length + 1), bytes: new Uint8Array(readFileSync(path)) }));

/** Imports a file, exports it again, and compares the bytes. */
async function expectReturn(path: string, bytes: Uint8Array) {
  const blobs = memoryBlobStore();
  const imported = await importSession([{ path, bytes }], { from: gemini, blobs });
  rowsOf(imported);
  const exported = await exportSession(imported, { to: gemini, blobs, children: imported.children });
  expect(exported.files).toEqual([{ path, bytes }]);
  expect(exported.report.exact).toBe(true);
  return imported;
}

describe.skipIf(samples.absent !== undefined)(
  `files that Gemini CLI wrote (${samples.absent ?? "all"})`,
  () => {
    it("import with messages, and return byte for byte", async () => {
      const files = filesBelow(samples.path);
      expect(files.length).toBeGreaterThanOrEqual(5);
      for (const { path, bytes } of files) {
        const imported = await expectReturn(path, bytes);
        expect(rowsOf(imported).length, path).toBeGreaterThan(1);
      }
    });
  },
);

const sample = lines([
  header(),
  { $set: { messages: [user("e", "<session_context>here</session_context>")] } },
  user("u1", "hello"),
  reply("g1", "Let me look.", { thoughts: [{ subject: "Plan", description: "List." }] }),
  reply("g1", "Let me look.", {
    toolCalls: [call("c1", [response("c1", "out"), { inlineData: { mimeType: "image/png", data: pixel } }])],
  }),
  user("f1", [response("c1", "out")]),
  {
    $set: {
      messages: [user("s", "<state_snapshot>sum</state_snapshot>"), user("f1", [response("c1", "out")])],
    },
  },
  reply("g2", "Done."),
  { $rewindTo: "g2" },
  user("u2", "else"),
]);

describe("damaged files", () => {
  it("import without an error, and return byte for byte", async () => {
    const shuffled = fc.shuffledSubarray(new TextDecoder().decode(sample).split("\n"));
    const damaged = fc.oneof(
      breakage.map((breakIt) => breakIt(sample)),
      shuffled.map((some) => new TextEncoder().encode(some.join("\n"))),
    );
    await fc.assert(
      fc.asyncProperty(damaged, fc.constantFrom("jsonl", "json"), async (bytes, ending) => {
        if (bytes.length > 0) await expectReturn(`tmp/app/chats/session-x.${ending}`, bytes);
      }),
      { numRuns: rounds(20, 1500) },
    );
  });

  it("with any value in any place import without an error", async () => {
    const value = fc.oneof(
      { depthSize: "small" },
      fc.jsonValue(),
      fc.constantFrom("u1", "g1", "user", "gemini", "__proto__", "/etc/passwd", "<state_snapshot>"),
      fc.array(
        fc.record({
          id: fc.constantFrom("u1", "g1", "c1"),
          type: fc.constantFrom("user", "gemini"),
          content: fc.jsonValue(),
        }),
      ),
    );
    const names = [
      "content",
      "thoughts",
      "tokens",
      "toolCalls",
      "result",
      "id",
      "type",
      "timestamp",
      "model",
      "sessile",
      "agentId",
      "functionResponse",
      "inlineData",
    ];
    const object = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 });
    const record = fc.oneof(
      object,
      object.chain((members) =>
        fc.constantFrom("u1", "g1", "s").map((id) => ({ type: "gemini", ...members, id })),
      ),
      fc.record({ $set: fc.dictionary(fc.constantFrom("messages", "summary", "kind"), value) }),
      fc.record({ $rewindTo: fc.constantFrom("u1", "g1", "x") }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 12 }), async (records) => {
        const imported = await expectReturn("tmp/app/chats/session-x.jsonl", lines([header(), ...records]));
        expect(imported.report.findings.every(({ code }) => code !== "missingParent")).toBe(true);
      }),
      { numRuns: rounds(25, 2000) },
    );
  });
});
