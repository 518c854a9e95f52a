import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, userMessage } from "sessile/content";
import { fileSessionStore } from "sessile/session/node";
import { afterAll, expect, it } from "vitest";
import { call } from "./call.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-search-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const texts = [
  'She said "the café is closed", in Zürich.',
  "a\tb\\n is no line break, but\nthis is",
  "漢字 only",
  "case Matters",
  "one two three",
  "three two one",
];

it("finds exactly the entries with all words, however JSON writes them and whatever the file calls its lines", async () => {
  const store = fileSessionStore({ dir });
  const session = await store.create({ cwd: "/work" });
  const model = { provider: "p", model: "m" };
  for (const text of texts) {
    await session.appendMessage(userMessage(text));
    await session.appendMessage(assistantMessage(model, `Answer: ${text}`));
  }
  await session.append([{ type: "custom_message", customType: "note", content: "one note", display: true }]);
  await session.close();
  const path = session.location ?? "";
  const written = new Map<string, string>();
  for (const line of readFileSync(path, "utf8").trim().split("\n").slice(1)) {
    const { id, message, content } = JSON.parse(line);
    written.set(id, message?.content?.[0]?.text ?? message?.content ?? content);
  }
  const found = async (words: readonly string[]) =>
    (await call(["search", ...words, "--dir", dir, "--json"], { cwd: dir })).json.map(
      ({ entryId }) => entryId,
    );
  const queries = [
    ...[
      ["café"],
      ['"the café'],
      ["Zürich", "closed"],
      ["a\tb"],
      ["\\n is"],
      ["but\nthis"],
      ["漢字"],
      ["字 only"],
    ],
    ...[
      ["matters"],
      ["Matters"],
      ["one", "two"],
      ["one two"],
      ["two one", "Answer"],
      ["note"],
      ["id"],
      ["role"],
    ],
  ];
  for (const words of queries) {
    const expected = [...written].filter(([, text]) => words.every((word) => text.includes(word)));
    expect([words, await found(words)]).toEqual([words, expected.map(([id]) => id)]);
  }
  // A file of pi's first version: its lines have no ids.
  const [header = "", ...lines] = readFileSync(path, "utf8").trim().split("\n");
  const { version: _, ...old } = JSON.parse(header);
  const bare = lines.map((line) => {
    const { id: _id, parentId: _parent, crc: _crc, ...entry } = JSON.parse(line);
    return JSON.stringify(entry);
  });
  writeFileSync(path, `${[JSON.stringify(old), ...bare].join("\n")}\n`);
  expect((await found(["Zürich"])).length).toBe(2);
});
