import { closeSync, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { eraseEntries, type Session, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { blobBytes, inPieces } from "./blob-bytes.js";

/**
 * A process that does what it is told, a step a line, and says what became of each: `did` with what was acknowledged, or
 * `failed` with the code of the error and that of the system.
 */
const [dir = "", durability] = process.argv.slice(2);
const options = durability === "os" ? ({ durability } as const) : {};
const sessions = fileSessionStore({ ...options, dir: `${dir}/sessions`, lockWaitMs: 3000 });
const blobs = fileBlobStore({ ...options, dir: `${dir}/blobs` });
let session: Session | undefined;
/** Descriptors that are held so that nobody else has them. */
const held: number[] = [];

const steps: Readonly<Record<string, (arg: string) => Promise<readonly string[]>>> = {
  async open(id) {
    session = await sessions.open(id, { mode: "write" });
    return [];
  },
  /** Makes a session, the first lines and their file with it. */
  async create(id) {
    session = await sessions.create({ cwd: "/p", id });
    return append(["first", "second"]);
  },
  append: (text) => append([text]),
  /** Erases an entry of a session: their ids. */
  async erase(text) {
    const [id = "", entryId = ""] = text.split("/");
    await eraseEntries(sessions, id, [entryId], { reason: "a request" });
    return [];
  },
  /** Three entries, one of which is many pages long. */
  batch: (text) => append([text, text.repeat(40_000), text]),
  async close() {
    await session?.close();
    return [];
  },
  async put(text) {
    const [name = "", size = "500"] = text.split("*");
    return [(await blobs.put(blobBytes(name, Number(size)))).ref];
  },
  async stream(text) {
    const [name = "", size = "300000"] = text.split("*");
    return [(await blobs.put(inPieces(blobBytes(name, Number(size))))).ref];
  },
  async has(text) {
    const bytes = blobBytes(text, 500);
    const { ref } = await blobs.put(bytes);
    return [String(Buffer.compare((await blobs.get(ref)) ?? Buffer.alloc(0), bytes) === 0)];
  },
  async wait(ms) {
    await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    return [];
  },
  /** Takes all descriptors that the process may have but so many. */
  async starve(left) {
    try {
      for (;;) held.push(openSync("/dev/null", "r"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EMFILE") throw error;
    }
    for (const fd of held.splice(held.length - Number(left))) closeSync(fd);
    return [];
  },
  async feed() {
    for (const fd of held.splice(0)) closeSync(fd);
    return [];
  },
};

async function append(texts: readonly string[]): Promise<readonly string[]> {
  if (session === undefined) throw new Error("no session is open");
  const entries = await session.append(
    texts.map((text) => ({ type: "message", message: userMessage(text) })),
  );
  return entries.map(({ id }) => id);
}

function failure(error: unknown): string {
  if (!(error instanceof SessileError)) return `other ${String(error).replaceAll("\n", " ")}`;
  const { errno, reason } = error.details as { errno?: string; reason?: string };
  return `${error.code} ${errno ?? reason ?? ""}`;
}

/** At once, so that what was said is what was known when the process died. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [step = "", arg = ""] = line.split(" ");
  try {
    const acknowledged = await steps[step]?.(arg);
    say(["did", step, ...(acknowledged ?? ["nothing"])].join(" "));
  } catch (error) {
    say(`failed ${step} ${failure(error)}`);
  }
}
say("ended");
