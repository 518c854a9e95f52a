import { type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fieldsOf, integerOf, textOf } from "./bot-api.js";
import type { IncomingPlan } from "./incoming.js";

/** The task for an update. */
export type Task = Exclude<IncomingPlan, { readonly kind: "ignore" }>;

/** An update in the inbox. */
export interface Taken {
  readonly updateId: number;
  /** Absent if there is nothing to do, or the task is done. */
  readonly task?: Task;
}

/**
 * The updates from Telegram, on disk. An update is acknowledged only after {@link Inbox.take}, so a crash
 * repeats it and does not lose it. A repeated update is already here, and is not answered twice. For one
 * process: Telegram gives updates to only one.
 */
export interface Inbox {
  /** The albums of recent photos. */
  readonly albums: ReadonlySet<string>;
  /** Updates whose task is not done, oldest first; after a restart, those that the last process left. */
  readonly waiting: readonly (Taken & { readonly task: Task })[];
  has(updateId: number): boolean;
  /** Resolves when the updates are durable. */
  take(updates: readonly Taken[]): Promise<void>;
  /** Resolves when the end of the task is durable. A crash before that repeats the task. */
  done(updateId: number): Promise<void>;
  close(): Promise<void>;
}

interface Row {
  readonly task?: Task;
  readonly album?: string;
}

/** Number of done updates that stay known. Telegram can repeat one batch of 100. */
const remembered = 1000;
/** Lines after which the file is rewritten. */
const maxLines = 10_000;

/**
 * Opens the inbox of a directory, and creates the directory if needed. The inbox is a log with a line for
 * each update taken and each done. It is compacted when it is opened and when it has grown.
 *
 * The ids of the latest thousand done updates stay known; the highest id would not do, because ids do not
 * always grow: https://core.telegram.org/bots/api#update, read 2026-11-22.
 */
export async function openInbox(dir: string): Promise<Inbox> {
  // Other users of this machine may not read the messages.
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, "inbox.jsonl");
  const rows = rowsOf(await readFile(path, "utf8").catch(missing));
  let file = await renew(dir, path, rows);
  let lines = rows.size;
  let last: Promise<unknown> = Promise.resolve();

  /**
   * Writes are serial, each with an fsync. After a failed write all later ones fail: it may have left a torn
   * tail.
   */
  function write(entries: readonly (readonly [number, Row])[]): Promise<void> {
    const writing = last.then(async () => {
      await file.appendFile(entries.map(([id, row]) => lineOf(id, row)).join(""));
      await file.datasync();
      for (const [id, row] of entries) rows.set(id, row);
      forget(rows);
      lines += entries.length;
      if (lines < maxLines) return;
      await file.close();
      file = await renew(dir, path, rows);
      lines = rows.size;
    });
    writing.catch(() => undefined);
    last = writing;
    return writing;
  }

  return {
    get albums() {
      return new Set([...rows.values()].flatMap(({ album }) => (album === undefined ? [] : [album])));
    },
    get waiting() {
      return [...rows].flatMap(([updateId, { task }]) => (task === undefined ? [] : [{ updateId, task }]));
    },
    has: (updateId) => rows.has(updateId),
    take: (updates) =>
      write(
        updates.map(({ updateId, task }) => [
          updateId,
          { ...(task === undefined ? {} : { task }), ...albumOf(task?.album) },
        ]),
      ),
    done: (updateId) => write([[updateId, albumOf(rows.get(updateId)?.album)]]),
    async close() {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}

function albumOf(album: string | undefined): Pick<Row, "album"> {
  return album === undefined ? {} : { album };
}

function lineOf(updateId: number, row: Row): string {
  return `${JSON.stringify({ updateId, ...row })}\n`;
}

/** The last line of an update counts. A torn tail was never acknowledged. */
function rowsOf(text: string): Map<number, Row> {
  const rows = new Map<number, Row>();
  for (const line of text.split("\n")) {
    const fields = fieldsOf(parsed(line));
    const updateId = integerOf(fields?.updateId);
    if (updateId === undefined) continue;
    const task = fieldsOf(fields?.task) as Task | undefined;
    rows.set(updateId, { ...(task === undefined ? {} : { task }), ...albumOf(textOf(fields?.album)) });
  }
  forget(rows);
  return rows;
}

/** Forgets the oldest done updates beyond the number to remember. */
function forget(rows: Map<number, Row>): void {
  for (const [updateId, { task }] of rows) {
    if (rows.size <= remembered) return;
    if (task === undefined) rows.delete(updateId);
  }
}

/** Rewrites the file with these rows, by fsync and atomic rename. */
async function renew(dir: string, path: string, rows: ReadonlyMap<number, Row>): Promise<FileHandle> {
  const aside = `${path}.new`;
  const file = await open(aside, "w", 0o600);
  await file.writeFile([...rows].map(([id, row]) => lineOf(id, row)).join(""));
  await file.sync();
  await rename(aside, path);
  const directory = await open(dir, "r");
  await directory.sync().finally(() => directory.close());
  return file;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function missing(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
  throw error;
}
