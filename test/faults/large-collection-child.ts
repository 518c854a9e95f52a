import { type BlobBackend, type BlobMark, type BlobRef, type BlobStat, collectGarbage } from "sessile";

/**
 * A collection over sessions and blobs that a backend in memory pretends to have: nothing of them is kept.
 * Arguments: sessions, blobs. Prints the report.
 */

const [sessions = 0, blobs = 0] = process.argv.slice(2).map(Number);

const word = (n: number): string => (n >>> 0).toString(16).padStart(8, "0");

/** A name without the cost of a digest. */
function refOf(n: number): BlobRef {
  return `sha256:${(word(n) + word(Math.imul(n, 0x2c1b3c6d))).repeat(4)}`;
}

const now = 1_000_000_000_001;
const day = 86_400_000;
const counts = { trashed: 0, restored: 0, deleted: 0 };

/** Of ten blobs nine are named. The tenth is old, and every hundredth was touched an hour ago. */
const isNamed = (n: number): boolean => n % 10 !== 0;
const touchedAt = (n: number): number => (n % 100 === 0 ? now - 3_600_000 : now - 100 * day);

const backend: Pick<BlobBackend, "list" | "now" | "trash"> = {
  async *list() {
    for (let n = 0; n < blobs; n++) {
      if (n % 1000 === 0) await undefined;
      yield { ref: refOf(n), size: 100, touchedAt: touchedAt(n) } satisfies BlobStat;
    }
  },
  now: async () => now,
  trash: {
    async take() {
      counts.trashed++;
      return true;
    },
    async *list() {
      for (let n = blobs; n < blobs + 1000; n++)
        yield { ref: refOf(n), size: 100, trashedAt: now - 50 * day, touchedAt: now - 50 * day };
    },
    async restore() {
      counts.restored++;
      return true;
    },
    async delete() {
      counts.deleted++;
      return true;
    },
  },
};

/** Each blob is named by one session, and one blob by all. */
async function* marks(): AsyncGenerator<BlobMark> {
  const perSession = blobs / sessions;
  for (let session = 0; session < sessions; session++) {
    if (session % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    const refs: BlobRef[] = [refOf(1)];
    for (let n = session * perSession; n < (session + 1) * perSession; n++)
      if (isNamed(n)) refs.push(refOf(n));
    yield { root: `session-${session}`, refs, complete: true };
  }
  // Two that are nowhere, and one in the trash.
  yield { root: "pins", refs: [refOf(-5), refOf(-6), refOf(blobs + 7)], complete: true };
}

const report = await collectGarbage({ backend: backend as BlobBackend }, { marks: marks(), now: () => now });
const { rss } = process.memoryUsage();
const shown = { ...report, roots: { ...report.roots, first: report.roots.first.length } };
console.log(JSON.stringify({ ...shown, counts, megabytes: Math.round(rss / 1_000_000) }));
