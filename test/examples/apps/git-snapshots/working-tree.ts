import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  assistantMessage,
  memorySessionStore,
  type Session,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";

/** Runs git as a person does, with settings of their own. */
export function git(dir: string, ...args: readonly string[]): string {
  const person = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"];
  return execFileSync("git", [...person, ...args], { cwd: dir, encoding: "latin1", stdio: "pipe" });
}

/** Makes a repository with one commit. */
export function makeRepository(dir: string, ...options: readonly string[]): string {
  mkdirSync(dir, { recursive: true });
  git(dir, "init", "--quiet", "--initial-branch=main", ...options);
  write(dir, { "README.md": "# Tally\n", "src/a.txt": "a\n", ".gitignore": "ignored/\n*.log\n" });
  git(dir, "add", ".");
  git(dir, "commit", "--quiet", "--message=first");
  return dir;
}

/** Writes files by relative path. */
export function write(dir: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
}

/** Every file and link below a directory but `.git`: kind, permissions and bytes, by binary path. */
export function filesIn(dir: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = (below: string): void => {
    for (const name of readdirSync(Buffer.from(`${dir}/${below}`, "latin1"), "latin1").sort()) {
      if (name === ".git") continue;
      const path = below + name;
      const absolute = Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(path, "latin1")]);
      const stats = lstatSync(absolute);
      const mode = (stats.mode & 0o7777).toString(8);
      if (stats.isDirectory()) visit(`${path}/`);
      else if (stats.isSymbolicLink()) found[path] = `link ${readlinkSync(absolute, "latin1")}`;
      else if (stats.isFile()) found[path] = `${mode} ${readFileSync(absolute, "latin1")}`;
      else found[path] = "special";
    }
  };
  visit("");
  return found;
}

/** All that git knows of a repository: every file of its directory but objects and the snapshots, and what git says. */
export function userState(dir: string): Readonly<Record<string, string>> {
  const gitDir = git(dir, "rev-parse", "--path-format=absolute", "--git-common-dir").trim();
  const found: Record<string, string> = {};
  for (const path of readdirSync(gitDir, { recursive: true, encoding: "utf8" }).sort()) {
    if (/(^|\/)(objects|sessile)(\/|$)/.test(path) || !lstatSync(join(gitDir, path)).isFile()) continue;
    found[path] = readFileSync(join(gitDir, path), "latin1");
  }
  const asked = [["stash", "list"], ["reflog", "--all"], ["branch", "--all"], ["tag"], ["config", "--list"]];
  for (const args of asked) found[`git ${args.join(" ")}`] = git(dir, ...args);
  return found;
}

/** `git status`, without an update of the index. */
export const status = (dir: string): string =>
  git(dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--ignored", "-z");

/** A session in memory, for a directory. */
export const sessionFor = (cwd: string, id?: string): Promise<Session> =>
  memorySessionStore().create({ cwd, ...(id !== undefined && { id }) });

const maker = { provider: "p", model: "m" };
let calls = 0;

/** The call of a tool. */
export const call = (name: string, args: object = {}): ToolCall => ({
  type: "toolCall",
  id: `call-${++calls}`,
  name,
  arguments: args,
});

/** A call that writes a file, as the ledger knows it. */
export const writing = (path: string): ToolCall => call("write", { path, content: "" });

/**
 * A turn: a question, a call of a tool with its result, and a reply. `run` is the tool. Returns the ids of the
 * question, the call's message, the result and the reply.
 */
export async function turn(
  session: Session,
  before: (call: ToolCall) => Promise<unknown>,
  run: () => void,
  tool: ToolCall = call("bash", { command: "true" }),
): Promise<readonly [question: string, asked: string, result: string, reply: string]> {
  const question = await session.appendMessage(userMessage("Go on."));
  const asked = await session.appendMessage(assistantMessage(maker, tool));
  await before(tool);
  run();
  const result = await session.appendMessage(toolResult(tool, "done"));
  const reply = await session.appendMessage(assistantMessage(maker, "Done."));
  return [question.id, asked.id, result.id, reply.id];
}
