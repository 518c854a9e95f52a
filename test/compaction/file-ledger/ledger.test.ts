import fc from "fast-check";
import {
  assistantMessage,
  type ContextItem,
  type ContextMessage,
  contextFrom,
  type Message,
  memorySessionStore,
  project,
  toolResult,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { type FileLedger, type FileRecord, type FileToolTable, fileLedger } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { ledgerDetails, ledgerText, stripLedgerText } from "../../../src/compaction/file-ledger/ledger.js";
import { fileTools } from "../../../src/compaction/file-ledger/tool-table.js";
import { jsonValue } from "../../arbitraries/values.js";
import { acts, actTools, cwd, hashes, messagesOf, summaryItem } from "./arbitraries.js";
import { FileTree } from "./file-tree.js";
import { type Act, naiveLedger } from "./naive.js";

const [hashA = "", hashB = ""] = hashes;
const options = { cwd, tools: actTools };
const itemsOf = (all: readonly Act[], spell?: (path: string) => string): ContextItem[] => [
  ...contextFrom(messagesOf(all, spell)).items,
];
const ledgerOf = (all: readonly Act[]) => fileLedger({ items: itemsOf(all) }, options);

function act(operation: Act["operation"], path: string, more: Partial<Act> = {}): Act {
  return { operation, path, to: path, hash: undefined, outcome: "done", ...more };
}

describe("tools of other agents", () => {
  const patch = "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: g\n*** End Patch";
  const touched = (name: string, args: unknown, tools = {}) => {
    const call = { type: "toolCall", id: "c", name, arguments: args } as const;
    const messages = [assistantMessage({ provider: "p", model: "m" }, call), toolResult(call, "done")];
    const { files } = fileLedger(contextFrom(messages), { cwd: "/w", tools });
    return files.map(({ path, operations }) => `${path} ${operations.join()}`);
  };
  const heredoc = `apply_patch <<'EOF'\n${patch}\nEOF`;

  test.each<[string, unknown, string[]]>([
    ["functions.read", { path: "a" }, ["a read"]],
    ["default_api:write_file", { file_path: "/w/a" }, ["a modified"]],
    ["mcp__filesystem__read_file", { path: "/w/a" }, ["a read"]],
    ["filesystem/read_text_file", { path: "a" }, ["a read"]],
    ["developer__text_editor", { command: "view", path: "a" }, ["a read"]],
    ["functions.mcp__files__write_file", { path: "a" }, ["a modified"]],
    ["read_file", { absolute_path: "/w/a" }, ["a read"]],
    ["replace", { file_path: "a" }, ["a modified"]],
    ["read_many_files", { paths: ["a", "b"] }, ["a read", "b read"]],
    ["view", { path: "a" }, ["a read"]],
    ["write_to_file", { path: "a" }, ["a modified"]],
    ["replace_in_file", { path: "a" }, ["a modified"]],
    ["apply_patch", { text: patch }, ["g deleted", "n created"]],
    ["functions.apply_patch", { input: patch }, ["g deleted", "n created"]],
    ["shell", { command: ["apply_patch", patch] }, ["g deleted", "n created"]],
    ["shell", { command: ["bash", "-lc", heredoc] }, ["g deleted", "n created"]],
    ["exec_command", { cmd: heredoc }, ["g deleted", "n created"]],
    ["bash", { command: "echo '*** Add File: n'" }, []],
    ["bash", { command: "apply_patch --help; echo '*** Add File: n'" }, []],
    ["mcp__mail__delete", { path: "a" }, []],
    ["mcp__github__delete_file", { owner: "o", repo: "r", path: "a" }, []],
    ["mcp_filesystem_read_file", { path: "a" }, ["a read"]],
    ["filesystem_write_file", { path: "a" }, ["a modified"]],
    ["filesystem-read_text_file", { path: "a" }, ["a read"]],
    ["c1__cline_mcp_tool__edit_file", { path: "a" }, ["a modified"]],
    ["use_mcp_tool", { tool_name: "write_file", arguments: '{"path":"a"}' }, ["a modified"]],
    ["use_mcp_tool", { tool_name: "read_file", arguments: { path: "a" } }, ["a read"]],
    ["use_mcp_tool", { tool_name: "write_file", arguments: "{" }, []],
    ["use_mcp_tool", { tool_name: "delete", arguments: { path: "a" } }, []],
    ["developer__edit", { path: "a", before: "x", after: "y" }, ["a modified"]],
    ["developer__text_editor", { command: "write", path: "a", file_text: "" }, ["a modified"]],
    ["developer__shell", { command: heredoc }, ["g deleted", "n created"]],
    ["read_file", { target_file: "a" }, ["a read"]],
    ["read_file", { files: [{ path: "a" }, { path: "b" }] }, ["a read", "b read"]],
    ["read_files", { files: [{ path: "/w/a", start_line: 1 }, "b"] }, ["a read", "b read"]],
    ["read_files", ["a", { path: "b" }], ["a read", "b read"]],
    ["read_files", { files: { path: "a" } }, ["a read"]],
    ["read_many_files", { include: ["src/**/*.ts", "a", "[id].ts"] }, ["[id].ts read", "a read"]],
    ["editor", { path: "/w/a", new_text: "x" }, ["a modified"]],
    ["run_commands", { commands: [{ command: "apply_patch", args: [patch] }] }, ["g deleted", "n created"]],
    ["run_commands", { commands: ["ls", heredoc] }, ["g deleted", "n created"]],
    ["write_to_file", { TargetFile: "/w/a", CodeContent: "" }, ["a modified"]],
    ["create_file", { filePath: "/w/a", content: "" }, ["a created"]],
    [
      "multi_replace_string_in_file",
      { replacements: [{ filePath: "a" }, { filePath: "b" }] },
      ["a modified", "b modified"],
    ],
    ["StrReplaceFile", { path: "a" }, ["a modified"]],
    ["ApplyPatch", { input: patch }, ["g deleted", "n created"]],
    ["shell_command", { command: heredoc, workdir: "/w/sub" }, ["sub/g deleted", "sub/n created"]],
    ["exec_command", { cmd: `cd sub && ${heredoc}`, workdir: "x" }, ["x/sub/g deleted", "x/sub/n created"]],
    ["shell", { command: ["bash", "-lc", `cd "/w/s b" && ${heredoc}`] }, ["s b/g deleted", "s b/n created"]],
    ["shell", { action: { commands: [heredoc] } }, ["g deleted", "n created"]],
    [
      "local_shell",
      { action: { type: "exec", command: ["apply_patch", patch] } },
      ["g deleted", "n created"],
    ],
    ["apply_patch", { operation: { type: "create_file", path: "a", diff: "" } }, ["a created"]],
    ["view_image", { path: "a.png" }, ["a.png read"]],
    ["__read", { path: "a" }, []],
    ["mcp__files__", { path: "a" }, []],
    ["constructor", { path: "a" }, []],
    ["functions.toString", { path: "a" }, []],
  ])("%s with %j", (name, args, files) => {
    expect(touched(name, args)).toEqual(files);
  });

  test("the very name comes before one without a namespace", () => {
    const tools = { "functions.read": { operation: "delete", path: "path" } };
    expect(touched("functions.read", { path: "a" }, tools)).toEqual(["a deleted"]);
  });
});

describe("a ledger", () => {
  test("is what a naive replay of the calls gives", () => {
    fc.assert(
      fc.property(acts, (all) => {
        expect(ledgerOf(all).files).toEqual(naiveLedger(all));
      }),
      { numRuns: 1000 },
    );
  });

  test("says of the files of a system what is there, and with which content", () => {
    fc.assert(
      fc.property(acts, (all) => {
        const tree = new FileTree();
        // Nothing is left unanswered: what such a call did cannot be known.
        const replayed = all.map((each): Act => tree.do({ ...each, outcome: "done" }));
        for (const { path, gone, contentSha256, unconfirmed } of ledgerOf(replayed).files) {
          if (unconfirmed === true) continue;
          expect([path, gone === true]).toEqual([path, !tree.has(path)]);
          if (contentSha256 !== undefined) expect(contentSha256).toBe(tree.contentOf(path));
        }
      }),
    );
  });

  test("does not take a file for gone that came back with its directory", () => {
    const move = (path: string, to: string) => act("move", path, { to });
    const away = [act("read", "d/x"), move("d", "e/x")];
    const gone = { path: "d/x", operations: ["read", "moved"], step: 2, gone: true, movedTo: "e/x/x" };
    expect(ledgerOf(away).files).toContainEqual(gone);
    const { gone: _, movedTo: __, ...known } = gone;
    expect(ledgerOf([...away, move("e/x", "d")]).files).toContainEqual({ ...known, unconfirmed: true });
  });

  // @covers R132
  test("goes on from the details of a summary as if nothing had been summarised", () => {
    fc.assert(
      fc.property(acts, acts, (before, after) => {
        const details = JSON.parse(JSON.stringify(ledgerDetails(ledgerOf(before))));
        const items = [summaryItem(details), ...itemsOf(after)];
        expect(fileLedger({ items }, options)).toEqual(ledgerOf([...before, ...after]));
      }),
      { numRuns: 500 },
    );
  });

  test("does not count again what a compaction retained", () => {
    fc.assert(
      fc.property(acts, acts, (all, after) => {
        const before = all.filter(({ outcome }) => outcome !== "unanswered");
        const retained = itemsOf(before).map((item): ContextItem => ({ ...item, origin: "retained" }));
        const summary = summaryItem(ledgerDetails(ledgerOf(before)));
        const items = [summary, ...retained, ...itemsOf(after)];
        expect(fileLedger({ items }, options)).toEqual(
          fileLedger({ items: [summary, ...itemsOf(after)] }, options),
        );
      }),
    );
  });

  test("counts a retained call that had no result yet, as what became of it says", () => {
    const call = { type: "toolCall", id: "c", name: "edit", arguments: { path: "a" } } as const;
    const asked = contextFrom([assistantMessage({ provider: "p", model: "m" }, call)])
      .items[0] as ContextItem;
    const answered = (isError: boolean) => contextFrom([{ ...toolResult(call, "done"), isError }]).items;
    const items = [summaryItem({}), { ...asked, origin: "retained" as const }];
    expect(fileLedger({ items }).files).toMatchObject([{ path: "a", unconfirmed: true }]);
    expect(fileLedger({ items: [...items, ...answered(true)] }).files).toEqual([]);
    const [file] = fileLedger({ items: [...items, ...answered(false)] }).files;
    expect(file).toEqual({ path: "a", operations: ["modified"], step: 1 });
  });

  test("does not take a branch summary again that a compaction retained", () => {
    const details = ledgerDetails(ledgerOf([act("read", "a")]));
    const message = { role: "branchSummary", summary: "", fromId: "x", timestamp: 0, details } as const;
    const files = (origin: ContextItem["origin"]) =>
      fileLedger({ items: [{ entryId: "b", origin, message }] }).files;
    expect(files("branchSummary")).toEqual(details.files);
    expect(files("retained")).toEqual([]);
  });

  test("is the same however the paths are spelled", () => {
    fc.assert(
      fc.property(
        acts,
        fc.constantFrom(".//", "/w/", "b/../", "file:///w/", "/w//./", "../w/"),
        (all, prefix) => {
          const spelled = fileLedger({ items: itemsOf(all, (path) => prefix + path) }, options);
          expect(spelled).toEqual(ledgerOf(all));
        },
      ),
    );
  });

  test("takes arguments and details of any JSON shape", () => {
    const names = fc.constantFrom(...Object.keys(fileTools), "__proto__", "constructor", "toString");
    const values = fc.oneof(
      jsonValue,
      fc.dictionary(fc.constantFrom("path", "command", "to", "input"), jsonValue),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(names, values, values)), (calls) => {
        const messages = calls.flatMap(([name, args, details], at): ContextMessage[] => {
          const call = { type: "toolCall", id: `c${at}`, name, arguments: args } as const;
          return [assistantMessage({ provider: "p", model: "m" }, call), { ...toolResult(call), details }];
        });
        const ledger = fileLedger(contextFrom(messages), { cwd });
        expect(JSON.parse(JSON.stringify(ledger))).toEqual(ledger);
      }),
    );
  });
});

describe("calls that a tool made", () => {
  const statuses = { done: "ok", failed: "error", unanswered: "unfinished" } as const;
  const nestedOf = (all: readonly Act[]) =>
    all.map(({ operation, path, to, outcome }, at) => {
      const args = operation === "move" ? { path, to } : { path };
      return { id: `c/${at}`, name: operation, arguments: args, status: statuses[outcome] };
    });
  /** A script's call and its result, which carries the calls that the script made, as pi writes it. */
  const script = (nestedCalls: unknown, more: object = {}): readonly ContextMessage[] => {
    const call = { type: "toolCall", id: "c", name: "codemode", arguments: { code: "…" } } as const;
    const asked = assistantMessage({ provider: "p", model: "m" }, call);
    return [asked, { ...toolResult(call, "Script completed"), nestedCalls, ...more }];
  };
  const files = (messages: readonly ContextMessage[], tools = actTools) =>
    fileLedger(contextFrom(messages), { cwd, tools }).files;

  // @covers R132
  test("count as its own do, whether the script failed or not", () => {
    fc.assert(
      fc.property(acts, fc.boolean(), (all, isError) => {
        const plain = all.map((each): Act => ({ ...each, hash: undefined }));
        const messages = script({ calls: nestedOf(plain), complete: true }, { isError });
        expect(files(messages)).toEqual(naiveLedger(plain));
      }),
    );
  });

  test("count before what their tool did itself, since it ended after them", () => {
    const call = { type: "toolCall", id: "c", name: "modify", arguments: { path: "a" } } as const;
    const asked = assistantMessage({ provider: "p", model: "m" }, call);
    const nestedCalls = { calls: nestedOf([act("read", "a")]), complete: true };
    const result = { ...toolResult(call, ""), nestedCalls, details: { contentSha256: hashA } };
    expect(files([asked, result])).toEqual([
      { path: "a", operations: ["read", "modified"], contentSha256: hashA, step: 2 },
    ]);
  });

  test("count where their tool's call is no longer in context, and not where a compaction retained them", () => {
    const nestedCalls = { calls: nestedOf([act("read", "a")]), complete: true };
    const [, result] = contextFrom(script(nestedCalls)).items;
    const orphan = result as ContextItem;
    expect(fileLedger({ items: [orphan] }, options).files).toMatchObject([{ path: "a" }]);
    expect(fileLedger({ items: [{ ...orphan, origin: "retained" }] }, options).files).toEqual([]);
  });

  test("go into the lists that pi reads", () => {
    const calls = [
      { id: "c/1", name: "read", arguments: { path: "src/a.ts" }, status: "ok", durationMs: 3 },
      { id: "c/2", name: "edit", arguments: { path: "src/b.ts", edits: [] }, status: "ok" },
      { id: "c/3", name: "write", argumentsBytes: 9000, status: "ok" },
      { id: "c/4", name: "write", arguments: { path: "src/c.ts" }, status: "paused" },
    ];
    const ledger = fileLedger(contextFrom(script({ calls, complete: false })));
    const { readFiles, modifiedFiles } = ledgerDetails(ledger);
    expect([readFiles, modifiedFiles]).toEqual([["src/a.ts"], ["src/b.ts", "src/c.ts"]]);
    expect(ledger.files.filter(({ unconfirmed }) => unconfirmed).map(({ path }) => path)).toEqual([
      "src/c.ts",
    ]);
  });

  test("may have any JSON shape", () => {
    const record = fc.record(
      {
        id: jsonValue,
        name: fc.oneof(fc.constantFrom("read", "__proto__"), jsonValue),
        arguments: jsonValue,
      },
      { requiredKeys: [] },
    );
    const nested = fc.oneof(
      jsonValue,
      fc.record({ calls: fc.oneof(jsonValue, fc.array(fc.oneof(record, jsonValue))) }),
    );
    fc.assert(
      fc.property(nested, (nestedCalls) => {
        const ledger = fileLedger(contextFrom(script(nestedCalls)), { cwd });
        expect(JSON.parse(JSON.stringify(ledger))).toEqual(ledger);
      }),
    );
  });

  test("are in a result that was read from a file, and in no request", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd });
    const nestedCalls = { calls: nestedOf([act("read", "secret")]), complete: true };
    for (const message of script(nestedCalls)) await session.appendMessage(message as Message);
    const context = await (await store.open(session.id)).context();
    expect(fileLedger(context, options).files).toMatchObject([{ path: "secret" }]);
    const request = await project(context, anthropicMessages({ model: "m" }));
    expect(JSON.stringify(request)).not.toContain("secret");
  });
});

const only = (all: readonly Act[]) => ledgerOf(all).files.map(({ step: _, ...rest }) => rest);

describe("state", () => {
  const rows: readonly (readonly [string, readonly Act[], readonly unknown[]])[] = [
    ["a failed call does nothing", [act("modify", "a", { outcome: "failed" })], []],
    [
      "a call without a result is unconfirmed, and what was known of the content is not any more",
      [act("read", "a", { hash: hashA }), act("write", "a", { outcome: "unanswered" })],
      [{ path: "a", operations: ["read", "modified"], unconfirmed: true }],
    ],
    [
      "an edit that does not tell its outcome clears the content, and a read learns it again",
      [act("read", "a", { hash: hashA }), act("modify", "a"), act("read", "a", { hash: hashB })],
      [{ path: "a", operations: ["read", "modified"], contentSha256: hashB }],
    ],
    [
      "what is written after it was deleted is created",
      [act("delete", "a"), act("write", "a")],
      [{ path: "a", operations: ["deleted", "created"] }],
    ],
    [
      "a moved file takes its content along, and its old path can be written anew",
      [act("read", "a", { hash: hashA }), act("move", "a", { to: "b" }), act("write", "a")],
      [
        { path: "a", operations: ["read", "moved", "created"] },
        { path: "b", operations: ["moved"], contentSha256: hashA, movedFrom: "a" },
      ],
    ],
    [
      "a deleted directory takes along what lies in it, and nothing else",
      [act("read", "d/x"), act("read", "d.x"), act("delete", "d")],
      [
        { path: "d", operations: ["deleted"], gone: true },
        { path: "d.x", operations: ["read"] },
        { path: "d/x", operations: ["read", "deleted"], gone: true },
      ],
    ],
    [
      "a moved directory too, and says where each file is",
      [act("read", "d/e/z"), act("move", "d", { to: "b" })],
      [
        { path: "b", operations: ["moved"], movedFrom: "d" },
        { path: "d", operations: ["moved"], gone: true, movedTo: "b" },
        { path: "d/e/z", operations: ["read", "moved"], gone: true, movedTo: "b/e/z" },
      ],
    ],
    [
      "a file in it brings a directory back",
      [act("delete", "d"), act("create", "d/x")],
      [
        { path: "d", operations: ["deleted"] },
        { path: "d/x", operations: ["created"] },
      ],
    ],
  ];

  test.each(rows)("%s", (_, all, expected) => {
    expect(only(all)).toEqual(expected);
  });
});

describe("tools", () => {
  const run = (name: string, args: unknown, tools: FileToolTable = {}, details?: unknown) => {
    const call = { type: "toolCall", id: "c", name, arguments: args } as const;
    const asked = assistantMessage({ provider: "p", model: "m" }, call);
    const { files } = fileLedger(contextFrom([asked, { ...toolResult(call), details }]), { cwd, tools });
    return files.map(({ path, operations }) => [path, ...operations]);
  };

  test("a write whose result says so created the file", () => {
    expect(run("write", { path: "a" }, {}, { created: true })).toEqual([["a", "created"]]);
    expect(run("write", { path: "a" }, {}, { created: "yes" })).toEqual([["a", "modified"]]);
  });

  test("of yours are added to those of known agents, and replace one of the same name", () => {
    const save = { operation: "write", path: "target" } as const;
    expect(run("save", { target: "a" }, { save })).toEqual([["a", "modified"]]);
    expect(run("read", { path: "a" }, { save })).toEqual([["a", "read"]]);
    expect(run("read", { path: "a" }, { read: { operation: "delete", path: "path" } })).toEqual([
      ["a", "deleted"],
    ]);
    expect(run("read", { path: "a" }, { read: () => [] })).toEqual([]);
  });

  test("an argument that is a list names every file in it, and the first argument that is there counts", () => {
    const tools = { open: { operation: "read", path: ["file", "files"] } } as const;
    expect(run("open", { files: ["b", 1, "a"] }, tools)).toEqual([
      ["a", "read"],
      ["b", "read"],
    ]);
    expect(run("open", { file: "c", files: ["a"] }, tools)).toEqual([["c", "read"]]);
  });

  test("several files are moved into a directory", () => {
    const tools = { mv: { operation: "move", path: "from", to: "to" } } as const;
    expect(run("mv", { from: ["d/x", "y/"], to: "e" }, tools)).toEqual([
      ["d/x", "moved"],
      ["e/x", "moved"],
      ["e/y", "moved"],
      ["y", "moved"],
    ]);
  });

  test("the content that a result tells is that of the only file of its call", () => {
    const read = (path: string) => ({ operation: "read", path }) as const;
    const tools = {
      one: () => [read("a")],
      two: () => [read("a"), { ...read("b"), contentSha256: hashB.toUpperCase() }],
    };
    const contents = (name: string) => {
      const call = { type: "toolCall", id: "c", name, arguments: {} } as const;
      const result = { ...toolResult(call), details: { contentSha256: hashA } };
      const asked = assistantMessage({ provider: "p", model: "m" }, call);
      return fileLedger(contextFrom([asked, result]), { tools }).files.map(
        ({ contentSha256 }) => contentSha256,
      );
    };
    expect(contents("one")).toEqual([hashA]);
    expect(contents("two")).toEqual([undefined, hashB]);
  });

  test("a reader of one's own says what a call does", () => {
    const tools = {
      both: () => [{ operation: "read", path: "a" } as const, { operation: "delete", path: "b" } as const],
    };
    expect(run("both", null, tools)).toEqual([
      ["a", "read"],
      ["b", "deleted"],
    ]);
  });

  test.each([
    ["read", { path: "a" }, "read"],
    ["Edit", { file_path: "/w/a" }, "modified"],
    ["NotebookEdit", { notebook_path: "/w/a" }, "modified"],
    ["write", { filePath: "/w/a" }, "modified"],
    ["str_replace_based_edit_tool", { command: "view", path: "a" }, "read"],
    ["str_replace_editor", { command: "create", path: "a" }, "created"],
    ["str_replace_editor", { command: "insert", path: "a" }, "modified"],
    ["delete_file", { path: "a" }, "deleted"],
    ["patch", { patchText: "*** Begin Patch\n*** Delete File: a\n*** End Patch" }, "deleted"],
    ["apply_patch", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", "created"],
    ["edit_file", { path: "a", dryRun: false }, "modified"],
  ])("%s with %j", (name, args, deed) => {
    expect(run(name, args)).toEqual([["a", deed]]);
  });

  test.each([
    ["edit_file", { path: "a", dryRun: true }],
    ["str_replace_editor", { command: "rm", path: "a" }],
    ["bash", { path: "a" }],
    ["read", { path: "" }],
    ["read", { path: "a\0b" }],
    ["read", { path: "a".repeat(4097) }],
    ["move", { from: "a" }],
  ])("%s with %j touches nothing", (name, args) => {
    expect(run(name, args)).toEqual([]);
  });

  test("a move by its usual names", () => {
    expect(run("move_file", { source: "a", destination: "b" })).toEqual([
      ["a", "moved"],
      ["b", "moved"],
    ]);
  });
});

describe("details", () => {
  const options = { cwd, tools: actTools };
  const ledgers = acts.map((all) => fileLedger(contextFrom(messagesOf(all)), options));
  const back = (...details: readonly unknown[]): FileLedger =>
    fileLedger({ items: details.map(summaryItem) }, options);
  const changed = (operations: readonly string[]) => operations.some((each) => each !== "read");

  describe("details", () => {
    test("give the same ledger back", () => {
      fc.assert(
        fc.property(ledgers, (ledger) => {
          expect(back(JSON.parse(JSON.stringify(ledgerDetails(ledger))))).toEqual(ledger);
        }),
      );
    });

    test("have pi's lists: what was changed, and what was only read, sorted", () => {
      fc.assert(
        fc.property(ledgers, (ledger) => {
          const { readFiles, modifiedFiles } = ledgerDetails(ledger);
          const paths = (wanted: boolean) =>
            ledger.files.filter(({ operations }) => changed(operations) === wanted).map(({ path }) => path);
          expect(modifiedFiles).toEqual(paths(true).sort());
          expect(readFiles).toEqual(paths(false).sort());
        }),
      );
    });

    test("of pi alone give which files were read or changed, unconfirmed", () => {
      fc.assert(
        fc.property(ledgers, (ledger) => {
          const { files: _, ...pi } = ledgerDetails(ledger);
          const expected = ledger.files.map(({ path, operations }) => ({
            path,
            operations: [changed(operations) ? "modified" : "read"],
            unconfirmed: true,
            step: 1,
          }));
          expect(back(pi).files).toEqual(expected);
        }),
      );
    });

    test("of pi that name more than the records are merged with them", () => {
      const files = [
        { path: "a", operations: ["read"], contentSha256: hashes[0], step: 2 },
        { path: "b", operations: ["deleted"], gone: true, step: 7 },
      ];
      expect(back({ files, readFiles: ["./a", "c"], modifiedFiles: ["/w/a", "b", "d"] }).files).toEqual([
        { path: "a", operations: ["read", "modified"], unconfirmed: true, step: 8 },
        { path: "b", operations: ["deleted"], gone: true, step: 7 },
        { path: "c", operations: ["read"], unconfirmed: true, step: 8 },
        { path: "d", operations: ["modified"], unconfirmed: true, step: 8 },
      ]);
    });

    test("of a later summary come on top of those of an earlier one", () => {
      const first = { files: [{ path: "d", operations: ["deleted"], gone: true, step: 3 }] };
      const second = { files: [{ path: "d/x", operations: ["created"], contentSha256: hashes[1], step: 1 }] };
      expect(back(first, second).files).toEqual([
        { path: "d", operations: ["deleted"], step: 3 },
        { path: "d/x", operations: ["created"], contentSha256: hashes[1], step: 4 },
      ]);
    });

    test.each([
      undefined,
      null,
      7,
      "files",
      [],
      { files: "a", readFiles: { a: 1 }, modifiedFiles: 3 },
      {
        files: [
          null,
          {},
          { path: "a" },
          { path: 1, operations: ["read"] },
          { path: "a", operations: ["eaten"] },
        ],
      },
      { files: [{ path: "a\0", operations: ["read"] }], readFiles: [null, "", 5] },
    ])("that are malformed give an empty ledger: %j", (details) => {
      expect(back(details)).toEqual({ files: [] });
    });

    test("are held to what a ledger can be", () => {
      const path = "a";
      const rows: readonly (readonly [object, object])[] = [
        [{ operations: ["read", "x", "read"] }, { operations: ["read"], step: 0 }],
        [
          { operations: ["deleted"], gone: true, contentSha256: hashes[0], movedFrom: "b" },
          { operations: ["deleted"], gone: true, step: 0 },
        ],
        [
          { operations: ["moved"], movedTo: "b", step: -1 },
          { operations: ["moved"], step: 0 },
        ],
        [
          { operations: ["read"], contentSha256: "abc", step: 1.5 },
          { operations: ["read"], step: 0 },
        ],
        [
          { operations: ["read"], contentSha256: hashes[0], unconfirmed: true },
          { operations: ["read"], unconfirmed: true, step: 0 },
        ],
        [
          { operations: ["read"], contentSha256: "A".repeat(64) },
          { operations: ["read"], contentSha256: hashes[0], step: 0 },
        ],
      ];
      for (const [stored, expected] of rows) {
        expect(back({ files: [{ path, ...stored }] }).files).toEqual([{ path, ...expected }]);
      }
    });

    test("of any JSON shape never throw, and what they give is stored as it is", () => {
      const file = fc.dictionary(
        fc.constantFrom("path", "operations", "gone", "movedTo", "step", "__proto__"),
        fc.oneof(
          jsonValue,
          fc.constantFrom("a", "/w/d/x", true, Number.MAX_SAFE_INTEGER),
          fc.constant(["read", "moved"]),
        ),
      );
      const lists = fc.array(fc.oneof(file, fc.constantFrom("a", "d", "/w/a"), jsonValue));
      const details = fc.dictionary(
        fc.constantFrom("files", "readFiles", "modifiedFiles"),
        fc.oneof(lists, jsonValue),
      );
      fc.assert(
        fc.property(fc.array(details), (all) => {
          const ledger = back(...all);
          expect(back(JSON.parse(JSON.stringify(ledgerDetails(ledger))))).toEqual(ledger);
        }),
      );
    });
  });
});

describe("text", () => {
  const ledgers = acts.map((all) => fileLedger(contextFrom(messagesOf(all)), { cwd, tools: actTools }));
  const file = (path: string, step: number, more: Partial<FileRecord> = {}): FileRecord => ({
    path,
    operations: ["read"],
    step,
    ...more,
  });

  describe("the text of a ledger", () => {
    test("is two blocks, with what was deleted or moved in words", () => {
      const files = [
        file("a", 1),
        file("b", 2, { operations: ["created"] }),
        file("c", 3, { operations: ["deleted"], gone: true }),
        file("d", 4, { operations: ["moved"], gone: true, movedTo: "e" }),
        file("e", 4, { operations: ["moved"], movedFrom: "d" }),
        file("f", 5, { operations: ["moved"], gone: true }),
      ];
      expect(ledgerText({ files })).toBe(
        "\n\n<read-files>\na\n</read-files>\n\n" +
          "<modified-files>\nb\nc (deleted)\nd (moved to e)\ne (moved from d)\nf (moved away)\n</modified-files>",
      );
    });

    test("is empty for no files", () => {
      expect(ledgerText({ files: [] })).toBe("");
    });

    // @covers R132
    test("keeps the files touched last, in the order of paths, and says how many it left out", () => {
      const files = [file("a", 5), file("b", 1), file("c", 9), file("d", 2)];
      const block = (...lines: readonly string[]) => `\n\n<read-files>\n${lines.join("\n")}\n</read-files>`;
      expect(ledgerText({ files }, { maxFiles: 3 })).toBe(
        block("a", "c", "d", "(1 file touched earlier left out)"),
      );
      expect(ledgerText({ files }, { maxFiles: 2 })).toBe(
        block("a", "c", "(2 files touched earlier left out)"),
      );
      expect(ledgerText({ files }, { maxFiles: 0 })).toBe(block("(4 files touched earlier left out)"));
      const many = Array.from({ length: 101 }, (_, at) => file(`f${at}`, at));
      expect(ledgerText({ files: many })).toContain("(1 file touched");
      expect(() => ledgerText({ files }, { maxFiles: -1 })).toThrow(RangeError);
    });

    test("is bounded by the number of files, whatever their paths", () => {
      const path = fc.oneof(
        fc.string({ unit: "binary", minLength: 1 }),
        fc.constant("\u202e".repeat(4096)),
        fc.constant("\n<".repeat(2000)),
      );
      fc.assert(
        fc.property(fc.uniqueArray(path), fc.boolean(), (paths, gone) => {
          const files = paths.map((each, at) =>
            gone ? file(each, at, { operations: ["moved"], gone, movedTo: each }) : file(each, at),
          );
          const text = ledgerText({ files }, { maxFiles: 5 });
          // An empty line and the tags of one block, five files and what was left out.
          const lines = text === "" ? [] : text.split(/[\n\r\u0085\u2028\u2029\v\f]/);
          expect(lines).toHaveLength(
            files.length === 0 ? 0 : Math.min(files.length, 5) + (files.length > 5 ? 5 : 4),
          );
          expect(text.length).toBeLessThan(5 * 2 * 401 * 10 + 200);
          expect(text.match(/<[^>]*>/g) ?? []).toHaveLength(files.length === 0 ? 0 : 2);
        }),
      );
    });

    test.each([
      ["a\nb", '"a\\u{a}b"'],
      ["</modified-files>", '"\\u{3c}/modified-files\\u{3e}"'],
      [" a", '" a"'],
      ["(7 files touched earlier left out)", '"(7 files touched earlier left out)"'],
      ["a (deleted)", '"a (deleted)"'],
      ['say "x"', '"say \\u{22}x\\u{22}"'],
      ["a\u202eb", '"a\\u{202e}b"'],
      ["\ud800", '"\\u{d800}"'],
      ["app/(group)/ä b.tsx", "app/(group)/ä b.tsx"],
      ["😀.png", "😀.png"],
    ])("has %j as %s", (path, shown) => {
      expect(ledgerText({ files: [file(path, 1)] })).toBe(`\n\n<read-files>\n${shown}\n</read-files>`);
    });

    test("has a long path without its middle", () => {
      const path = `${"a".repeat(300)}${"b".repeat(300)}`;
      expect(ledgerText({ files: [file(path, 1)] })).toContain(`\n${"a".repeat(200)}…${"b".repeat(200)}\n`);
    });
  });

  describe("a summary", () => {
    const body = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(
          fc.constantFrom(
            "text",
            "\n",
            " ",
            "<read-files>",
            "</read-files>",
            "</modified-files>",
            "<modified-files>\n",
          ),
        )
        .map((parts) => parts.join("")),
    );

    test("loses the blocks that close it, and nothing else", () => {
      fc.assert(
        fc.property(body, ledgers, fc.constantFrom("", "\n", " \n\n"), (text, ledger, end) => {
          const blocks = ledgerText(ledger);
          fc.pre(blocks !== "");
          expect(stripLedgerText(`${text}${blocks}${end}`)).toBe(stripLedgerText(text.trimEnd()));
          expect(stripLedgerText(`${blocks}${end}`)).toBe("");
        }),
      );
    });

    test("stays as it is without such blocks", () => {
      for (const text of [
        "",
        "a \n",
        "<read-files>\na\n</read-files>\nmore",
        "a</read-files>",
        "x\n</read-files>",
      ]) {
        expect(stripLedgerText(text)).toBe(text);
      }
    });

    test("loses pi's blocks", () => {
      const pi = "Goal\n\n<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>";
      expect(stripLedgerText(pi)).toBe("Goal");
    });

    test("is stripped once and for all", () => {
      fc.assert(
        fc.property(body, (text) => {
          const once = stripLedgerText(text);
          expect(stripLedgerText(once)).toBe(once);
          expect(text.startsWith(once)).toBe(true);
        }),
      );
    });
  });
});
