import { type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fieldsOf, integerOf, textOf } from "./bot-api.js";
import type { IncomingPlan } from "./incoming.js";

/** Something that is to be done: what came, and what it was planned to be. */
export type Task = Exclude<IncomingPlan, { readonly kind: "ignore" }>;

/** What of an update is kept. */
export interface Taken {
  readonly updateId: number;
  /** Absent where there is nothing to do, or nothing any more. */
  readonly task?: Task;
}

/**
 * The updates that were taken over from Telegram, on disk. An update is acknowledged only after {@link Inbox.take}, so that a crash
 * repeats it rather than loses it; and what is here already is not taken again, so that a repeated one is not answered twice.
 * One process at a time: Telegram gives updates to no more.
 */
export interface Inbox {
  /** Albums that photos were taken of lately. */
  readonly albums: ReadonlySet<string>;
  /** What was taken and is not done, oldest first: at the start, what a crash or an end left. */
  readonly waiting: readonly (Taken & { readonly task: Task })[];
  has(updateId: number): boolean;
  /** Durable when it resolves. */
  take(updates: readonly Taken[]): Promise<void>;
  /** Likewise. A crash before it repeats the task, which may have been all but done. */
  done(updateId: number): Promise<void>;
  close(): Promise<void>;
}

interface Row {
  readonly task?: Task;
  readonly album?: string;
}

/** Done updates that are remembered: ten batches of what Telegram can repeat, which is one. */
const remembered = 1000;
/** Lines after which the file is written anew. */
const maxLines = 10_000;

/**
 * Opens the inbox of a directory, which is made if need be. It is one file with a line for each update taken and each done, and is
 * written anew with what is still wanted when it is opened and when it has grown.
 *
 * Done updates are known by their ids, the latest thousand, and not by the highest, since ids do not always grow:
 * https://core.telegram.org/bots/api#update, read 2026-11-22.
 */
export async function openInbox(dir: string): Promise<Inbox> {
  // What people write is nobody else's business on this machine.
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, "inbox.jsonl");
  const rows = rowsOf(await readFile(path, "utf8").catch(missing));
  let file = await renew(dir, path, rows);
  let lines = rows.size;
  let last: Promise<unknown> = Promise.resolve();

  /** One write after the other, each on disk before the next. After one that failed all do: it may have left half a line. */
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

/** The last line of an update counts. A line that was cut off by a crash had not been acknowledged. */
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

/** Lets the oldest go that are done, until as many are left as are remembered. */
function forget(rows: Map<number, Row>): void {
  for (const [updateId, { task }] of rows) {
    if (rows.size <= remembered) return;
    if (task === undefined) rows.delete(updateId);
  }
}

/** The file with these rows alone: written aside, then put in its place. */
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
