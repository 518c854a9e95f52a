import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { type Built, buildPackage } from "../support/built.js";
import {
  installPackage,
  outputOf,
  outputPattern,
  programOf,
  runPage,
  typeErrors,
} from "../support/guide-page.js";
import { pages } from "./pages.js";

const guide = join(root, "docs/guide");
const index = "README.md";
const markdown = new Map(
  readdirSync(guide)
    .filter((name) => name !== index)
    .map((name) => [name, readFileSync(join(guide, name), "utf8")]),
);
const programs = new Map([...markdown].map(([name, text]) => [name, programOf(text)]));

// Inside the repository, so that programs find the official clients; git ignores it.
const space = join(root, ".guide");
let folder: string;
let built: Built;
beforeAll(async () => {
  mkdirSync(space, { recursive: true });
  folder = mkdtempSync(join(space, "run-"));
  built = await buildPackage();
  installPackage(built.dir, folder);
}, 60_000);
afterAll(() => {
  built[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe("docs/guide", () => {
  it("has an index that lists every page, and a world for each", () => {
    const links = [...readFileSync(join(guide, index), "utf8").matchAll(/\]\(([\w-]+\.md)\)/g)];
    const names = [...markdown.keys()].sort();
    expect(links.map(([, name]) => name).sort()).toEqual(names);
    expect(Object.keys(pages).sort()).toEqual(names);
  });

  it("has a program on each page, which compiles against the official clients", () => {
    for (const [name, code] of programs) expect(code.trim(), name).not.toBe("");
    expect(typeErrors(programs)).toEqual([]);
  }, 60_000);

  it.concurrent.each([...markdown.keys()])(
    "%s prints the text at its end",
    async (name) => {
      const own = join(folder, name);
      mkdirSync(own);
      const { stdout } = await runPage(programs.get(name) ?? "", pages[name] ?? {}, own);
      const promised = outputOf(markdown.get(name) ?? "");
      expect(promised, "a text block at the end of the page").toBeDefined();
      if (!outputPattern(promised ?? "").test(stdout)) expect(stdout).toBe(promised);
    },
    120_000,
  );
});
