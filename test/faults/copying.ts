import { fileBlobStore, fileSessionStore } from "sessile/node";
import { postgresSessionStore } from "sessile/postgres";
import { copySessions } from "sessile/sync";

/**
 * A process that copies a store in files to PostgreSQL, or back. Its driver sends each query to the parent, which
 * has the server, and may kill this process at any of them.
 *
 * Arguments: `to` or `from` PostgreSQL, the directory of the sessions, those of the blobs of both stores.
 */

const [direction = "", sessions = "", blobsFrom = "", blobsTo = ""] = process.argv.slice(2);
type Answer = {
  readonly id: number;
  readonly rows?: unknown[];
  readonly error?: { message: string; code?: string };
};
const waiting = new Map<number, (answer: Answer) => void>();
process.on("message", (answer: Answer) => {
  waiting.get(answer.id)?.(answer);
  waiting.delete(answer.id);
});

let count = 0;
const db = {
  query(text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
    const id = count++;
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ rows = [], error }) => {
        if (error === undefined) resolve({ rows });
        else reject(Object.assign(new Error(error.message), error));
      });
      process.send?.({ id, text, values });
    });
  },
};

const files = fileSessionStore({ dir: sessions });
const rows = postgresSessionStore({ db });
const blobs = () => ({ from: fileBlobStore({ dir: blobsFrom }), to: fileBlobStore({ dir: blobsTo }) });
const report = await (direction === "to"
  ? copySessions(files, rows, { blobs })
  : copySessions(rows, files, { blobs }));
process.send?.({ report: { ...report, skipped: report.skipped.length } }, () => process.disconnect());
