import { pathToFileURL } from "node:url";
import { type BlobBackend, type BlobRef, type BlobStat, collectGarbage } from "sessile";
import { postgresBlobMarks, postgresSessionBackend } from "sessile/postgres";

/**
 * A collection over sessions in PGlite, and blobs that a backend pretends to have. Arguments: sessions, blobs, the
 * path of PGlite. Prints the report of two collections.
 */

const [sessions = 0, blobs = 0] = process.argv.slice(2).map(Number);
const perSession = blobs / sessions;
type Pglite = typeof import("@electric-sql/pglite");
const { PGlite } = (await import(pathToFileURL(process.argv[4] ?? "").href)) as Pglite;
const db = await PGlite.create();
await postgresSessionBackend({ db }).migrate();

/** The digest of blob n in SQL and here. */
const digestInSql = "repeat(lpad(to_hex(n), 8, '0'), 8)";
const refOf = (n: number): BlobRef => `sha256:${n.toString(16).padStart(8, "0").repeat(8)}`;
const time = "2026-01-01T00:00:00.000Z";
const header = `{"type":"session","version":3,"id":"session-","timestamp":"${time}","cwd":"/work"}`;

// As appends would write them; each session names its share of the blobs, but for every tenth.
await db.exec(`
  -- Without the checks of foreign keys, which take a third of the test.
  set session_replication_role = replica;
  insert into sessile.session (partition, id, epoch, cwd, head, size, modified_at, created_at, header)
    select '', 'session-' || s, gen_random_uuid(), '/work', ${perSession + 1}, ${perSession * 250}, now(), now(),
      '${header}'::bytea
    from generate_series(1, ${sessions}) as s;
  insert into sessile.entry (partition, id, seq, line)
    select '', 'session-' || s, 0, '${header}'::bytea from generate_series(1, ${sessions}) as s;
  insert into sessile.entry (partition, id, seq, line)
    select '', 'session-' || (n / ${perSession} + 1), n % ${perSession} + 1, convert_to(
      '{"type":"custom","id":"e' || lpad(n::text, 7, '0') || '","parentId":null,"timestamp":"${time}",'
      || '"customType":"x","data":"' || case when n % 10 = 0 then 'none' else 'sha256:' || ${digestInSql} end
      || '"}', 'UTF8')
    from generate_series(0, ${blobs - 1}) as n;
  reset session_replication_role;
`);

const now = 1_000_000_000_001;
const old = now - 100 * 86_400_000;
const backend: Pick<BlobBackend, "list" | "now" | "trash"> = {
  async *list() {
    for (let n = 0; n < blobs; n++) yield { ref: refOf(n), size: 1, touchedAt: old } satisfies BlobStat;
  },
  now: async () => now,
  trash: {
    take: async () => true,
    async *list() {},
    restore: async () => false,
    delete: async () => false,
  },
};

for (let call = 0; call < 2; call++) {
  const before = process.memoryUsage().rss;
  const start = process.cpuUsage();
  const marks = postgresBlobMarks({ db });
  const { kept, trashed, missing } = await collectGarbage({ backend: backend as BlobBackend }, { marks });
  const grown = Math.round((process.memoryUsage().rss - before) / 1_000_000);
  // Of the processor, and not of the clock: others work too.
  const { user, system } = process.cpuUsage(start);
  const ms = Math.round((user + system) / 1000);
  console.log(
    JSON.stringify({ kept: kept.count, trashed: trashed.count, missing: missing.count, grown, ms }),
  );
}
await db.close();
