import fc from "fast-check";
import type { ToolCall, ToolResultMessage } from "sessile";
import { describe, expect, it } from "vitest";
import {
  changedLines,
  type DiffLine,
  lookVerb,
  patchLines,
  toolView,
} from "../../src/viewer/model/tool-views.js";
import { processorMs } from "../support/processor-time.js";

const call = (name: string, args: unknown): ToolCall => ({
  type: "toolCall",
  id: "c",
  name,
  arguments: args,
});

function sides(lines: readonly DiffLine[]) {
  const before = lines.flatMap((line) =>
    line.kind === "same"
      ? [line.text]
      : line.kind === "removed" || line.kind === "changed"
        ? [line.before]
        : [],
  );
  const after = lines.flatMap((line) =>
    line.kind === "same" ? [line.text] : line.kind === "added" || line.kind === "changed" ? [line.after] : [],
  );
  return { before, after };
}

const text = fc
  .array(fc.constantFrom("a", "b", "", "long line"), { minLength: 1, maxLength: 30 })
  .map((lines) => lines.join("\n"));
const linesOf = (value: string) =>
  value === "" ? [] : (value.endsWith("\n") ? value.slice(0, -1) : value).split("\n");

describe("changed lines", () => {
  it("have both texts, each line once and in order", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(sides(changedLines(before, after))).toEqual({
          before: linesOf(before),
          after: linesOf(after),
        });
      }),
    );
  });

  it("show equal lines as such", () => {
    expect(changedLines("a\nb\nc\n", "a\nX\nc\n")).toEqual([
      { kind: "same", text: "a" },
      { kind: "changed", before: "b", after: "X" },
      { kind: "same", text: "c" },
    ]);
  });

  it("give up on texts that take too long", () => {
    const [before, after] = [0, 1].map((from) =>
      Array.from({ length: 40_000 }, (_, at) => `${(at * 7919 + from) % 10_007}`).join("\n"),
    );
    const start = processorMs();
    expect(changedLines(before ?? "", after ?? "")).toHaveLength(40_000);
    expect(processorMs() - start).toBeLessThan(2000);
  });

  it("come from a patch", () => {
    expect(
      patchLines(["@@ -1 +1 @@", " same", "-old", "-gone", "+new", "@@", "+more", "\\ No newline"]),
    ).toEqual([
      { kind: "same", text: "same" },
      { kind: "changed", before: "old", after: "new" },
      { kind: "removed", before: "gone" },
      { kind: "gap" },
      { kind: "added", after: "more" },
    ]);
  });
});

describe("a tool call", () => {
  it.each([
    ["pi", "edit", { path: "a.ts", oldText: "1", newText: "2" }],
    ["Claude Code", "Edit", { file_path: "a.ts", old_string: "1", new_string: "2" }],
    ["OpenCode", "edit", { filePath: "a.ts", oldString: "1", newString: "2" }],
    [
      "an editor tool",
      "str_replace_editor",
      { command: "str_replace", path: "a.ts", old_str: "1", new_str: "2" },
    ],
    ["several edits", "MultiEdit", { file_path: "a.ts", edits: [{ old_string: "1", new_string: "2" }] }],
    ["Codex", "apply_patch", { input: "*** Begin Patch\n*** Update File: a.ts\n@@\n-1\n+2\n*** End Patch" }],
    [
      "a shell",
      "shell",
      { command: ["apply_patch", "*** Begin Patch\n*** Update File: a.ts\n-1\n+2\n*** End Patch"] },
    ],
    ["a bare patch", "apply_patch", "*** Begin Patch\n*** Update File: a.ts\n-1\n+2\n*** End Patch"],
    ["a unified diff", "patch", { patch: "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-1\n+2\n" }],
  ])("of %s shows a change", (_agent, name, args) => {
    const { summary, body } = toolView(call(name, args));
    expect(summary).toBe("a.ts");
    expect(body).toEqual({
      kind: "changes",
      files: [{ path: "a.ts", added: 1, removed: 1, lines: [{ kind: "changed", before: "1", after: "2" }] }],
    });
  });

  it("shows commands, files and arguments", () => {
    expect(toolView(call("bash", { command: "ls -l" }))).toEqual({
      verb: "List",
      summary: "ls -l",
      body: { kind: "command", command: "ls -l" },
    });
    expect(toolView(call("shell", { command: ["bash", "-lc", "ls | wc"] })).summary).toBe("ls | wc");
    expect(toolView(call("Write", { file_path: "n.md", content: "# N" })).body).toEqual({
      ...{ kind: "file", path: "n.md", text: "# N" },
    });
    expect(toolView(call("read", { path: "n.md" }))).toEqual({
      ...{ verb: "Read", summary: "n.md", body: { kind: "none" }, resultPath: "n.md" },
    });
    expect(toolView(call("read", { path: "n.md", offset: 3 }))).toEqual({
      verb: "Read",
      summary: "n.md",
      body: { kind: "arguments", json: '{\n  "path": "n.md",\n  "offset": 3\n}' },
      resultPath: "n.md",
    });
    expect(toolView(call("grep", { limit: 3, empty: "", pattern: "x", path: "" }))).toEqual({
      verb: "Search",
      summary: "x",
      body: { kind: "arguments", json: expect.stringContaining('"limit": 3') },
    });
    expect(toolView(call("x", "bare")).body).toEqual({ kind: "arguments", json: "bare" });
    expect(toolView(call("x", {}))).toEqual({ verb: "x", summary: "", body: { kind: "none" } });
  });

  it("has a verb, an object below the project, a plan and a prompt", () => {
    const verb = (name: string, args: unknown) => {
      const { verb, summary } = toolView(call(name, args), undefined, "/p");
      return `${verb} ${summary}`;
    };
    expect(verb("Read", { file_path: "/p/src/a.ts", offset: 1 })).toBe("Read src/a.ts");
    expect(verb("Read", { file_path: "/project/a.ts" })).toBe("Read /project/a.ts");
    expect(verb("Grep", { pattern: "x+", path: "/p/src" })).toBe("Search x+ in src");
    expect(verb("list_directory", { path: "/p/src" })).toBe("List src");
    expect(verb("Edit", { file_path: "/p/a.ts", old_string: "1", new_string: "2" })).toBe("Edit a.ts");
    expect(verb("Write", { file_path: "/p/a.ts", content: "1" })).toBe("Write a.ts");
    expect(verb("Bash", { command: "npm test" })).toBe("Run npm test");
    expect(verb("mcp__own", { a: "b" })).toBe("mcp__own b");
    const task = { description: "Look", prompt: "# Look\n\nat it", subagent_type: "x" };
    expect(toolView(call("Task", task))).toEqual({
      ...{ verb: "Agent", summary: "Look", body: { kind: "prose", text: "# Look\n\nat it" } },
    });
    const items = [
      { text: "one", state: "done" },
      { text: "two", state: "active" },
      { text: "three", state: "open" },
    ];
    const plan = { verb: "Plan", summary: "1 of 3 done", body: { kind: "todos", items } };
    const states = ["completed", "in_progress", "pending"];
    const todos = items.map(({ text }, at) => ({ content: text, status: states[at] }));
    expect(toolView(call("TodoWrite", { todos }))).toEqual(plan);
    const steps = items.map(({ text }, at) => ({ step: text, status: states[at] }));
    expect(toolView(call("update_plan", { plan: steps }))).toEqual(plan);
    expect(toolView(call("TodoWrite", { todos: [...todos, "odd"] })).body.kind).toBe("arguments");
  });

  it("only looks if nothing else can happen", () => {
    const commands = ["cat a", "sed -n 1,5p a", "rg x src", "ls", "find . -name x"];
    const changes = [
      "cat a > b",
      "sed -i s/a/b/ c",
      "find . -delete",
      "ls; rm a",
      "cat $(rm a)",
      "rm a",
      "ls\nrm a",
    ];
    const verbs = (list: readonly string[]) => list.map((command) => lookVerb(call("bash", { command })));
    expect(verbs(commands)).toEqual(["Read", "Read", "Search", "List", "Search"]);
    expect(verbs(changes)).toEqual(changes.map(() => undefined));
    expect(lookVerb(call("read_file", { path: "a" }))).toBe("Read");
    expect(lookVerb(call("write", { path: "a" }))).toBeUndefined();
  });

  it("takes any arguments and details", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (args, details) => {
        const result = {
          ...{
            role: "toolResult",
            toolCallId: "c",
            toolName: "x",
            content: [],
            isError: false,
            timestamp: 0,
          },
          details,
        } as ToolResultMessage;
        const { summary, body } = toolView(call("x", args), result);
        expect(summary.length).toBeLessThanOrEqual(161);
        expect(body.kind).toBeTypeOf("string");
      }),
    );
  });
});
