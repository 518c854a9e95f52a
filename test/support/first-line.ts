import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** The first line of a child's output, which is read on. Throws if the output ends without one: the child did not start. */
export async function firstLine(output: Readable): Promise<string> {
  const lines = createInterface({ input: output });
  const ended = once(lines, "close").then(() => {
    throw new Error("the program ended without a line");
  });
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  return line;
}
