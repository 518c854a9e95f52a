import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eraseEntries, type SessionEntry, type UnknownEntry, userMessage } from "sessile";
import { ingest } from "sessile/attachments";
import { fileBlobStore, fileSessionStore, openFolder } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands/index.js";
import { headline, messageLine, messageLines } from "../../src/cli/entry-text.js";
import { fileClock } from "../support/file-clock.js";
import { pngOf } from "../support/tether.js";
import { type CallOptions, call } from "./call.js";
import { packedCalls } from "./packed-calls.js";
import { type Sample, sample } from "./sample.js";

let made: Sample;
beforeAll(async () => {
  made = await sample();
});
afterAll(() => made[Symbol.dispose]());

const run = (words: readonly string[], options: CallOptions = {}) =>
  call(words, { cwd: made.dir, ...options });

describe("ls", () => {
  it("lists the sessions of the project, found from a folder below it", async () => {
    const { stdout, code } = await run(["ls"], { cwd: join(made.dir, ".sessile") });
    expect(code).toBe(0);
    expect(stdout.split("\n")[0]).toMatch(/^agent +id +modified +turns +size +project +title$/);
    expect(stdout).toContain(`sessile  ${made.id.slice(0, 13)}`);
    expect(stdout).toMatch(/ Notes\n$/);
  });

  it("prints a line of JSON for each", async () => {
    const { json } = await run(["ls", "--json"]);
    expect(json).toEqual([
      expect.objectContaining({
        agent: "sessile",
        id: made.id,
        title: "Notes",
        cwd: made.dir,
        path: made.path,
      }),
    ]);
    expect([json[0].size, json[0].turns]).toEqual([statSync(made.path).size, 1]);
  });

  it("filters by agent, project, age and number", async () => {
    // Ages are of files, by the clock of their system.
    const now = fileClock();
    const count = async (...words: string[]) => (await run(["ls", "--json", ...words], { now })).json.length;
    expect(await count("--agent", "sessile")).toBe(1);
    expect(await count("--agent", "codex")).toBe(0);
    expect(await count("--cwd", ".")).toBe(1);
    expect(await count("--cwd", "elsewhere")).toBe(0);
    expect(await count("--since", "1d")).toBe(1);
    expect(await count("--since", "2099-01-01")).toBe(0);
    expect((await run(["ls", "--since", "2099-01-01"])).stderr).toMatch(
      /^no session found in .*sessions.*\n$/,
    );
  });

  it("cannot read a store that does not exist", async () => {
    for (const words of [["--dir", "nowhere"], ["nowhere"]]) {
      const { code, stderr } = await run(["ls", ...words]);
      expect([code, stderr]).toEqual([3, "sessile: there is no directory nowhere (SESSION_NOT_FOUND)\n"]);
    }
    expect((await run(["ls", ".sessile/sessions", "--json"])).json.map(({ id }) => id)).toEqual([made.id]);
  });
});

describe("the name of a session", () => {
  it("is a path, an id, a unique start of one, or latest", async () => {
    for (const name of [made.path, made.id, made.id.slice(0, 8), "latest"])
      expect((await run(["show", name])).stdout).toContain(made.id);
  });

  it("is that of a session which the options choose", async () => {
    for (const name of [made.id, "latest"])
      expect(await run(["stats", name, "--agent", "codex"])).toMatchObject({ code: 3, stdout: "" });
    expect((await run(["stats", made.id, "--agent", "sessile"])).code).toBe(0);
  });

  it("ends a command that has no other, else is noted, but for one that names several", async () => {
    const missing = await run(["stats", "nobody"]);
    expect([missing.code, missing.stdout, missing.stderr]).toEqual([
      3,
      "",
      "sessile: no session has the id nobody (SESSION_NOT_FOUND)\n",
    ]);
    const noted = await run(["stats", "nobody", made.id]);
    expect([noted.code, noted.stdout.length > 0]).toEqual([3, true]);
    expect(noted.stderr).toContain("nobody");
  });

  it("is refused if several sessions begin with it, and if it is too short", async () => {
    using two = await sample();
    const store = fileSessionStore({ dir: join(two.dir, ".sessile", "sessions") });
    const id = `${two.id.slice(0, -1)}${two.id.endsWith("0") ? "1" : "0"}`;
    const other = await store.create({ cwd: two.dir, id });
    await other.appendMessage({ role: "user", content: "Hello", timestamp: 1 });
    await other.close();
    const inTwo = (name: string) => call(["show", name], { cwd: two.dir });
    expect(await inTwo(two.id.slice(0, 8))).toMatchObject({ code: 2, stdout: "" });
    expect((await inTwo(two.id.slice(0, 8))).stderr).toContain("names 2 sessions");
    expect((await inTwo(two.id)).code).toBe(0);
    const { stdout } = await call(["ls"], { cwd: two.dir });
    expect([stdout.includes(`  ${two.id}  `), stdout.includes(`  ${id}  `)]).toEqual([true, true]);
    expect(await call(["stats", two.id.slice(0, 8), two.id], { cwd: two.dir })).toMatchObject({ code: 2 });
    expect(await inTwo(two.id.slice(0, 3))).toMatchObject({ code: 3 });
  });
});

describe("show", () => {
  it("draws the tree, indented at branches, with the leaf", async () => {
    const { stdout } = await run(["show", "latest"]);
    const lines = stdout.split("\n");
    expect(lines[0]).toBe(`${made.id} ${made.dir} Notes`);
    expect(lines.find((line) => line.includes(made.ids.first))).toMatch(/^ {2}\w+ user: Write notes/);
    expect(lines.find((line) => line.includes(made.ids.side))).toMatch(/^ {4}\w+ assistant: Done/);
    expect(stdout).toMatch(/^\* /m);
  });

  it("shows the context at the leaf and at an entry, a turn, and an entry", async () => {
    const leaf = await run(["show", "latest", "--context"]);
    expect(leaf.stdout).toContain("Nothing is readable.");
    expect(leaf.stdout).not.toContain("Done: NOTES.md");
    const side = await run(["show", "latest", "--context", "--at", made.ids.side.slice(0, 5)]);
    expect(side.stdout).toContain("Done: NOTES.md");
    const turn = await run(["show", "latest", "--turn", "1"]);
    expect(turn.stdout).toContain('"path": "README.md"');
    const entry = await run(["show", "latest", "--entry", made.ids.call, "--json"]);
    expect(entry.json[0]).toMatchObject({ id: made.ids.call, type: "message" });
  });

  it("refuses views that exclude each other, absent entries and turns", async () => {
    expect((await run(["show", "latest", "--tree", "--context"])).code).toBe(2);
    expect((await run(["show", "latest", "--turn", "9"])).code).toBe(2);
    expect((await run(["show", "latest", "--entry", "zz"])).code).toBe(3);
  });

  it("makes hostile text inert in every view", async () => {
    for (const view of [[], ["--context"], ["--turn", "1"], ["--json"]]) {
      const { stdout } = await run(["show", "latest", ...view]);
      expect(stdout).toContain("\\u001b[31mred");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      if (view[0] === "--json") expect(stdout).toContain("\\u202egpj.exe\\u009b2J");
    }
  });
});

describe("an entry in a few words", () => {
  it.each<[SessionEntry | UnknownEntry | undefined, string, string]>(
    (
      [
        [undefined, "damaged", ""],
        [{ type: "compaction", tokensBefore: 9, summary: "S" }, "compaction", "9 tokens before: S"],
        [{ type: "branch_summary", summary: "B" }, "branch summary", "B"],
        [{ type: "custom", customType: "acme", data: { a: 1 } }, "acme", '{"a":1}'],
        [{ type: "custom", customType: "acme", data: "x".repeat(300) }, "acme", `"${"x".repeat(199)}`],
        [{ type: "custom", customType: "acme" }, "acme", ""],
        [{ type: "custom_message", customType: "note", content: "N" }, "note", "N"],
        [
          {
            type: "custom_message",
            customType: "note",
            content: [{ type: "text", text: "N" }, { type: "image" }],
          },
          ...["note", "N"],
        ],
        [{ type: "model_change", provider: "acme", modelId: "m" }, "model", "acme m"],
        [{ type: "thinking_level_change", thinkingLevel: "high" }, "thinking", "high"],
        [{ type: "label", label: "L", targetId: "0123456789" }, "label", "L on 01234567"],
        [{ type: "label", targetId: "0123456789" }, "label", "(cleared) on 01234567"],
        [{ type: "session_info", name: "N", title: "T" }, "info", "T"],
        [{ type: "session_info", name: "N" }, "info", "N"],
        [{ type: "session_info" }, "info", ""],
        [
          { type: "usage", kind: "title", model: "m", usage: { totalTokens: 3 } },
          "usage",
          "title, m, 3 tokens",
        ],
        [{ type: "context_edit", targetId: "0123456789", replacement: null }, "omits", "01234567"],
        [{ type: "context_edit", targetId: "0123456789", replacement: {} }, "edits", "01234567"],
        [{ type: "message_update", targetId: "0123456789" }, "updates", "01234567"],
        [{ type: "part_update", targetId: "0123456789" }, "updates", "01234567"],
        [{ type: "leaf", targetId: null }, "leaf", "the start"],
        [{ type: "leaf", targetId: "0123456789" }, "leaf", "01234567"],
        [{ type: "context_pin", targetId: "0123456789", pinned: true }, "pins", "01234567"],
        [{ type: "context_pin", targetId: "0123456789", pinned: false }, "unpins", "01234567"],
        [{ type: "revert", targetId: "0123456789", undone: false }, "revert", "01234567"],
        [{ type: "revert", targetId: "0123456789", undone: true }, "revert undone", "01234567"],
        [{ type: "resource_view", resourceId: "res_1", reason: "R" }, "view", "res_1 R"],
        [{ type: "resource_view", resourceId: "res_1" }, "view", "res_1 "],
        [{ type: "resource_observation", text: "O" }, "observation", "O"],
        [{ type: "unknown", entryType: "dream" }, "dream", "(unknown to this version)"],
      ] as const
    ).map(([entry, kind, text]) => [entry as unknown as SessionEntry, kind, text]),
  )("%j: %s, %s", (entry, kind, text) => {
    expect(headline(entry)).toEqual({ kind, text });
  });

  it("is that of its message: calls before text, and in full each block by its type", () => {
    const ran = { role: "bashExecution", command: "ls", output: "a\nb", timestamp: 1 };
    const summary = { role: "branchSummary", summary: "B", timestamp: 1 };
    const reply = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "so" },
        { type: "toolCall", id: "c1", name: "read", arguments: { a: 1 } },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "opaque", data: { type: "x" } },
      ],
    };
    const of = (message: object) => [messageLine(message as never), messageLines(message as never)];
    expect(of(ran)).toEqual(["$ ls", [{ text: "$ ls" }, { title: "output", text: "a\nb" }]]);
    expect(of(summary)).toEqual(["B", [{ text: "B" }]]);
    expect(of({ role: "user", content: "hello" })).toEqual(["hello", [{ text: "hello" }]]);
    expect(of(reply)).toEqual([
      expect.stringMatching(/^<read> .*so/),
      [
        { title: "thinking", text: "hm" },
        { text: "so" },
        { title: "call read c1", text: '{\n  "a": 1\n}' },
        { title: "image image/png", text: "4 characters of base64" },
        { title: "opaque", text: '{"type":"x"}' },
      ],
    ]);
  });
});

describe("diff", () => {
  it("shows the entries and messages of each point alone", async () => {
    const words = ["diff", "latest", made.ids.side, "leaf"];
    const { code, json } = await run([...words, "--json"]);
    expect(code).toBe(1);
    expect(json[0].common).toBe(made.ids.call);
    expect(json[0].context).toMatchObject({ same: 2, a: [{ role: "toolResult" }, { role: "assistant" }] });
    const { stdout } = await run(words);
    expect(stdout).toMatch(/^- .*Done: NOTES\.md/m);
    expect(stdout).toMatch(/^\+ .*Nothing is readable/m);
    expect((await run(["diff", "latest", "leaf", "leaf"])).code).toBe(0);
  });
});

describe("project", () => {
  it("shows what a target gets, and writes the body once", async () => {
    const words = ["project", "latest", "--target", "anthropic"];
    const { json } = await run([...words, "--json", "-o", "body.json"]);
    expect(json[0]).toMatchObject({ target: "anthropic-messages", model: "claude-sonnet-5" });
    const written = JSON.parse(readFileSync(join(made.dir, "body.json"), "utf8"));
    expect(JSON.stringify(written)).toContain("Write notes on this project.");
    expect(statSync(join(made.dir, "body.json")).size).toBe(json[0].bodyBytes);
    const again = await run([...words, "-o", "body.json"]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("exists: choose another name")]);
    expect(readdirSync(made.dir).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("writes nothing after an interrupt", async () => {
    const interrupt = new AbortController();
    interrupt.abort();
    const words = ["project", "latest", "--target", "anthropic", "-o", "cut.json"];
    expect((await run(words, { signal: interrupt.signal })).code).toBe(3);
    expect(readdirSync(made.dir).filter((name) => name.startsWith("cut.json"))).toEqual([]);
  });

  it("needs a model if the session has none of the provider, and a known target", async () => {
    expect((await run(["project", "latest", "--target", "gemini"])).code).toBe(2);
    expect((await run(["project", "latest", "--target", "nobody"])).code).toBe(2);
    const { stdout } = await run(["project", "latest", "--target", "gemini", "--model", "gemini-3-pro"]);
    expect(stdout).toMatch(/^within imageCount: /m);
  });
});

describe("diagnose and salvage", () => {
  it("find a cut line, and write a clean file beside it", async () => {
    using damaged = await sample();
    expect(await call(["diagnose", "latest"], { cwd: damaged.dir })).toMatchObject({ code: 0 });
    const lines = readFileSync(damaged.path, "utf8").split("\n");
    writeFileSync(damaged.path, lines.map((line, at) => (at === 3 ? line.slice(0, 40) : line)).join("\n"));
    const found = await call(["diagnose", damaged.path, "--json"], { cwd: damaged.dir });
    expect(found.code).toBe(1);
    const [first] = found.json[0].findings;
    expect(first).toMatchObject({ line: 4 });
    const offset = Buffer.byteLength(`${lines.slice(0, 3).join("\n")}\n`);
    expect((await call(["diagnose", damaged.path], { cwd: damaged.dir })).stdout).toContain(
      `line 4, offset ${offset}`,
    );
    const before = readFileSync(damaged.path);
    const words = ["salvage", damaged.path, "--to", "whole.jsonl"];
    expect(await call(words, { cwd: damaged.dir })).toMatchObject({ code: 1 });
    expect(readFileSync(damaged.path).equals(before)).toBe(true);
    expect((await call(["show", "./whole.jsonl"], { cwd: damaged.dir })).code).toBe(0);
    expect((await call(words, { cwd: damaged.dir })).code).toBe(2);
  });
});

describe("blobs", () => {
  it("are listed with their sessions, verified and collected", async () => {
    using own = await sample();
    const inOwn = (...words: string[]) =>
      call(["blobs", ...words, ".sessile", "--sessions", ".sessile/sessions"], { cwd: own.dir });
    expect((await inOwn("ls", "--json")).json).toEqual([
      expect.objectContaining({ ref: own.ref, sessions: 1 }),
    ]);
    expect((await inOwn("verify")).code).toBe(0);
    const { ref } = await own.blobs.put(new TextEncoder().encode("garbage"));
    expect((await inOwn("verify", "--json")).json[0]).toMatchObject({ orphaned: { count: 1, bytes: 7 } });
    expect((await inOwn("gc", "--dry-run", "--grace-days", "0", "--json")).json[0]).toMatchObject({
      dryRun: true,
      trashed: { count: 1 },
    });
    expect((await own.blobs.get(ref)) !== undefined).toBe(true);
    await inOwn("gc", "--grace-days", "0");
    expect((await inOwn("ls", "--json")).json.length).toBe(1);

    const name = own.ref.slice("sha256:".length);
    const [file] = readdirSync(join(own.dir, ".sessile"), { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(name) || path.endsWith(name.slice(2)),
    );
    expect(existsSync(join(own.dir, ".sessile", file ?? "none"))).toBe(true);
    chmodSync(join(own.dir, ".sessile", file ?? ""), 0o600);
    writeFileSync(join(own.dir, ".sessile", file ?? ""), "rotten");
    expect(await inOwn("verify", "--json")).toMatchObject({ code: 1, json: [{ rotten: [own.ref] }] });
    expect((await inOwn("verify", "--json")).json[0]).toMatchObject({ missing: [own.ref] });
    // The collector moved the rotten bytes aside.
    expect((await inOwn("verify")).stdout).toBe(
      `0 blobs, 0 B\nmissing ${own.ref}\n0 without a reference, 0 B\n`,
    );
    expect(await inOwn("gc")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(`\nmissing ${own.ref}\n$`),
    });
    const damaged = await call(["diagnose", "latest"], { cwd: own.dir });
    expect([damaged.code, damaged.stdout]).toEqual([
      1,
      expect.stringContaining(`blob ${own.ref} is missing`),
    ]);
  });

  it("are not collected if a session is damaged", async () => {
    using own = await sample();
    appendFileSync(own.path, '{"type":"message","id":\n');
    const words = ["blobs", "gc", ".sessile", "--sessions", ".sessile/sessions"];
    const verified = await call(words.with(1, "verify"), { cwd: own.dir });
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(/^incomplete .*: \S/m)]);
    const { code, stderr } = await call(words, { cwd: own.dir });
    expect([code, stderr]).toEqual([3, expect.stringContaining("COLLECTION_REFUSED")]);
  });
});

describe("merge and sync", () => {
  it("bring two copies together that both went on", async () => {
    using own = await sample();
    const inOwn = (...words: string[]) => call(words, { cwd: own.dir });
    const copied = await inOwn("sync", ".sessile/sessions", "backup/sessions", "--one-way", "--json");
    expect(copied).toMatchObject({
      code: 0,
      json: [{ sessions: 1, changed: 1, blobs: { count: 1, lost: [] } }],
    });
    const [copy] = (await inOwn("ls", "--dir", "backup/sessions", "--json")).json;
    expect(readFileSync(copy.path, "utf8")).toBe(readFileSync(own.path, "utf8"));

    const say = async (dir: string, content: string) => {
      const session = await fileSessionStore({ dir: join(own.dir, dir) }).open(own.id, { mode: "write" });
      await session.appendMessage({ role: "user", content, timestamp: 1 });
      await session.close();
    };
    await say(".sessile/sessions", "Said here.");
    await say("backup/sessions", "Said there.");
    const merged = await inOwn("merge", own.path, copy.path, "-o", "both.jsonl", "--json");
    expect(merged.json[0]).toMatchObject({ added: { a: 1, b: 1 }, differing: [] });
    const both = (await inOwn("show", "./both.jsonl")).stdout;
    expect([both.includes("Said here."), both.includes("Said there.")]).toEqual([true, true]);
    expect((await inOwn("merge", own.path, copy.path, "-o", "both.jsonl")).code).toBe(2);
    chmodSync(join(own.dir, "both.jsonl"), 0o640);
    expect((await inOwn("merge", own.path, copy.path, "-o", "both.jsonl", "--force")).code).toBe(0);
    expect(statSync(join(own.dir, "both.jsonl")).mode & 0o777).toBe(0o640);

    const synced = await inOwn("sync", ".sessile/sessions", "backup/sessions", "--json");
    expect(synced).toMatchObject({ code: 0, json: [{ sessions: 1, changed: 1, skipped: [] }] });
    expect((await inOwn("show", own.path)).stdout).toContain("Said there.");
    expect((await inOwn("sync", ".sessile/sessions", "backup/sessions", "--json")).json[0].entries).toBe(0);
    expect((await inOwn("sync", "nowhere", "backup/sessions")).code).toBe(3);
  });
});

describe("a merge of copies of which an entry was edited", () => {
  it("has the edited line by the base, and without one or with two edits a conflict: exit code 1", async () => {
    using own = await sample();
    const base = readFileSync(own.path, "utf8");
    const copy = (name: string, text: string) =>
      writeFileSync(join(own.dir, name), base.replace("Done: NOTES.md is written.", text));
    copy("base", "Done: NOTES.md is written.");
    copy("edited", "[redacted]");
    copy("other", "[removed]");
    const merged = async (a: string, b: string, ...words: readonly string[]) => {
      const all = ["merge", `./${a}`, `./${b}`, "-o", "to.jsonl", "--force", "--json", ...words];
      const { code, json } = await call(all, { cwd: own.dir });
      const [{ differing, conflicts }] = json;
      return [code, differing.length, conflicts.length, readFileSync(join(own.dir, "to.jsonl"), "utf8")];
    };
    const edited = readFileSync(join(own.dir, "edited"), "utf8");
    expect(await merged("base", "edited", "--base", "base")).toEqual([0, 1, 0, edited]);
    expect(await merged("edited", "base", "--base", "base")).toEqual([0, 1, 0, edited]);
    expect((await merged("edited", "other", "--base", "base")).slice(0, 3)).toEqual([1, 1, 1]);
    expect((await merged("edited", "other")).slice(0, 3)).toEqual([1, 1, 1]);
    expect((await merged("edited", "edited")).slice(0, 3)).toEqual([0, 0, 0]);
  });
});

describe("a sync that cannot bring all together", () => {
  it("ends with 1: entries that differ, files that are no session, sessions that are no copies", async () => {
    using own = await sample();
    const inOwn = (...words: string[]) => call(words, { cwd: own.dir });
    const both = [".sessile/sessions", "copy/sessions"];
    await inOwn("sync", ...both, "--one-way");
    const [{ path }] = (await inOwn("ls", "copy/sessions", "--json")).json;
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace("Done: NOTES.md is written.", "[redacted]"));
    const differs = await inOwn("sync", ...both, "--json");
    expect([differs.code, differs.json[0].differing.length]).toEqual([1, 1]);
    expect((await inOwn("sync", ...both)).stdout).toContain(own.ids.side);
    // The other one's line stays in each.
    expect([
      readFileSync(path, "utf8").includes("[redacted]"),
      readFileSync(own.path, "utf8").includes("Done:"),
    ]).toEqual([true, true]);

    writeFileSync(path, text.replace(/"timestamp":"\d{4}/, '"timestamp":"2001'));
    const mismatched = await inOwn("sync", ...both, "--json");
    expect([mismatched.code, mismatched.json[0].skipped.map(({ code }: { code: string }) => code)]).toEqual([
      1,
      ["SESSION_MISMATCH"],
    ]);

    writeFileSync(path, "no session\n");
    const broken = await inOwn("sync", ...both, "--json");
    expect(broken.code).toBe(1);
    expect(broken.json[0].skipped).toContainEqual(
      expect.objectContaining({ code: "NO_HEADER", location: path }),
    );
    expect(readFileSync(path, "utf8")).toBe("no session\n");
  });
});

it("a session has the images of its store, beside it or as openFolder lays it out, and of its partition", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-beside-"));
  try {
    for (const partition of ["", "anna"]) {
      const stores = {
        opened: openFolder(join(dir, "opened")).blobs,
        beside: fileBlobStore({ dir: join(dir, "beside") }),
      };
      for (const [name, store] of Object.entries(stores)) {
        const blobs = partition === "" ? store : store.partition(partition);
        const sessions = fileSessionStore({ dir: join(dir, name, "sessions"), blobs });
        const session = await sessions.create({ cwd: "/p", partition });
        const bytes = Buffer.from(pngOf(100, name.length * 10 + partition.length));
        await session.appendMessage(userMessage("See.", await ingest({ bytes, name: "a.png" }, { blobs })));
        await session.close();
        const chosen = partition === "" ? [] : ["--partition", partition];
        const words = ["diagnose", session.id, "--dir", `${name}/sessions`, ...chosen];
        const { stdout } = await call(words, { cwd: dir });
        expect([name, partition, stdout]).toEqual([name, partition, expect.stringMatching(/^sound/)]);
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

describe("wrong words", () => {
  it("get one line, a code and the way to the help, and never a stack", async () => {
    using own = await sample();
    const missing = join(own.dir, "no-dir", "x");
    const wrong: readonly (readonly string[])[] = [
      ...[
        ["lss"],
        ["show"],
        ["show", "zzzz"],
        ["show", "latest", "--entry", "zzzz"],
        ["show", "latest", "--at", ""],
      ],
      ...[
        ["ls", "-n", "x"],
        ["ls", "-n", "0"],
        ["ls", "-n", "1.5"],
        ["ls", "--since", "yesterday-ish"],
        ["ls", "--since", "-1d"],
      ],
      ...[
        ["ls", "--agent", "claude"],
        ["ls", "--dir", missing],
        ["ls", "--store", "postgres://"],
        ["ls", "--store", `sqlite:${missing}`],
      ],
      ...[
        ["ls", "--store", "ftp://x"],
        ["ls", "--nope"],
        ["ls", "--json=1"],
        ["search"],
        ["search", ""],
        ["search", "..."],
        ["search", "a", "--role"],
      ],
      ...[
        ["stats", "latest", "--by", "week"],
        ["stats", "latest", "--prices", missing],
        ["diff", "latest"],
        ["diff", "latest", "x", "y"],
      ],
      ...[
        ["project", "latest"],
        ["project", "latest", "--target", "gpt"],
        ["project", "latest", "--target", "anthropic", "-o", missing],
      ],
      ...[
        ["diagnose", own.dir],
        ["diagnose", missing],
        ["salvage", missing, "--to", missing],
        ["salvage", "latest"],
      ],
      ...[
        ["import", missing],
        ["export", "latest"],
        ["export", "latest", "--to", "claude"],
        ["convert", missing, "--to", "pi"],
      ],
      ...[
        ["resume", "latest"],
        ["resume", "latest", "--in", "cursor"],
        ["restore", "zzzz"],
        ["redact", "latest", "--to", missing],
      ],
      ...[
        ["merge", missing, missing],
        ["sync", own.dir],
        ["view", "latest", "-o", missing],
        ["view", "latest", "--images", "-1"],
      ],
      ...[
        ["serve", "latest", "--port", "70000"],
        ["completion", "cmd"],
        ["blobs", "verify"],
        ["blobs", "rm"],
        ["archive", "stop"],
      ],
    ];
    expect(wrong.length).toBeGreaterThan(40);
    for (const words of wrong) {
      const { code, stderr, stdout } = await call(words, { cwd: own.dir });
      const [line, hint, ...rest] = stderr.trimEnd().split("\n");
      expect([words, code === 2 || code === 3, rest, stdout]).toEqual([words, true, [], ""]);
      expect(line, words.join(" ")).toMatch(/^sessile: ./);
      if (code === 2) expect(hint).toMatch(/^Try: sessile .*--help$/);
      else expect(hint).toBe(undefined);
    }
  });

  it("get the nearest value, a command by another name, and the first line of a long error", async () => {
    using own = await sample();
    const told = async (...words: string[]) => (await call(words, { cwd: own.dir })).stderr.split("\n")[0];
    expect(await told("ls", "--agent", "claude")).toMatch(/got "claude"; did you mean claude-code\?$/);
    expect(await told("ls", "--agent", "xyzzyx")).toMatch(/got "xyzzyx"$/);
    expect(await told("diagnose", "latest", "--agent", "pi")).toMatch(
      /^sessile: no session found in .*no-home/,
    );
    expect(await told("merge", "a", "b", "--agent", "pi")).toBe("sessile: there is no option --agent");
    expect(await told("ls", "--jsn")).toBe("sessile: there is no option --jsn; did you mean json?");
    expect(await call(["doctor", "latest"], { cwd: own.dir })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^sound/),
    });
    expect(await call(["repair", "latest"], { cwd: own.dir })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Try: sessile salvage --help"),
    });
    const redact = ["redact", "latest", "--to", "r.jsonl", "--rule", `/(a\n${"b\n".repeat(150)}/`];
    const { stderr, code } = await call(redact, { cwd: own.dir });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^sessile: --rule: .{1,100}\nTry: .*\n$/)]);
    const asJson = await call([...redact, "--json"], { cwd: own.dir });
    expect(JSON.parse(asJson.stderr).error.message.length).toBeGreaterThan(200);
  });
});

it("project folds equal losses of an entry to one line", async () => {
  using own = await sample();
  const path = join(own.dir, "calls.jsonl");
  const toolCall = (id: string) => ({ type: "toolCall", id, name: "read", arguments: {} });
  const message = (id: string, parentId: string | null, content: object) => ({
    ...{ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z" },
    message: { timestamp: 1, ...content },
  });
  const lines = [
    { type: "session", version: 3, id: "calls", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" },
    message("00000001", null, { role: "user", content: "Read." }),
    message("00000002", "00000001", {
      ...{ role: "assistant", provider: "anthropic", model: "claude-sonnet-5", api: "anthropic-messages" },
      content: [toolCall("c1"), toolCall("c2"), toolCall("c3")],
      stopReason: "toolUse",
    }),
    message("00000003", "00000002", { role: "user", content: "Go on." }),
  ];
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { stdout, stderr } = await call(["project", path, "--target", "anthropic"], { cwd: own.dir });
  expect(
    stdout.split("\n").filter((line) => line.startsWith("interrupted")),
    stderr,
  ).toEqual([expect.stringMatching(/^interrupted +history +00000002 +a call without a result \(3 times\)$/)]);
});

/** One serves until it is stopped, two write into the homes of agents. */
const notPacked = ["serve", "resume", "restore"];

describe("every command", () => {
  it("prints JSON alone with --json: one object, or a line for each item of a list", async () => {
    using own = await sample();
    const calls = Object.entries(packedCalls(own));
    const lists = ["ls", "search", "diagnose", "blobs ls"];
    expect(calls.map(([name]) => name)).toEqual(
      commands.map(({ name }) => name).filter((name) => !notPacked.includes(name)),
    );
    for (const [name, { words, code = 0 }] of calls) {
      // The viewer's page is not built here: the installed program is called for it.
      if (name === "view") continue;
      const called = await call([...name.split(" "), ...words, "--json"], { cwd: own.dir });
      expect([name, called.code, called.stderr]).toEqual([name, code, ""]);
      const isObject = (each: unknown) => typeof each === "object" && each !== null && !Array.isArray(each);
      expect([name, called.json.every(isObject)]).toEqual([name, true]);
      expect([name, called.json.length]).toEqual([name, lists.includes(name) ? called.json.length || 1 : 1]);
    }
  });
});

describe("the words and the text of a command", () => {
  it("are what they were, but for times, ids and places in the file", async () => {
    using own = await sample();
    const told = async (...words: readonly string[]) => {
      const { code, stdout, stderr } = await call(words, { cwd: own.dir });
      const names = {
        file: own.path,
        blob: own.ref,
        session: own.id,
        "short id": own.id.slice(0, 13),
        ...own.ids,
      };
      const plain = Object.entries(names)
        .reduce((text, [name, value]) => text.replaceAll(value, `<${name}>`), `${stdout}${stderr}`)
        .replaceAll(own.dir, "<dir>")
        .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, "<time>")
        .replace(/offset \d+/g, "offset <at>")
        .replace(/\b[0-9a-f]{8}\b/g, "<id>")
        // Ids count by their digits.
        .replace(/\d+ tokens estimated: \d+ of text/, "<n> tokens estimated: <n> of text")
        .replace(/about \d+ tokens/, "about <n> tokens")
        .replace(/^ +\d+ +\d+ % {2}/gm, "<n> ");
      return [code, ...plain.split("\n").slice(0, -1)];
    };
    const stores = [".sessile", "--sessions", ".sessile/sessions"];
    expect(await told("-V")).toEqual([0, "0.0.0"]);
    expect(await told("--version")).toEqual([0, "0.0.0"]);
    expect(await told("blobs")).toEqual([
      2,
      "sessile: blobs: expected ls, verify, gc",
      "Try: sessile --help",
    ]);
    expect(await told("shwo")).toEqual([
      ...[2, "sessile: there is no command shwo; did you mean show?", "Try: sessile --help"],
    ]);
    expect(await told("ls", "x", "y")).toEqual([2, 'sessile: ls: unexpected "y"', "Try: sessile ls --help"]);
    expect(await told("stats")).toEqual([2, "sessile: stats: missing S", "Try: sessile stats --help"]);
    expect((await told("diagnose", "latest", "--agent", "codex"))[0]).toBe(3);
    expect((await told("redact", "latest", "--to", "x.jsonl", "--blobs", "x"))[0]).toBe(2);
    expect((await told("blobs", "-h"))[3]).toBe(
      "  blobs ls      List blobs, with the sessions that refer to them",
    );
    expect(await told("diagnose", "latest")).toEqual([0, "sound: 8 lines, 3 kB: <file>"]);
    expect(await told("diagnose", "./absent.jsonl")).toEqual([
      ...[3, "sessile: there is no file <dir>/absent.jsonl (SESSION_NOT_FOUND)"],
    ]);
    expect(await told("redact", "latest", "--to", "a.jsonl", "--rule", "/notes/i", "--json")).toEqual([
      ...[0, '{"file":"<dir>/a.jsonl","replaced":{"custom":3}}'],
    ]);
    expect(await told("redact", "latest", "--to", "b.jsonl", "--rule", "github-token")).toEqual([
      ...[0, "<dir>/b.jsonl", "no secret of a known form"],
    ]);
    expect(await told("redact", "latest", "--to", "c.jsonl", "--rule", "/notes/i")).toEqual([
      ...[0, "<dir>/c.jsonl", "       3  custom"],
    ]);
    expect(await told("redact", "latest", "--to", "d.jsonl", "--rule", "gitub-token")).toEqual([
      2,
      'sessile: --rule: there is no rule "gitub-token"; did you mean github-token or gitlab-token? An expression is written /…/',
      "Try: sessile redact --help",
    ]);
    expect((await told("export", "latest", "--to", "codex", "-o", "out")).slice(2)).toEqual([
      "resume with: codex resume <session>",
      "record        read  entries  kept as is",
      "message          4        4           0",
      "session_info     1        1           0",
      "branch 2 entries of other branches",
    ]);
    expect(await told("ls")).toEqual([
      0,
      expect.stringMatching(/^agent {4}id {13}modified {10}turns {2}size {2}project +title$/),
      expect.stringMatching(/^sessile {2}<short id> {2}<time> {6}1 {2}3 kB {2}sessile-cli-\w+ {2}Notes$/),
    ]);
    expect(await told("stats", "latest")).toEqual([
      0,
      "1 sessions, 1 turns, 1 tool calls (1 failed), 0 compactions",
      "",
      "     calls  input  output  cache read  cache write  total     cost",
      "all      1    100      20       1,000           10  1,130  $0.0006",
      expect.stringMatching(/^prices as of \d{4}-\d\d-\d\d$/),
      "",
      "Cached part of the prompt by turn",
      "1: 90 %",
      "",
      "Context at the leaf: about <n> tokens",
      ...["<n> user", "<n> result of read", "<n> call of read", "<n> assistant"],
    ]);
    const [user, reply, result, side, failed, leaf] = [
      ...[
        "user: Write notes on this project. [image dot.png, image/png, 70 B, res_",
        "assistant: <read> I look first.",
      ],
      ...["toolResult: read: # Tally 漢字 👍🏽", "assistant: Done: NOTES.md is written."],
      "toolResult: read: (failed) \\u001b[31mred\\u001b]0;title\\u0007\\u202egpj.exe\\u009b2J next",
      "assistant: Nothing is readable.",
    ];
    expect(await told("show", "latest")).toEqual([
      ...[0, "<session> <dir> Notes"],
      expect.stringContaining(`  <first> ${user}`),
      `  <call> ${reply}`,
      ...[`    <id> ${result}`, `    <side> ${side}`, `    <id> ${failed}`, `    <leaf> ${leaf}`],
      "*   <id> info: Notes",
    ]);
    expect(await told("diff", "latest", own.ids.side, "leaf")).toEqual([
      ...[1, "Entries after <call>", `- <id> ${result}`, `- <side> ${side}`],
      ...[`+ <id> ${failed}`, `+ <leaf> ${leaf}`, "+ <id> info: Notes", "", "Context: 2 messages in both"],
      ...[`- <id> ${result}`, `- <side> ${side}`, `+ <id> ${failed}`, `+ <leaf> ${leaf}`],
    ]);
    expect(await told("project", "latest", "--target", "anthropic")).toEqual([
      ...[0, "anthropic-messages, claude-sonnet-5"],
      "<n> tokens estimated: <n> of text, 1 of 1 images, 0 of documents, 53 of tools and framing; body 780 B",
      ...["endsWithAssistant the last turn is the model's", "nothing is lost"],
      ...["within imageCount: 0 % of 600", "within bodyBytes: 0 % of 32.0 MB"],
    ]);
    expect(await told("blobs", "ls", ...stores)).toEqual([...[0, "<blob>      70 B  <time>  1 sessions"]]);
    expect(await told("blobs", "verify", ...stores)).toEqual([
      ...[0, "1 blobs, 70 B", "0 without a reference, 0 B"],
    ]);
    expect(await told("blobs", "gc", ...stores)).toEqual([
      ...[0, "1 sessions, 1 references", "kept             1      70 B"],
      ...["recent", "trashed", "restored", "deleted", "waiting"].map(
        (name) => `${name.padEnd(8)}         0       0 B`,
      ),
    ]);
    expect((await told("blobs", "gc", ...stores, "--dry-run")).at(-1)).toBe("nothing was changed");
    expect(await told("sync", ".sessile/sessions", "copy/sessions")).toEqual([
      ...[0, "1 sessions, 1 changed: 7 entries, 3 kB", "1 blobs, 70 B"],
    ]);
    const lines = readFileSync(own.path, "utf8").split("\n");
    writeFileSync(own.path, lines.map((line, at) => (at === 3 ? line.slice(0, 40) : line)).join("\n"));
    expect(await told("diagnose", own.path)).toEqual([
      1,
      "damaged: 1 of 8 lines (40 bytes) cannot be read, 1 entry has lost its parent, 3 kB: <file>",
      ...["  error INVALID_JSON line 4, offset <at>: the line is not JSON"],
      ...[
        "  error ORPHAN line 5, offset <at>: the parent is not in the log; the entry follows the one before it",
      ],
    ]);
    expect(await told("salvage", own.path, "--to", "whole.jsonl")).toEqual([
      ...[1, "<dir>/whole.jsonl: 7 lines kept (3 kB), 1 lost (40 B)"],
      "  error INVALID_JSON line 4, offset <at>: the line is not JSON",
      "  1 entries have a place though their line or parent is lost",
    ]);
  });
});

describe("every command that reads", () => {
  it("leaves the project as it is", async () => {
    using own = await sample();
    const files = () =>
      readdirSync(own.dir, { recursive: true, encoding: "utf8" })
        .sort()
        .map((name) => [name, statSync(join(own.dir, name)).mtimeMs]);
    const before = files();
    const reads = [
      ["ls"],
      ["show", "latest"],
      ["show", "latest", "--context"],
      ["diff", "latest", own.ids.side, "leaf"],
      ["project", "latest", "--target", "anthropic"],
      ["diagnose", "latest"],
    ];
    for (const words of reads) await call(words, { cwd: own.dir });
    expect(files()).toEqual(before);
  });

  it("lists what the other store erased, and erases it if asked, as a merge does", async () => {
    using own = await sample();
    const inOwn = (...words: string[]) => call(words, { cwd: own.dir });
    const both = [".sessile/sessions", "copy/sessions"];
    await inOwn("sync", ...both, "--one-way");
    const [{ path }] = (await inOwn("ls", "copy/sessions", "--json")).json;
    const store = fileSessionStore({ dir: join(own.dir, "copy/sessions") });
    const entryId = readFileSync(path, "utf8")
      .split("\n")
      .map((line) => line.includes("Done: NOTES.md") && JSON.parse(line).id)
      .find((id) => typeof id === "string") as string;
    const [{ id }] = (await inOwn("ls", "copy/sessions", "--json")).json;
    await eraseEntries(store, id, [entryId], { reason: "a request" });
    const held = await inOwn("sync", ...both, "--json");
    expect([held.code, held.json[0].skipped[0].code]).toEqual([1, "ERASURE_PENDING"]);
    expect(held.json[0].pendingErasures).toContainEqual(
      expect.objectContaining({
        id,
        entryId,
        store: "a",
        erased: expect.objectContaining({ reason: "a request" }),
      }),
    );
    expect((await inOwn("sync", ...both)).stdout).toContain(`to erase {`);
    const merge = ["merge", own.path, path, "-o", "both.jsonl", "--force"];
    expect((await inOwn(...merge)).code).toBe(3);
    expect((await inOwn(...merge, "--erasures", "apply")).code).toBe(0);
    expect(readFileSync(join(own.dir, "both.jsonl"), "utf8")).not.toContain("Done: NOTES.md");
    expect(readFileSync(own.path, "utf8")).toContain("Done: NOTES.md");
    expect((await inOwn("sync", ...both, "--erasures", "maybe")).code).toBe(2);
    const applied = await inOwn("sync", ...both, "--erasures", "apply");
    expect([applied.code, applied.stdout.includes("erased {")]).toEqual([0, true]);
    expect(readFileSync(own.path, "utf8")).not.toContain("Done: NOTES.md");
  });
});

it("the latest session is none that is archived, and none of a time to come", async () => {
  using own = await sample();
  const store = fileSessionStore({ dir: join(own.dir, ".sessile", "sessions") });
  const add = async (text: string) => {
    const session = await store.create({ cwd: own.dir });
    await session.appendMessage(userMessage(text));
    await session.close();
    return session;
  };
  const shown = async () => (await call(["show", "latest"], { cwd: own.dir })).stdout;
  const archived = await add("an archived one");
  expect(await shown()).toContain("an archived one");
  await store.archive(archived.id);
  expect(await shown()).not.toContain("an archived one");
  await add("an active one");
  expect(await shown()).toContain("an active one");
  const now = Date.now() - 7 * 86_400_000;
  const early = await call(["show", "latest"], { cwd: own.dir, now });
  expect(early.code).toBe(0);
});
