import { execFile } from "node:child_process";
import { lstat, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { type BlobStore, type MessagePart, type ToolCall, type ToolResultMessage, toolResult } from "sessile";
import { ingest } from "sessile/attachments";
import { readLocalFile } from "sessile/node";

/** A directory and the store of images that tools show. */
export interface Workspace {
  readonly dir: string;
  readonly blobs: Pick<BlobStore, "put">;
  readonly signal: AbortSignal;
}

/** Runs a call of `read`, `write`, `edit` or `bash`. A failure is a result too, because the model has to see it. */
export async function runTool(call: ToolCall, workspace: Workspace): Promise<ToolResultMessage> {
  try {
    return toolResult(call, await output(call, workspace));
  } catch (error) {
    return { ...toolResult(call, error instanceof Error ? error.message : String(error)), isError: true };
  }
}

async function output(
  { name, arguments: args }: ToolCall,
  { dir, blobs, signal }: Workspace,
): Promise<MessagePart> {
  const argument = (key: string): string => {
    const value = (args as Record<string, unknown> | undefined)?.[key];
    if (typeof value === "string") return value;
    throw new Error(`${key}: expected a string`);
  };
  if (name === "bash") return bash(argument("command"), dir, signal);
  const path = await inside(dir, argument("path"));
  switch (name) {
    case "read": {
      const file = await ingest(await readLocalFile(path, { signal }), { blobs, source: "tool" });
      return file.kind === "image" ? file : clipped(await readFile(path, "utf8"));
    }
    case "write":
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, argument("content"));
      return "written";
    case "edit": {
      const parts = (await readFile(path, "utf8")).split(argument("oldText"));
      if (parts.length !== 2) throw new Error(`oldText is there ${parts.length - 1} times, expected once`);
      await writeFile(path, parts.join(argument("newText")));
      return "edited";
    }
    default:
      throw new Error(`there is no tool ${name}`);
  }
}

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
