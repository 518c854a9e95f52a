/** The agents that `npm run interop` runs: where each is installed, its program, and its settings for a scripted model. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export type AgentName = "claude" | "codex" | "gemini" | "opencode" | "pi";

/** A file below a directory. */
export interface AgentFile {
  readonly path: string;
  readonly bytes: Uint8Array | string;
}

interface Agent {
  /** The program below the folder of an installation. */
  program(folder: string): string | undefined;
  /** Beside HOME and PATH. */
  environment(model: string): Readonly<Record<string, string>>;
  /** Settings below the home, unless a run brings files of these names. */
  settings(model: string): readonly AgentFile[];
}

const rust = process.arch === "arm64" ? "aarch64" : "x86_64";
const codexProgram = `${rust}-unknown-linux-musl/codex/codex`;
const ofNode = process.arch === "arm64" ? "linux-arm64" : "linux-x64";

/** The first path that exists. */
const first = (...paths: readonly string[]): string | undefined => paths.find((path) => existsSync(path));

const json = (path: string, value: unknown): AgentFile => ({ path, bytes: JSON.stringify(value) });

export const agents: Readonly<Record<AgentName, Agent>> = {
  claude: {
    program: (folder) =>
      first(
        join(folder, `node_modules/@anthropic-ai/claude-code-${ofNode}/claude`),
        join(
          folder,
          `node_modules/@anthropic-ai/claude-code/node_modules/@anthropic-ai/claude-code-${ofNode}/claude`,
        ),
        join(folder, "node_modules/@anthropic-ai/claude-code/cli.js"),
      ),
    environment: (model) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      // Lets it run as root.
      IS_SANDBOX: "1",
    }),
    settings: () => [],
  },
  codex: {
    program: (folder) =>
      first(
        ...[`@openai/codex-${ofNode}`, "@openai/codex"].map((name) =>
          join(folder, "node_modules", name, "vendor", codexProgram),
        ),
        ...[`@openai/codex-${ofNode}`, "@openai/codex"].map((name) =>
          join(folder, "node_modules", name, "vendor", codexProgram.replace("/codex/codex", "/bin/codex")),
        ),
      ),
    environment: () => ({ SCRIPTED_KEY: "none" }),
    settings: (model) => [
      {
        path: ".codex/config.toml",
        bytes: [
          'model = "gpt-5.2-codex"',
          'model_provider = "scripted"',
          'approval_policy = "never"',
          'sandbox_mode = "danger-full-access"',
          "[model_providers.scripted]",
          'name = "scripted"',
          `base_url = "${model}/v1"`,
          'wire_api = "responses"',
          'env_key = "SCRIPTED_KEY"',
          "[features]",
          "plugins = false",
          "",
        ].join("\n"),
      },
    ],
  },
  gemini: {
    program: (folder) =>
      first(
        join(folder, "node_modules/@google/gemini-cli/bundle/gemini.js"),
        join(folder, "node_modules/@google/gemini-cli/dist/index.js"),
      ),
    environment: (model) => ({
      GEMINI_API_KEY: "none",
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_CLI_NO_RELAUNCH: "1",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
    settings: () => [
      json(".gemini/settings.json", {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
      }),
    ],
  },
  opencode: {
    program: (folder) => first(join(folder, `node_modules/opencode-${ofNode}/bin/opencode`)),
    environment: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    }),
    settings: (model) => [
      json(".config/opencode/opencode.json", {
        $schema: "https://opencode.ai/config.json",
        autoupdate: false,
        share: "disabled",
        model: "scripted/m1",
        small_model: "scripted/m1",
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            name: "scripted",
            options: { baseURL: `${model}/v1`, apiKey: "none" },
            models: {
              m1: {
                name: "m1",
                tool_call: true,
                attachment: true,
                reasoning: true,
                modalities: { input: ["text", "image"], output: ["text"] },
                limit: { context: 128_000, output: 8_000 },
              },
            },
          },
        },
        permission: { "*": "allow" },
      }),
    ],
  },
  pi: {
    program: (folder) => first(join(folder, "node_modules/@mariozechner/pi-coding-agent/dist/cli.js")),
    environment: () => ({ PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" }),
    settings: (model) => [
      json(".pi/agent/settings.json", { defaultProvider: "scripted", defaultModel: "m1" }),
      json(".pi/agent/models.json", {
        providers: {
          scripted: {
            baseUrl: `${model}/v1`,
            api: "openai-completions",
            apiKey: "none",
            models: [{ id: "m1", input: ["text", "image"], contextWindow: 128_000, maxTokens: 8_000 }],
          },
        },
      }),
    ],
  },
};

const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

/** The pinned versions of an agent, oldest first. */
export const versionsOf = (agent: AgentName): readonly string[] =>
  Object.keys(dependencies)
    .filter((alias) => alias.startsWith(`${agent}-`))
    .map((alias) => alias.slice(agent.length + 1));

/** Outside the repository, since one agent takes hundreds of megabytes. */
const cache = (): string =>
  process.env.SESSILE_AGENTS ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sessile-agents");

/**
 * The command of an agent, which is installed first if it is not in the cache. Install scripts do not run.
 *
 * @throws Error if the version is not pinned in package.json, or the package has no program for this machine
 */
export function programOf(agent: AgentName, version: string): readonly string[] {
  const alias = `${agent}-${version}`;
  const spec = dependencies[alias]?.replace(/^npm:/, "");
  if (spec === undefined) throw new Error(`${alias} is not in test/agents/agents/package.json`);
  const folder = join(cache(), alias);
  const program = agents[agent].program(folder) ?? install(agent, folder, spec);
  return program.endsWith(".js") ? [process.execPath, program] : [program];
}

/** Installs into a folder beside, so that an interrupted installation is not mistaken for a complete one. */
function install(agent: AgentName, folder: string, spec: string): string {
  mkdirSync(cache(), { recursive: true });
  const partial = mkdtempSync(`${folder}-partial-`);
  try {
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", partial];
    execFileSync("npm", ["install", ...options, spec], {
      stdio: ["ignore", "inherit", "inherit"],
      cwd: partial,
    });
    if (agents[agent].program(partial) === undefined) {
      const found = readdirSync(join(partial, "node_modules")).join(", ");
      throw new Error(`${spec} has no program for ${process.platform} ${process.arch}; installed: ${found}`);
    }
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  const program = agents[agent].program(folder);
  if (program === undefined) throw new Error(`${spec}: no program in ${folder}`);
  return program;
}
