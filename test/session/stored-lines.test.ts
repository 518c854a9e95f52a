import { expect, test } from "vitest";
import type { SessionLog } from "../../src/session/api/backend.js";
import { FileBackend } from "../../src/session/node/file-backend.js";
import { storedLines } from "../../src/session/runtime/log-lines.js";
import { SimulatedDisk } from "../support/simulated-disk.js";

/** A log of a file with this text, for a reader that takes lines of up to a kibibyte. */
function logOf(text: string): SessionLog {
  const disk = new SimulatedDisk();
  disk.put("/s/a.jsonl", text);
  const times = { waitMs: 0, idleMs: 1, remoteLeaseMs: 1000 };
  const backend = new FileBackend({
    dir: "/s",
    fs: disk,
    durability: "os",
    times,
    maxLineBytes: 1024,
    now: () => 0,
  });
  return backend.logAt("/s/a.jsonl", "a");
}

test("every line is there in its place, also those that no reader takes, and what follows the last line feed", async () => {
  const long = ["1", "2", "3", "4"].map((name) => name.repeat(2000));
  const lines = [long[0], "a", "", long[1], long[2], "b", long[3]];
  for (const end of ["\n", "\ntorn", ""]) {
    const text = lines.join("\n") + end;
    const log = logOf(text);
    const found: string[] = [];
    for await (const { bytes, at, tooLong } of storedLines(log)) {
      const line = new TextDecoder().decode(bytes);
      expect(text.slice(at, at + line.length)).toBe(line);
      expect(tooLong).toBe(line.length > 1024);
      found.push(line);
    }
    expect(found).toEqual(end === "\ntorn" ? [...lines, "torn"] : lines);
    await log.close();
  }
});
