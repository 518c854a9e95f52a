import { execFile } from "node:child_process";
import { lstat, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { type ToolCall, toolResult } from "sessile";
import { sniff } from "sessile/media";
import { readLocalFile } from "sessile/node";
import { type Tool, type ToolContext, tool } from "sessile/turn";
import { z } from "zod";

/** The tools of a coding agent: `read`, `write`, `edit` and `bash`, in a directory. */
export function workspaceTools(dir: string): readonly Tool[] {
  return [
    tool({
      name: "read",
      description: "Reads a text file, or shows an image.",
      parameters: texts("path"),
      run: async ({ path }, { signal }) => {
        const file = await readLocalFile(await inside(dir, path), { signal });
        return sniff(file.bytes)?.kind === "image" ? file : clipped(new TextDecoder().decode(file.bytes));
      },
    }),
    tool({
      name: "write",
      description: "Writes a file.",
      parameters: texts("path", "content"),
      run: async ({ path, content }) => {
        const file = await inside(dir, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
        return "written";
      },
    }),
    tool({
      name: "edit",
      description: "Replaces a text that a file has once.",
      parameters: texts("path", "oldText", "newText"),
      run: async ({ path, oldText, newText }) => {
        const file = await inside(dir, path);
        const parts = (await readFile(file, "utf8")).split(oldText);
        if (parts.length !== 2) throw new Error(`oldText is there ${parts.length - 1} times, expected once`);
        await writeFile(file, parts.join(newText));
        return "edited";
      },
    }),
    tool({
      name: "bash",
      description: "Runs a command.",
      parameters: texts("command"),
      run: ({ command }, { signal }) => bash(command, dir, signal),
    }),
  ];
}

/** Runs a call in a loop that is written by hand. A failure is a result too, because the model has to see it. */
export async function runTool(call: ToolCall, dir: string, context: Omit<ToolContext, "call">) {
  try {
    const found = workspaceTools(dir).find(({ name }) => name === call.name);
    if (found === undefined) throw new Error(`there is no tool ${call.name}`);
    return toolResult(call, String(await found.run(call.arguments, { ...context, call })));
  } catch (error) {
    return { ...toolResult(call, error instanceof Error ? error.message : String(error)), isError: true };
  }
}

/** A schema of an object of texts. */
const texts = <K extends string>(...names: readonly K[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<K, z.ZodString>);

/** The real path of a file below the directory; the file need not exist yet. */
async function inside(dir: string, path: string): Promise<string> {
  const root = await realpath(dir);
  let [existing, rest] = [resolve(root, path), ""];
  while (!(await lstat(existing).catch(() => undefined))) {
    [existing, rest] = [dirname(existing), join(basename(existing), rest)];
  }
  // A link to nothing has no real path.
  const real = join(await realpath(existing).catch(() => ""), rest);
  if (real.startsWith(root + sep)) return real;
  throw new Error(`${path} is outside the workspace`);
}

/** File tools stay in the workspace; a command only starts there: this is no sandbox. The agent's keys are not in its environment. */
async function bash(command: string, cwd: string, signal: AbortSignal): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: cwd };
  const options = { cwd, env, signal, timeout: 60_000, maxBuffer: 2 ** 24 };
  const run = promisify(execFile)("bash", ["-c", `exec 2>&1 </dev/null; ${command}`], options);
  const { stdout } = await run.catch(({ stdout = "", code, signal }) => {
    throw new Error(`${clipped(stdout)}\n[exit code ${code ?? signal}]`);
  });
  return clipped(stdout);
}

function clipped(text: string): string {
  return text.length > 30_000 ? `${text.slice(0, 30_000)}\n[cut]` : text || "(no output)";
}
