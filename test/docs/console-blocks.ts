import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { call } from "../cli/call.js";
import { outputPattern } from "../support/guide-page.js";

/** The calls of a page with their outputs: `console` blocks that begin with `$ sessile`. */
function consoleBlocks(
  markdown: string,
): readonly { readonly words: readonly string[]; readonly output: string }[] {
  return [...markdown.matchAll(/^```console\n\$ sessile (.*)\n([\s\S]*?)^```$/gm)].map(
    ([, line = "", output = ""]) => ({
      words: [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ""),
      output,
    }),
  );
}

/** Makes the calls of a page of the guide in a folder, in order. `…` stands for any text within a line. */
export async function checkConsole(page: string, cwd: string): Promise<void> {
  const blocks = consoleBlocks(readFileSync(join(root, "docs/guide", page), "utf8"));
  expect(blocks.length).toBeGreaterThan(5);
  for (const { words, output } of blocks) {
    const { stdout, stderr } = await call(words, { cwd });
    expect([words, stderr]).toEqual([words, ""]);
    if (!outputPattern(output).test(stdout)) expect(stdout, words.join(" ")).toBe(output);
  }
}
