import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runExample } from "./support/run-example.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-wrong-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it.each([
  ["01-coding-agent", [dir, "--at", "nope", "Hello"], /^ENTRY_NOT_FOUND: no entry has the id "nope"\n$/],
  ["05-long-session", ["many"], /^RangeError: TURNS: expected a number from 1 on\n$/],
  ["06-snapshots", [join(dir, "none"), "Hello"], /^ENOENT: no such file or directory, .+\n$/],
  ["07-assistant", [dir, "a/b", "Hello"], /^TypeError: partition: expected .+, got "a\/b"\n$/],
  ["07-assistant", [dir, "anna", "--back", "nope", "Hello"], /^ENTRY_NOT_FOUND: .+\n$/],
  ["07-assistant", ["--frob"], /^ERR_PARSE_ARGS_UNKNOWN_OPTION: Unknown option '--frob'.+\n$/],
])("%s with wrong arguments prints one line with a code: %j", async (name, words, line) => {
  const { code, stderr } = await runExample(name, words);
  expect([code, stderr]).toEqual([1, expect.stringMatching(line)]);
});
