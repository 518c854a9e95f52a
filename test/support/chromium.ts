import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

/** A browser of the system: none is downloaded. `.ci/tools` looks in the same places. */
const onPath = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((dir) => [join(dir, "chromium"), join(dir, "chromium-browser")]);
const path = [process.env.CHROMIUM, ...onPath].find(
  (candidate) => candidate !== undefined && existsSync(candidate),
);

/** Why tests in a browser are skipped; undefined where they run. In CI they run, or fail. */
export const withoutChromium: string | undefined =
  path !== undefined || process.env.CI !== undefined
    ? undefined
    : "no Chromium: neither CHROMIUM nor a program on the path is one";

/** Fonts of a package alone: each machine draws the same letters. */
const fonts = fileURLToPath(new URL("fonts.conf", import.meta.url));

/** Starts it, without a window. */
export async function startChromium(): Promise<Browser> {
  if (path === undefined)
    throw new Error("no Chromium, and in CI there has to be one: apt-get install chromium");
  // The sandbox needs a user that is not root, or a kernel that lets anybody make namespaces: containers have neither.
  return chromium.launch({
    executablePath: path,
    args: ["--no-sandbox", "--disable-gpu"],
    env: { ...process.env, FONTCONFIG_FILE: fonts },
  });
}

let axe: string | undefined;

/** Serious findings of axe, by rule and place. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  axe ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof import("axe-core") }).axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} ${target} ${failureSummary}`),
      );
  });
}
