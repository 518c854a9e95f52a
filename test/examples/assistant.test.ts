import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sessionMemory } from "sessile/memory";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ExampleRun, runExample } from "./support/run-example.js";

const timeout = 600_000;
const blocks = [{ label: "facts", writable: true }] as const;

/** A word as bytes that a file may have of it: raw, escaped, and in base64 at each of three places. */
function formsOf(word: string): readonly string[] {
  const inBase64 = ["", "x", "xx"].map((before) =>
    Buffer.from(`${before}${word}`)
      .toString("base64")
      .slice(before === "" ? 0 : 4, -4),
  );
  const escaped = Array.from(word, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join("");
  return [word, word.toUpperCase(), escaped, ...inBase64];
}

describe("a personal assistant", () => {
  let scratch: string;
  let run: ExampleRun;
  let dir: string;
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), "sessile-assistant-test-"));
    run = await runExample("07-assistant", [], { TMPDIR: scratch });
    dir = /^directory: (.+)$/m.exec(run.stdout)?.[1] ?? "";
  }, timeout);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const filesOf = () =>
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"));
  const open = async (person: string) => {
    const sessions = fileSessionStore({ dir: join(dir, "sessions") });
    const latest = await sessions.latest({ partition: person });
    if (latest === undefined) throw new Error(`${person} has no session`);
    return { sessions, session: await sessions.open(latest, { partition: person }) };
  };

  it("keeps facts for each person and branch, reads documents, and searches its past", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const [, ...lists] = run.stdout.split(/^Facts about /m);
    const facts = lists.map((list) => [...list.matchAll(/^- (.+?) {2}\(/gm)].map(([, fact]) => fact));
    expect(facts).toEqual([
      ["lives in Oslo", "is allergic to hazelnuts", "prefers trains"],
      ["is called Ben"],
      ["lives in Oslo", "prefers ships"],
    ]);
    expect(run.stdout).toContain("(load_document: The document bergen.md.");
    expect(run.stdout).toContain("(unload_document: bergen.md was put away.)");
    expect(run.stdout).toContain("You are allergic to them.");
  });

  it("forgets: no file has the word, in any form, and all else is there", { timeout }, async () => {
    expect(run.stdout).toMatch(/^8 entries were erased\.$/m);
    expect(run.stdout).toMatch(/^0 of \d+ files have the words, and a search finds 0 entries\.$/m);
    const files = filesOf();
    for (const form of formsOf("hazelnuts")) expect(files.filter((file) => file.includes(form))).toEqual([]);
    // The forms are those of a text that is there.
    const [trains = ""] = formsOf("prefers trains");
    expect(files.filter((file) => file.includes(trains))).toHaveLength(1);
    const { session } = await open("anna");
    const memory = sessionMemory(session, { blocks });
    const kept: string[] = [];
    const { items } = await session.context();
    for (const { id } of await session.leaves()) {
      await session.branch(id);
      kept.push((await memory.get("facts")).text);
    }
    expect(kept.sort()).toEqual(["lives in Oslo\nprefers ships", "lives in Oslo\nprefers trains"]);
    expect(JSON.stringify(items)).toContain("[erased]");
  });

  it("goes back in a later process, and forgets again there", { timeout }, async () => {
    const { session, sessions } = await open("anna");
    const hits: string[] = [];
    for await (const { entryId } of sessions.search({ text: "trains", partition: "anna", branch: "all" }))
      hits.push(entryId);
    expect(hits.length).toBeGreaterThan(0);
    const ships = (await session.leaves()).find(({ current }) => !current)?.id ?? "";
    const back = await runExample("07-assistant", [dir, "anna", "--back", ships, "--forget", "trains"]);
    expect(back).toMatchObject({ code: 0, stderr: "" });
    expect(back.stdout).toMatch(/^0 of \d+ files have the words, and a search finds 0 entries\.$/m);
    const [documents, ...others] = filesOf().filter((file) => /\btrains\b/i.test(file));
    expect([documents, others]).toEqual([undefined, []]);
    const told = 'My cat is "Tom \\ Jerry".';
    const quoted = await runExample("07-assistant", [dir, "ben", told, "--forget", '"Tom \\ Jerry"']);
    expect(quoted.stdout).toMatch(/^[1-9]\d* entries were erased\.$/m);
    expect(quoted.stdout).toMatch(/^0 of \d+ files have the words/m);
    expect(filesOf().filter((file) => file.includes("Jerry"))).toEqual([]);
    const { session: ben } = await open("ben");
    expect((await sessionMemory(ben, { blocks }).get("facts")).text).toBe("is called Ben");
  });
});
