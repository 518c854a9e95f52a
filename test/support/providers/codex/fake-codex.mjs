#!/usr/bin/env node
// What `codex` does with a prompt and its images until it would ask a model: it prints what it got. Its words are those of
// codex-rs/exec/src/lib.rs of https://github.com/openai/codex (a stored copy, read 2026-11-21).
import { readFileSync } from "node:fs";
import { argv, exit, stderr, stdout } from "node:process";
import { readCommandLine } from "./command-line.mjs";

/** @param {string} message */
function fail(message) {
  stderr.write(`${message}\n`);
  exit(message.startsWith("error:") ? 2 : 1);
}

/** The prompt that came over the standard input. A byte order mark is no part of it. */
function readPrompt() {
  return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(0));
}

const [command, ...args] = argv.slice(2);
if (command !== "exec") fail("error: this codex has no other command than exec");
const { images, prompt, error } = readCommandLine(args);
if (error !== undefined) fail(`error: ${error}`);

const piped = readPrompt();
const fromInput = prompt === undefined || prompt === "-";
if (fromInput && piped.trim() === "") fail("No prompt provided via stdin.");
const said = piped.trim() === "" ? prompt : `${prompt}\n\n<stdin>\n${piped}\n</stdin>`;

stdout.write(
  JSON.stringify({
    prompt: fromInput ? piped : said,
    images: images.map((path) => ({ path, base64: readFileSync(path).toString("base64") })),
  }),
);
