import fc from "fast-check";
import {
  assistantMessage,
  encodeEntry,
  memorySessionStore,
  parseSession,
  type SessionEntry,
  userMessage,
} from "sessile";
import {
  type ForeignFormat,
  importSession,
  redactSession,
  type SecretRedaction,
  secretRedaction,
} from "sessile/interop";
import { describe, expect, it } from "vitest";
import { entryProblem } from "../../../src/log/internal.js";
import { type AnyEntry, entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { rounds } from "../../support/rounds.js";
import { lines, plain } from "../plain-format.js";
import { planted } from "./secrets.js";

const token = `ghp_${"aB3".repeat(12)}`;
const encoded = Buffer.from(`token: ${token}`).toString("base64");
const marker = "[redacted: github-token]";
const redact = secretRedaction();

/** Appends a text to each string of a value, keys included, except for the place of an entry and its type. */
function withText(value: unknown, text: string): unknown {
  if (typeof value === "string") return value + text;
  if (Array.isArray(value)) return value.map((item) => withText(item, text));
  if (typeof value !== "object" || value === null) return value;
  const kept = ["type", "role", "id", "parentId", "timestamp", "stopReason", "blob", "contentSha256"];
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, kept.includes(key) ? member : withText(member, text)]),
  );
}

/** An entry with a text in its strings, if it is still one. */
function withSecret(entry: AnyEntry, text: string): AnyEntry {
  if (entry.type === "unknown") {
    const value = { ...(JSON.parse(entry.raw) as object), extra: `${text} ${text}` };
    return { ...entry, raw: JSON.stringify(value) };
  }
  const changed = withText(entry, text) as SessionEntry;
  return entryProblem(changed) === undefined ? changed : entry;
}

describe("redactSession", () => {
  it("leaves no secret in any string, and the tree as it is", () => {
    const cases = fc.tuple(
      entryTree({ minLength: 1, maxLength: 12 }),
      fc.constantFrom(` ${token}`, ` ${encoded} `),
    );
    let changed = 0;
    fc.assert(
      fc.property(cases, ([plainEntries, text]) => {
        const entries = plainEntries.map((entry) => withSecret(entry, text));
        const parsed = parseSession(sessionOf(entries).text);
        const copy = redactSession(parsed, redact);
        const out = sessionOf(copy.entries, { header: copy.header }).text;
        expect(out).not.toContain(token);
        expect(out).not.toContain(encoded);
        if (out.includes(marker)) changed++;
        const place = ({ id, parentId, timestamp }: AnyEntry) => ({ id, parentId, timestamp });
        expect(copy.entries.map(place)).toEqual(parsed.entries.map(place));
        expect(parseSession(out).entries).toEqual(copy.entries);
        expect({ ...copy.header, id: "" }).toEqual({ ...parsed.header, id: "" });
      }),
      { numRuns: rounds(50, 2_000) },
    );
    expect(changed).toBeGreaterThan(20);
  });

  it("finds a secret that a reply has in several blocks of text", async () => {
    const session = await memorySessionStore().create({ cwd: "/w" });
    const texts = ["Use ", token.slice(0, 9), token.slice(9), " now."].map((text) => ({
      type: "text" as const,
      text,
    }));
    const call = { type: "toolCall" as const, id: "c1", name: "read", arguments: {} };
    const content = [...texts, call, texts[0], texts[3]].filter((block) => block !== undefined);
    await session.appendMessage({ ...assistantMessage({ provider: "p", model: "m" }, ""), content });
    const entries = [await session.entry(session.leafId ?? "")].filter((entry) => entry !== undefined);
    const source = { header: session.header, entries, leafId: session.leafId };
    expect(redactSession(source, redact).entries).toMatchObject([
      { message: { content: [{ text: `Use ${marker} now.` }, call, texts[0], texts[3]] } },
    ]);
  });

  it("drops attachments, or keeps them, and never names the original bytes", async () => {
    const session = await memorySessionStore().create({ cwd: "/w" });
    const image = { type: "image", data: "iVBORw0KGgoAAAANSUhEUg==", mimeType: "image/png" } as const;
    const resource = {
      resourceId: "res_0123456789abcdef",
      kind: "link",
      source: "link",
      uri: "https://a.example",
    } as const;
    await session.append([
      { type: "message", message: { role: "user", content: [image], timestamp: 1 } },
      { type: "message", message: userMessage("Look.", resource) },
      {
        type: "custom",
        customType: "sessile.foreign",
        data: { v: 1, agent: "codex", format: "legacy", files: [{ path: "a", blob: "sha256:…" }] },
      },
    ]);
    const source = {
      header: session.header,
      entries: await session.path(session.leafId),
      leafId: session.leafId,
    };
    const text = { type: "text", text: "[redacted: attachment]" };
    const dropped = redactSession(source, redact).entries;
    expect(dropped).toMatchObject([
      { message: { content: [text] } },
      { message: { content: [{ type: "text", text: "Look." }, text] } },
      { data: { agent: "codex", files: [] } },
    ]);
    const named = { type: "custom", customType: "note", data: { [token]: { [`a ${token}`]: 1 } } } as const;
    const [entry] = await session.append([named]);
    const renamed = redactSession({ ...source, entries: [entry as SessionEntry] }, redact).entries;
    expect(renamed).toMatchObject([{ data: { [marker]: { [`a ${marker}`]: 1 } } }]);
    expect(JSON.stringify(dropped)).not.toMatch(/iVBOR|res_0123/);
    const kept = redactSession(source, redact, { attachments: "keep" }).entries;
    expect(kept.slice(0, 2)).toEqual(source.entries.slice(0, 2));
    expect(kept[2]).toMatchObject({ data: { files: [] } });
  });

  it("keeps the agent of original files, and the text of an unknown entry without its secrets", () => {
    const foreign = { v: 1, agent: "codex", agentVersion: "1.2", format: "legacy" };
    const place = (id: string, parentId: string | null) => ({
      id,
      parentId,
      timestamp: plainHeader.timestamp,
    });
    const given = [
      { type: "future", ...place("aaaaaaaa", null), note: `a ${token}` },
      { type: "custom", ...place("bbbbbbbb", "aaaaaaaa"), customType: "sessile.foreign", data: foreign },
      { type: "custom", ...place("cccccccc", "bbbbbbbb"), customType: "sessile.foreign", data: null },
    ];
    const lines = [plainHeader, ...given].map((line) => `${JSON.stringify(line)}\n`);
    const { entries } = redactSession(parseSession(lines.join("")), redact);
    const raw = JSON.stringify(given[0]).replace(token, marker);
    expect(entries.map((entry) => entry.type === "custom" && [entry.customType, entry.data])).toEqual([
      ["sessile.foreign_line", { text: raw }],
      ["sessile.foreign", { ...foreign, files: [] }],
      ["sessile.foreign", {}],
    ]);
  });

  it("keeps the tree if a redaction leaves an entry invalid", async () => {
    const entries = parseSession(
      sessionOf([
        {
          type: "message",
          id: "aaaaaaaa",
          parentId: null,
          timestamp: plainHeader.timestamp,
          message: userMessage("hi"),
        },
      ]).text,
    );
    const copy = redactSession(entries, secretRedaction([/user/]));
    expect(copy.entries).toMatchObject([
      { type: "custom", id: "aaaaaaaa", customType: "sessile.unreadable" },
    ]);
    await memorySessionStore().adopt(copy);
    expect(() => redactSession({ ...entries, header: undefined }, redact)).toThrow(
      /source: expected a session/,
    );
    // @ts-expect-error -- no function
    expect(() => redactSession(entries, "secrets")).toThrow(/redact: expected a function/);
  });
});

/** The bytes of a session that an agent could have written, with a text in it. */
async function importedWith(text: string, rules: SecretRedaction, from: ForeignFormat = plain) {
  const bytes = lines([
    { kind: "start", id: "s1", cwd: `/w/${text}` },
    { kind: "say", id: "a", text, [text]: { deep: [text] } },
    { kind: "other", text: JSON.stringify({ text }) },
  ]);
  return importSession([{ path: "a.jsonl", bytes }], { from, redact: rules });
}

describe("importSession with a redaction", () => {
  it.each(Object.keys(planted))("%s: no secret in entries, header or report", async (name) => {
    await fc.assert(
      fc.asyncProperty(
        planted[name] as fc.Arbitrary<{ text: string; secrets: readonly string[] }>,
        async (secret) => {
          for (const text of [secret.text, Buffer.from(`a ${secret.text}`).toString("base64")]) {
            const rules = secretRedaction([...new Set([name, "home-directory"])]);
            const { header, entries, report } = await importedWith(text, rules);
            const out = JSON.stringify([header, report, ...entries.map((entry) => encodeEntry(entry))]);
            for (const part of secret.secrets) {
              expect(out).not.toContain(part);
              expect(out).not.toContain(Buffer.from(part).toString("base64").slice(4, -8));
            }
            expect(rules.counts[name]).toBeGreaterThan(1);
          }
        },
      ),
      { numRuns: rounds(1, 20) },
    );
  });
});

describe("names of an import", () => {
  const files = (path: string, records: readonly object[]) => [{ path, bytes: lines(records) }];

  it("has no secret of a file's name in the id of the session", async () => {
    const records = [{ kind: "say", id: "a", text: "a" }];
    const { header } = await importSession(files(token, records), { from: plain, redact });
    expect(header.id).not.toContain(token);
    expect((await importSession(files("a", records), { from: plain, redact })).header.id).toBe("a");
  });

  it("has no secret in the header of a session of pi", async () => {
    const timestamp = "2026-01-01T00:00:00.000Z";
    const parts = { id: token, timestamp, cwd: `/w/${token}`, parentSession: `/s/${token}.jsonl` };
    const records = [{ type: "session", version: 3, ...parts }];
    const { header } = await importSession(files("pi.jsonl", records), { from: [plain], redact });
    expect(JSON.stringify(header)).not.toContain(token);
  });

  it("has no secret in the version of an agent", async () => {
    const imported = await importSession(files("a", [{ kind: "start", id: "s1" }]), { from: plain });
    const entries = imported.entries.map((entry) =>
      entry.type === "custom" ? { ...entry, data: { v: 1, agent: "x", agentVersion: token } } : entry,
    );
    expect(JSON.stringify(entries)).toContain(token);
    expect(JSON.stringify(redactSession({ ...imported, entries }, redact))).not.toContain(token);
  });
});
