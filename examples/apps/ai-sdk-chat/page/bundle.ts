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
      entry: { page: fileURLToPath(new URL("page.tsx", import.meta.url)) },
      outDir,
      format: "esm",
      platform: "browser",
      target: "es2023",
      noExternal: [/./],
      splitting: false,
      minify: true,
      define: { "process.env.NODE_ENV": '"production"' },
    });
    const [page, style] = await Promise.all(
      ["index.html", "page.css"].map((name) => readFile(new URL(name, import.meta.url), "utf8")),
    );
    // The server delivers two files: the page with its style, and the script.
    const link = '<link rel="stylesheet" href="page.css" />';
    const html = String(page).replace(link, () => `<style>${style}</style>`);
    return { html, script: await readFile(join(outDir, "page.js"), "utf8") };
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}
