import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { root } from "../../scripts/entries.mjs";
import type { ProviderServer } from "./providers/local-server.js";
import type { S3Server } from "./s3/server.js";
import { testKeys } from "./s3/signature.js";

/** The providers that a page can speak to. The official clients read their addresses and keys from the environment. */
export type GuideProvider = "anthropic" | "openai" | "gemini";

/** The surroundings of a page's program: providers on 127.0.0.1, files, and checks beyond the printed text. */
export interface GuidePage {
  readonly servers?: Readonly<Partial<Record<GuideProvider, () => Promise<ProviderServer>>>>;
  /** A bucket, as S3_URL in the environment, with the keys that its server takes. */
  readonly bucket?: () => Promise<S3Server>;
  /** Files in the working directory of the program, by relative path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Plays the client of a program that serves. The program then ends by itself, or by a signal to its pid that it handles. */
  readonly during?: (program: RunningProgram) => Promise<void>;
  /** Looks at the requests and files after the program has ended. */
  readonly after?: (ran: GuideRun) => void | Promise<void>;
}

/** Pages whose programs import packages of test/adapters: test/adapters/frameworks/guide.test.ts runs them. */
export const frameworkPages: readonly string[] = ["langgraph.md", "openai-agents.md"];

/** A program that runs. */
export interface RunningProgram {
  readonly pid: number;
  /** Resolves to the first match in the output, as soon as the program has printed it; rejects if it ends before. */
  readonly waitFor: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/** A program that has ended. */
export interface GuideRun {
  /** The program's working directory. */
  readonly folder: string;
  /** The bodies of the requests to a provider, oldest first. */
  readonly requests: (provider: GuideProvider) => readonly unknown[];
  readonly stdout: string;
}

/** The page's `ts` blocks as one module. Every other line is blank, so that a line number is the page's. */
export function programOf(markdown: string): string {
  let inside = false;
  return markdown
    .split("\n")
    .map((line) => {
      if (line.trimEnd() === (inside ? "```" : "```ts")) {
        inside = !inside;
        return "";
      }
      return inside ? line : "";
    })
    .join("\n");
}

/** The last `text` block of the page: the output of its program. `…` stands for any text within a line. */
export function outputOf(markdown: string): string | undefined {
  return [...markdown.matchAll(/^```text\n(.*?)^```$/gms)].at(-1)?.[1];
}

/** A pattern for the whole output. */
export function outputPattern(output: string): RegExp {
  const literal = output.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("…", ".*")}$`);
}

const environmentOf = (url: (provider: GuideProvider) => string | undefined): Record<string, string> => {
  const [anthropic, openai, gemini] = [url("anthropic"), url("openai"), url("gemini")];
  return {
    ...(anthropic && { ANTHROPIC_BASE_URL: anthropic, ANTHROPIC_API_KEY: "none" }),
    ...(openai && { OPENAI_BASE_URL: `${openai}/v1`, OPENAI_API_KEY: "none" }),
    ...(gemini && { GOOGLE_GEMINI_BASE_URL: gemini, GEMINI_API_KEY: "none" }),
  };
};

const timeoutMs = 240_000;

/** Installs the built package in a folder's node_modules, as its user has it: pages import no sources. */
export function installPackage(built: string, folder: string): void {
  const own = join(folder, "node_modules", "sessile");
  mkdirSync(own, { recursive: true });
  copyFileSync(join(root, "package.json"), join(own, "package.json"));
  symlinkSync(built, join(own, "dist"));
  // A package of its own: inside the library's, Node resolves the name to the library itself.
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
}

/**
 * Runs a program in `folder`, an own folder below that of {@link installPackage}, against the page's servers.
 * Official clients are those of the repository, so the folder is inside it.
 */
export async function runPage(code: string, page: GuidePage, folder: string): Promise<GuideRun> {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, inlineSourceMap: true },
    fileName: "page.ts",
  });
  for (const [path, content] of Object.entries({ "page.mjs": outputText, ...page.files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const servers = new Map<GuideProvider, ProviderServer>();
  const bucket = await page.bucket?.();
  try {
    for (const provider of ["anthropic", "openai", "gemini"] as const) {
      const start = page.servers?.[provider];
      if (start !== undefined) servers.set(provider, await start());
    }
    const stdout = await outputOfProgram(
      folder,
      {
        ...environmentOf((provider) => servers.get(provider)?.url),
        ...(bucket && {
          S3_URL: bucket.url,
          AWS_ACCESS_KEY_ID: testKeys.accessKeyId,
          AWS_SECRET_ACCESS_KEY: testKeys.secretAccessKey,
        }),
      },
      page.during,
    );
    const requests = (provider: GuideProvider) =>
      servers.get(provider)?.requests.map(({ body }) => body) ?? [];
    await page.after?.({ folder, stdout, requests });
    return { folder, stdout, requests };
  } finally {
    await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
    await bucket?.close();
  }
}

async function outputOfProgram(
  folder: string,
  environment: Readonly<Record<string, string>>,
  during: GuidePage["during"],
): Promise<string> {
  const { PATH = "", TMPDIR } = process.env;
  const child = spawn(process.execPath, ["--enable-source-maps", "page.mjs"], {
    cwd: folder,
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...environment,
      ...{ PATH, HOME: folder, NO_COLOR: "1" },
      ...(TMPDIR && { TMPDIR }),
    },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (piece) => {
    stdout += piece;
  });
  child.stderr.setEncoding("utf8").on("data", (piece) => {
    stderr += piece;
  });
  const ended = once(child, "close").then(([status, signal]) => {
    if (status === 0 && stderr === "") return;
    throw new Error(`the program ended with ${status ?? signal}\n${stdout}\n${stderr}`);
  });
  const waitFor = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(stdout);
      if (found !== null) return found;
      await Promise.race([once(child.stdout, "data"), ended.then(() => Promise.reject(new Error(stdout)))]);
    }
  };
  try {
    await Promise.all([ended, during?.({ pid: child.pid ?? 0, waitFor })]);
  } finally {
    child.kill("SIGKILL");
  }
  return stdout;
}
