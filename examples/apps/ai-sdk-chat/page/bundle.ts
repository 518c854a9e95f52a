// The page and its script, with the AI SDK in it: one file for a browser.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

export async function bundlePage(): Promise<{ readonly html: string; readonly script: string }> {
  const outDir = await mkdtemp(join(tmpdir(), "sessile-page-"));
  try {
    await build({
      config: false,
      silent: true,
      entry: { page: fileURLToPath(new URL("page.ts", import.meta.url)) },
      outDir,
      format: "esm",
      platform: "browser",
      target: "es2023",
      noExternal: [/./],
      splitting: false,
    });
    const html = await readFile(new URL("index.html", import.meta.url), "utf8");
    return { html, script: await readFile(join(outDir, "page.js"), "utf8") };
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}
