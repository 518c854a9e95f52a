/** The pages of the guide about frameworks, as programs on the built package. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { run } from "../../../scripts/run.mjs";
import { type Built, buildPackage } from "../../support/built.js";
import {
  frameworkPages,
  installPackage,
  outputOf,
  outputPattern,
  programOf,
  runPage,
} from "../../support/guide-page.js";

const adapters = join(root, "test/adapters");
const pages = frameworkPages.map(
  (name) => [name, readFileSync(join(root, "docs/guide", name), "utf8")] as const,
);

// Where programs find the frameworks; git ignores it.
const space = join(adapters, ".guide");
let folder: string;
let built: Built;
beforeAll(async () => {
  mkdirSync(space, { recursive: true });
  folder = mkdtempSync(join(space, "run-"));
  built = await buildPackage();
  installPackage(built.dir, folder);
});
afterAll(() => {
  built[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

it("compile against the official types", async () => {
  const types = join(folder, "types");
  mkdirSync(types);
  for (const [name, text] of pages) writeFileSync(join(types, name.replace(".md", ".ts")), programOf(text));
  const config = { extends: join(adapters, "tsconfig.json"), include: ["*.ts"], exclude: [] };
  writeFileSync(join(types, "tsconfig.json"), JSON.stringify(config));
  const { output } = await run(["tsc", "-p", types], 600_000);
  expect(output).toBe("");
}, 600_000);

it.each(pages)("%s prints the text at its end", async (name, text) => {
  const own = join(folder, name);
  mkdirSync(own);
  const { stdout } = await runPage(programOf(text), {}, own);
  const promised = outputOf(text) ?? "";
  if (!outputPattern(promised).test(stdout)) expect(stdout).toBe(promised);
});
