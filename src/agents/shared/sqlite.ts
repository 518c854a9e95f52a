/**
 * SQLite databases of other programs: their write-ahead log applied to a copy, and tables whose rows are not
 * stored refused.
 */

const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const littleEndianSums = 0x377f0682;
const bigEndianSums = 0x377f0683;
const maxPageBytes = 65_536;

/**
 * The database with the committed changes of its log. The database itself if the log has none, or is not one.
 *
 * @see https://www.sqlite.org/fileformat2.html section 4 (read 2026-11-23)
 */
export function withWriteAheadLog(database: Uint8Array, log: Uint8Array): Uint8Array {
  const found = committedPages(log);
  if (found === undefined) return database;
  const { pageBytes, pageCount, pages } = found;
  // Each page is in the database or in the log: a larger count is an attempt to reserve memory.
  if (pageCount * pageBytes > database.length + pages.size * pageBytes) return database;
  const whole = new Uint8Array(pageCount * pageBytes);
  whole.set(database.subarray(0, whole.length));
  for (const [page, at] of pages) {
    if (page <= pageCount) whole.set(log.subarray(at, at + pageBytes), (page - 1) * pageBytes);
  }
  // Write and read version 1: a database without a log.
  whole[18] = 1;
  whole[19] = 1;
  return whole;
}

/** The newest state of each page up to the last commit: its offset in the log. */
function committedPages(
  log: Uint8Array,
):
  | { readonly pageBytes: number; readonly pageCount: number; readonly pages: ReadonlyMap<number, number> }
  | undefined {
  if (log.length < logHeaderBytes) return undefined;
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength);
  const magic = view.getUint32(0);
  const pageBytes = view.getUint32(8);
  const isPage = pageBytes >= 512 && pageBytes <= maxPageBytes && (pageBytes & (pageBytes - 1)) === 0;
  if ((magic !== littleEndianSums && magic !== bigEndianSums) || !isPage) return undefined;
  const isLittle = magic === littleEndianSums;
  let sums = checksum(view, { from: 0, to: 24, isLittle, sums: [0, 0] });
  if (sums[0] !== view.getUint32(24) || sums[1] !== view.getUint32(28)) return undefined;
  const frameBytes = frameHeaderBytes + pageBytes;
  const pages = new Map<number, number>();
  let open: [number, number][] = [];
  let pageCount = 0;
  for (let at = logHeaderBytes; at + frameBytes <= log.length; at += frameBytes) {
    // A frame of an older log has other salts, and one that was not written whole another checksum.
    if (view.getUint32(at + 8) !== view.getUint32(16) || view.getUint32(at + 12) !== view.getUint32(20))
      break;
    sums = checksum(view, { from: at, to: at + 8, isLittle, sums });
    sums = checksum(view, { from: at + frameHeaderBytes, to: at + frameBytes, isLittle, sums });
    if (sums[0] !== view.getUint32(at + 16) || sums[1] !== view.getUint32(at + 20)) break;
    const page = view.getUint32(at);
    if (page > 0) open.push([page, at + frameHeaderBytes]);
    const committed = view.getUint32(at + 4);
    if (committed === 0) continue;
    pageCount = committed;
    for (const [changed, offset] of open) pages.set(changed, offset);
    open = [];
  }
  return pages.size === 0 ? undefined : { pageBytes, pageCount, pages };
}

type Sums = readonly [number, number];

function checksum(
  view: DataView,
  range: { readonly from: number; readonly to: number; readonly isLittle: boolean; readonly sums: Sums },
): Sums {
  const { from, to, isLittle } = range;
  let [first, second] = range.sums;
  for (let at = from; at < to; at += 8) {
    first = (first + view.getUint32(at, isLittle) + second) >>> 0;
    second = (second + view.getUint32(at + 4, isLittle) + first) >>> 0;
  }
  return [first, second];
}

// Tables of an SQLite database of another program: whether their rows are stored, or made by a query.

/** The part of a reader that {@link assertStoredTables} uses. */
interface Rows {
  all(sql: string): readonly Readonly<Record<string, unknown>>[];
}

/** The tables of opencode that are read. */
const names = ["session", "message", "part"];

/**
 * Refuses a database in which one of these tables is a view, a virtual table, or has computed columns: a file
 * of a few kilobytes could then have rows without end. A table that is absent is not refused.
 *
 * @throws Error with the reason
 */
export function assertStoredTables(database: Rows): void {
  const list = names.map((name) => `'${name}'`).join(", ");
  const schema = database.all(`SELECT name, type, sql FROM sqlite_master WHERE lower(name) IN (${list})`);
  for (const { name, type, sql } of schema) {
    const isVirtual = /^\s{0,20}create\s{1,20}virtual\b/i.test(String(sql).slice(0, 100));
    if (type === "table" && !isVirtual) continue;
    throw new Error(`${String(name)} is a ${isVirtual ? "virtual table" : String(type)}, not a stored table`);
  }
  for (const name of names) {
    const columns = database.all(`SELECT name, hidden FROM pragma_table_xinfo('${name}')`);
    const computed = columns.find(({ hidden }) => Number(hidden) > 0);
    if (computed !== undefined)
      throw new Error(`the column ${String(computed.name)} of ${name} is computed, not stored`);
  }
}
