import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { type ToolCall, type ToolResultMessage, toolResult } from "sessile/content";
import { runBash } from "./bash.js";
import { confinedPath } from "./workspace.js";

/** Runs one tool; the text is for the model. Rejects with an Error whose message is for the model too. */
export type Tool = (args: unknown, options: { readonly signal: AbortSignal }) => Promise<string>;

/** Tools by name. */
export type Tools = ReadonlyMap<string, Tool>;

/** The tools as a model is told of them. */
export const toolDeclarations: readonly Anthropic.Tool[] = [
  declared("read", "Reads a file.", "path"),
  declared("write", "Writes a file.", "path", "content"),
  declared("edit", "Puts new text in the place of text that a file has once.", "path", "oldText", "newText"),
  declared("bash", "Runs a command in the workspace.", "command"),
];

function declared(name: string, description: string, ...texts: readonly string[]): Anthropic.Tool {
  const properties = Object.fromEntries(texts.map((text) => [text, { type: "string" }]));
  return { name, description, input_schema: { type: "object", properties, required: [...texts] } };
}

const maxReadCharacters = 50_000;

/** The tools of a coding agent. File tools stay in the workspace; bash only starts there, see {@link runBash}. */
export function codingTools(workspace: string): Tools {
  const pathOf = (args: unknown) => confinedPath(workspace, stringOf(args, "path"));
  return new Map<string, Tool>([
    [
      "read",
      async (args) => {
        const text = await readFile(await pathOf(args), "utf8");
        const left = text.length - maxReadCharacters;
        return left > 0 ? `${text.slice(0, maxReadCharacters)}\n[${left} more characters]` : text;
      },
    ],
    [
      "write",
      async (args) => {
        const text = stringOf(args, "content");
        const path = await pathOf(args);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
        return `wrote ${text.length} characters`;
      },
    ],
    [
      "edit",
      async (args) => {
        const path = await pathOf(args);
        const [oldText, newText] = [stringOf(args, "oldText"), stringOf(args, "newText")];
        const parts = (await readFile(path, "utf8")).split(oldText);
        // An edit that fits twice would change a place that the model did not look at.
        if (parts.length !== 2) throw new Error(`oldText is there ${parts.length - 1} times, expected once`);
        await writeFile(path, parts.join(newText));
        return "edited";
      },
    ],
    ["bash", (args, { signal }) => runBash(stringOf(args, "command"), { cwd: workspace, signal })],
  ]);
}

/** Runs the tool that a call names. What goes wrong is a result too: the model is to see it. */
export async function runTool(
  tools: Tools,
  call: ToolCall,
  options: { readonly signal: AbortSignal },
): Promise<ToolResultMessage> {
  try {
    const tool = tools.get(call.name);
    if (tool === undefined) throw new Error(`there is no tool ${call.name}`);
    return toolResult(call, (await tool(call.arguments, options)) || "(no output)");
  } catch (error) {
    return failedResult(call, error instanceof Error ? error.message : String(error));
  }
}

/** The result of a call that did not succeed. */
export function failedResult(call: ToolCall, text: string): ToolResultMessage {
  return { ...toolResult(call, text), isError: true };
}

/** Arguments come from a model and may be anything. */
function stringOf(args: unknown, name: string): string {
  const value = (args as Record<string, unknown> | null | undefined)?.[name];
  if (typeof value !== "string") throw new Error(`${name}: expected a string`);
  return value;
}
