import fc from "fast-check";
import type { ToolCall, ToolResultMessage } from "sessile";
import { describe, expect, it } from "vitest";
import { changedLines, type DiffLine, patchLines, toolView } from "../../src/viewer/model/tool-views.js";
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
      summary: "ls -l",
      body: { kind: "command", command: "ls -l" },
    });
    expect(toolView(call("shell", { command: ["bash", "-lc", "ls | wc"] })).summary).toBe("ls | wc");
    expect(toolView(call("Write", { file_path: "n.md", content: "# N" })).body).toEqual({
      ...{ kind: "file", path: "n.md", text: "# N" },
    });
    expect(toolView(call("read", { path: "n.md" }))).toEqual({
      ...{ summary: "n.md", body: { kind: "none" }, resultPath: "n.md" },
    });
    expect(toolView(call("read", { path: "n.md", offset: 3 }))).toEqual({
      summary: "n.md",
      body: { kind: "arguments", json: '{\n  "path": "n.md",\n  "offset": 3\n}' },
      resultPath: "n.md",
    });
    expect(toolView(call("grep", { limit: 3, empty: "", pattern: "x", path: "" }))).toEqual({
      summary: "x",
      body: { kind: "arguments", json: expect.stringContaining('"limit": 3') },
    });
    expect(toolView(call("x", "bare")).body).toEqual({ kind: "arguments", json: "bare" });
    expect(toolView(call("x", {}))).toEqual({ summary: "", body: { kind: "none" } });
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
