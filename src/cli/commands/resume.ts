/** `resume`: a session of any agent, continued in the same agent or in another one. */

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { exportSession } from "../../agents/index.js";
import { agentRow, resumeWords, writers } from "../../agents/internal.js";
import { homeFiles } from "../../agents/node/internal.js";
import {
  type CommandBody,
  type CommandContext,
  type ExitCode,
  type Parsed,
  textOption,
  UsageError,
} from "../command.js";
import { writeNewFile } from "../files.js";
import { locate, openNamed, sourceOptions } from "../sources.js";
import { hasLosses, printReport } from "./interop.js";

type Target = keyof typeof writers;
const targets = Object.keys(writers) as readonly Target[];

const resume: CommandBody = {
  description: [
    "Without `--in`, prints the command that continues the session in its own agent. With it, writes the session into",
    "the home of the other agent, with the model and the provider of its configuration. Nothing is overwritten.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions,
    { name: "in", value: "AGENT", choices: targets, description: "The agent that continues it." },
    { name: "yes", short: "y", description: "Write without asking." },
    { name: "run", description: "Run the command, in the directory of the project." },
  ],
  examples: [
    { line: "sessile resume latest --in codex", does: "the newest session goes on in Codex" },
    { line: "sessile resume 0f3b7a52 --run", does: "a session goes on in its own agent" },
  ],
  async run(parsed, context) {
    const name = parsed.positionals[0] ?? "";
    // The agent writes to the same standard output.
    if (context.out.json && parsed.options.run === true)
      throw new UsageError("resume: --run and --json exclude each other");
    const named = await locate(name, parsed, context);
    const to = textOption(parsed, "in") as Target | undefined;
    const isOwnHome = named.modified !== undefined && named.read !== undefined;
    if (to === undefined || (to === named.agent && isOwnHome)) {
      const { id } = named as { readonly id?: string };
      const files = (named.files ?? []).map((path) => ({ path }));
      const words = isOwnHome && id !== undefined ? resumeWords(named.agent, id, files) : undefined;
      if (words === undefined)
        throw new UsageError(
          `resume: expected --in with one of ${targets.join(", ")}: no agent has the session`,
        );
      return await finish([words], (named as { readonly cwd?: string }).cwd, parsed, context);
    }
    return await writeAndFinish(name, to, parsed, context);
  },
};

export const bodies = { resume };

/** Writes the session for an agent, and prints or runs the commands. */
async function writeAndFinish(
  name: string,
  to: Target,
  parsed: Parsed,
  context: CommandContext,
): Promise<ExitCode> {
  const { out, signal } = context;
  const home = (await homeFiles(to))?.home;
  if (home === undefined) throw new UsageError(`--in: there is no home of ${to}`);
  const { model, provider } = configuredModel(to, home, context);
  const opened = await openNamed(name, parsed, context, { hasOriginal: true });
  try {
    const { session, children, blobs } = opened;
    const files: string[] = [];
    const title = agentRow(to)?.title ?? to;
    if (parsed.options.yes !== true && !(await context.confirm(`Write it into ${home} for ${title}?`)))
      return 0;
    const written = await exportSession(session, {
      to: await writers[to](),
      children,
      now: () => context.now(),
      ...(blobs && { blobs }),
      ...(model === undefined ? {} : { modelFor: () => model }),
      ...(provider === undefined || agentRow(to)?.hasProviders !== true ? {} : { provider }),
      async write({ path, bytes }) {
        const place = join(home, ...path.split("/"));
        await writeNewFile(place, bytes, signal);
        files.push(place);
      },
    }).catch(async (error: unknown) => {
      for (const path of files) await rm(path, { force: true });
      throw error;
    });
    // A command that names a file has its name in the home.
    const words = written.resume.map((word) => files.find((file) => file === join(home, word)) ?? word);
    const id = /([^/\\]+)\.json$/.exec(words.at(-1) ?? "")?.[1];
    const commands = id === undefined ? [words] : [words, resumeWords(to, id, []) ?? []];
    if (!out.json) {
      await out.line(...files.map((path) => out.clean(path)));
      await printReport(written.report, out, hasLosses(opened));
    }
    return await finish(commands, session.header.cwd, parsed, context, { files, report: written.report });
  } finally {
    await opened.close();
  }
}

async function finish(
  commands: readonly (readonly string[])[],
  cwd: string | undefined,
  parsed: Parsed,
  { out, cwd: here, signal }: CommandContext,
  result: object = {},
): Promise<ExitCode> {
  const dir = cwd !== undefined && existsSync(cwd) ? cwd : here;
  if (out.json) await out.value({ cwd: dir, commands, ...result });
  else {
    const line = commands.map((words) => words.map(shellWord).join(" ")).join(" && ");
    await out.line(out.clean(`cd ${shellWord(dir)} && ${line}`));
  }
  if (parsed.options.run !== true) return 0;
  for (const [command = "", ...words] of commands) {
    const code = await new Promise<number>((done, failed) => {
      const child = spawn(command, words, { cwd: dir, stdio: "inherit", signal });
      child.once("error", (error: NodeJS.ErrnoException) =>
        failed(error.code === "ENOENT" ? new UsageError(`--run: ${command} is not installed`) : error),
      );
      child.once("exit", (exit) => done(exit ?? 1));
    });
    if (code !== 0) return 3;
  }
  return 0;
}

/** A word as a shell reads it. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// The model of an agent's own configuration.

interface ConfiguredModel {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** Where each agent names the model of new sessions. A file that cannot be read names none. */
function configuredModel(agent: Target, home: string, { env }: CommandContext): ConfiguredModel {
  const text = (path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  };
  const json = (path: string): Json => {
    try {
      // opencode allows comments on lines of their own.
      return JSON.parse(text(path).replace(/^\s*\/\/.*$/gm, "")) as Json;
    } catch {
      return {};
    }
  };
  const name = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const settings = () => json(join(home, "settings.json"));
  switch (agent) {
    case "codex": {
      const toml = text(join(home, "config.toml"));
      return { model: tomlText(toml, "model"), provider: tomlText(toml, "model_provider") };
    }
    case "kimi-code":
      return { model: tomlText(text(join(home, "config.toml")), "default_model") };
    case "claude-code":
      return { model: name(settings().model) };
    case "gemini":
    case "qwen-code": {
      const { model } = settings();
      return { model: name(model) ?? name((model as Json | undefined)?.name) };
    }
    case "pi":
      return { model: name(settings().defaultModel), provider: name(settings().defaultProvider) };
    case "opencode": {
      const config = join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), ".config"), "opencode");
      const model = name(
        json(join(config, "opencode.json")).model ?? json(join(config, "opencode.jsonc")).model,
      );
      const at = model?.indexOf("/") ?? -1;
      return at < 0 ? { model } : { model: model?.slice(at + 1), provider: model?.slice(0, at) };
    }
  }
}

/** A text at the top of a file of TOML: tables come after it. */
function tomlText(toml: string, key: string): string | undefined {
  const top = toml.split(/^\s*\[/m, 1)[0] ?? "";
  return new RegExp(`^\\s*${key}\\s*=\\s*(?:"([^"\\n]*)"|'([^'\\n]*)')`, "m")
    .exec(top)
    ?.slice(1)
    .find(Boolean);
}
