import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const program = fileURLToPath(new URL("./fake-codex.mjs", import.meta.url));

/** What a model would be shown. */
const shown = z.strictObject({
  prompt: z.string(),
  images: z.array(z.strictObject({ path: z.string(), base64: z.string() })),
});

/** What came of a run. */
export type CodexRun =
  | ({ readonly exitCode: 0 } & z.infer<typeof shown>)
  | { readonly exitCode: number; readonly error: string };

/** Runs `codex exec` with arguments, and with a prompt over the standard input. */
export async function runCodex(args: readonly string[], prompt: string): Promise<CodexRun> {
  const child = spawn(process.execPath, [program, "exec", ...args], { stdio: "pipe" });
  child.stdin.on("error", () => undefined).end(prompt);
  const [output, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  const exitCode = child.exitCode ?? -1;
  return exitCode === 0
    ? { exitCode, ...shown.parse(JSON.parse(output)) }
    : { exitCode, error: error.trim() };
}
