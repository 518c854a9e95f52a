import { parseSession, type SessionStore, sessionStore } from "sessile";
import { hookedMemory } from "../session/hooked-backend.js";

const feed = Uint8Array.of(10);

/** The bytes of a session's log, as a file has them, up to its last line feed. */
export async function bytesOf(store: SessionStore, id: string, partition = ""): Promise<Uint8Array> {
  const log = await store.backend.open(id, { partition, mode: "read" });
  if (log === undefined) throw new Error(`there is no session ${id}`);
  const parts: Uint8Array[] = [];
  for await (const { lines, at } of log.read(undefined)) {
    const separate =
      "bounds" in lines
        ? at.map((_, i) => lines.bytes.slice(lines.bounds[2 * i], lines.bounds[2 * i + 1]))
        : lines.map((line) => line.slice());
    for (const line of separate) parts.push(line, feed);
  }
  await log.close();
  return Buffer.concat(parts);
}

export async function textOf(store: SessionStore, id: string, partition = ""): Promise<string> {
  return Buffer.from(await bytesOf(store, id, partition)).toString("utf8");
}

/** Stores these lines as a session, whatever they are. */
export async function put(
  store: SessionStore,
  id: string,
  text: string | Uint8Array,
  { partition = "", cwd = "/p", timestamp = "2026-01-01T00:00:00.000Z" } = {},
): Promise<void> {
  const { log, position } = await store.backend.create({ id, partition, cwd, timestamp });
  const bytes = Buffer.from(text);
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start) + 1 || bytes.length;
    lines.push(bytes.subarray(start, end));
    start = end;
  }
  await log.append(lines, position);
  await log.close();
}

/** Everything that two synced copies must agree on; the order of lines and of siblings is not among it. */
export function viewOf(bytes: string | Uint8Array): object {
  const { entries, tree, leafId, info, diagnostics } = parseSession(bytes);
  return {
    // A text: comparing thousands of objects takes seconds.
    entries: entries
      .map(({ id }) => JSON.stringify(tree.node(id)))
      .sort()
      .join("\n"),
    leafId,
    labels: [...tree.labels()].map(({ targetId, label }) => `${targetId} ${label}`).sort(),
    info,
    problems: diagnostics.map(({ code }) => code),
  };
}

/** A store in memory. */
export function memoryStore(now: () => number = Date.now): SessionStore {
  return sessionStore(hookedMemory({}, now), { now });
}
