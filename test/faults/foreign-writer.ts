import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { say } from "./say.js";

/**
 * A program that writes a session as pi 1.5.2 does: no lock, no look at what others wrote since it began, each line in one
 * write to the end of the file, and first a line feed where the file does not end with one. Says each id whose write
 * returned, until it is killed.
 */
const [path = "", maxBytes = "0"] = process.argv.slice(2);

const file = openSync(path, "a+");
const { size } = fstatSync(file);
// Enough to have a whole line in it.
const end = Buffer.alloc(Math.min(size, 4 * Number(maxBytes)));
readSync(file, end, 0, end.length, size - end.length);
let parentId: string | null = null;
for (const line of end.toString("latin1").split("\n")) {
  try {
    parentId = (JSON.parse(line) as { readonly id: string }).id;
  } catch {
    // Torn or blank: pi leaves such lines out.
  }
}
if (end.at(-1) !== 10) writeSync(file, "\n");
for (let at = 0; ; at++) {
  const id = `f${process.pid}-${at}`;
  // Long lines take the longest to write, and are what is torn by a kill.
  const content = "x".repeat(Math.floor(Math.random() ** 3 * Number(maxBytes)));
  const message = { role: "user", content, timestamp: 0 };
  const timestamp = "2026-01-01T00:00:00.000Z";
  const line = Buffer.from(`${JSON.stringify({ type: "message", id, parentId, timestamp, message })}\n`);
  if (writeSync(file, line) < line.length) break;
  say(id);
  parentId = id;
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 6));
}
closeSync(file);
