import type { FileAction, FileRecord } from "sessile/compaction";

/** A call of the made-up tools `read`, `write`, `create`, `modify`, `delete` and `move`, its paths relative to `/w`. */
export interface Act {
  readonly operation: "read" | "write" | "create" | "modify" | "delete" | "move";
  readonly path: string;
  readonly to: string;
  /** What the result says of the content, as a hash. */
  readonly hash: string | undefined;
  readonly outcome: "done" | "failed" | "unanswered";
}

type Mutable = { -readonly [K in keyof FileRecord]: FileRecord[K] } & { operations: FileAction[] };

/** What the ledger has to be: every act by itself, over a plain map that is searched from end to end. */
export function naiveLedger(acts: readonly Act[]): readonly FileRecord[] {
  const records = new Map<string, Mutable>();
  let step = 0;

  const touch = (path: string, deed: FileAction): Mutable => {
    const record = records.get(path) ?? { path, operations: [], step };
    records.set(path, record);
    if (!record.operations.includes(deed)) record.operations = [...record.operations, deed];
    record.step = step;
    return record;
  };
  const forget = (record: Mutable, ...names: (keyof FileRecord)[]) => {
    for (const name of names) delete record[name];
  };
  const maybe = (path: string, deed: FileAction) => {
    const record = touch(path, deed);
    forget(record, "contentSha256");
    record.unconfirmed = true;
  };
  const there = (path: string, deed: FileAction, hash: string | undefined) => {
    const record = touch(path, deed);
    forget(record, "gone", "movedTo", "unconfirmed", "contentSha256");
    if (hash !== undefined) record.contentSha256 = hash;
    for (const other of records.values()) {
      if (path.startsWith(`${other.path}/`)) forget(other, "gone", "movedTo");
    }
    return record;
  };
  const leave = (path: string, deed: FileAction, to?: string) => {
    for (const other of [path, ...[...records.keys()].filter((each) => each.startsWith(`${path}/`))]) {
      if (other !== path && records.get(other)?.gone) continue;
      const record = touch(other, deed);
      forget(record, "contentSha256", "movedFrom", "movedTo", "unconfirmed");
      record.gone = true;
      if (to !== undefined) record.movedTo = to + other.slice(path.length);
    }
  };

  for (const { operation, path, to, hash, outcome } of acts) {
    if (outcome === "failed" || (operation === "move" && path === to)) continue;
    step += 1;
    const gone = records.get(path)?.gone === true;
    const plain = operation === "write" ? (gone ? "create" : "modify") : operation;
    if (outcome === "unanswered") {
      const deeds = {
        read: "read",
        create: "created",
        modify: "modified",
        delete: "deleted",
        move: "moved",
      } as const;
      maybe(path, deeds[plain]);
      if (plain === "move") maybe(to, "moved");
    } else if (plain === "read") there(path, "read", hash);
    else if (plain === "modify") there(path, "modified", hash);
    else if (plain === "create") forget(there(path, "created", hash), "movedFrom");
    else if (plain === "delete") leave(path, "deleted");
    else {
      const content = hash ?? records.get(path)?.contentSha256;
      leave(path, "moved", to);
      there(to, "moved", content).movedFrom = path;
      for (const other of records.values()) {
        if (!other.gone || !other.path.startsWith(`${to}/`)) continue;
        forget(other, "gone", "movedTo");
        other.unconfirmed = true;
      }
    }
  }
  return [...records.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
