import { basename, dirname, resolve } from "node:path";
import { SessileError } from "../../../errors/index.js";
import { integerOption, oneOfOption, stringArgument } from "../../../internal/arguments.js";
import { isName, nameArgument, uuidv7 } from "../../../internal/ids.js";
import type { FileStat, FileSystem } from "../../../internal/node/file-system.js";
import { storageError } from "../../../internal/node/file-system.js";
import { nodeFileSystem } from "../../../internal/node/node-file-system.js";
import { publishExclusive } from "../../../internal/node/publish-exclusive.js";
import { writeNewFile } from "../../../internal/node/read-write-fully.js";
import { extensionVersion, formatVersion, type SessionHeader } from "../../api/entries.js";
import { isNewer } from "../../format/decode.js";
import { defaultLimits } from "../../format/line-splitter.js";
import { headerVersion } from "../../format/migrate.js";
import { withRegularFile } from "../file-descriptors.js";
import { idOfFileName } from "../layout.js";
import { findingOf } from "./diagnose.js";
import { Findings, type SessionFinding } from "./findings.js";
import type { OrphanPlacing } from "./salvage-lines.js";
import { SalvagedLines, type SalvagedPlace } from "./salvage-lines.js";
import { type SessionScan, scanWithConcatenated } from "./scan.js";

/** Options of {@link salvageSession}. */
export interface SalvageOptions {
  /** The new file. There must be none, and its directory must be there. */
  readonly to: string;
  /**
   * Where entries go whose parent is in no line. `chain`, the default: an entry that says nothing stands for the parent
   * and follows what was written before, so that the conversation is in one piece. `root`: that entry follows none, so that
   * each context is what it was in the damaged file.
   */
  readonly orphans?: OrphanPlacing;
  /** The id in the header, where none can be read. Default that in the name of `to`, else of `path`, else a new one. */
  readonly id?: string;
  /** The project's directory in the header, where none can be read. Default `/unknown`. */
  readonly cwd?: string;
  /** How many losses and places to list; all are counted. Of the losses, half are the last ones. Minimum 0, default 2000 of each. */
  readonly maxFindings?: number;
  /** Bytes of one line; longer ones are lost. Minimum 1024, default 64 MiB. */
  readonly maxLineBytes?: number;
  /** Ends the work with the signal's reason; no file is left. */
  readonly signal?: AbortSignal;
}

/** What {@link salvageSession} did, as plain JSON. */
export interface SalvageReport {
  readonly path: string;
  readonly to: string;
  /** The id in the new file's header. */
  readonly id: string;
  /** `kept` byte for byte, `migrated` from an older version together with all lines, or `made` since none could be read. */
  readonly header: "kept" | "migrated" | "made";
  /** Lines that are in the new file, the header's included, and their bytes in the old one without line feeds. */
  readonly kept: { readonly lines: number; readonly bytes: number };
  /** Lines that are not, and their bytes. Those that repeat another's bytes are not counted. */
  readonly lost: { readonly lines: number; readonly bytes: number };
  /** The first and the last of the lines that are not in the new file, each with why, where it lay and how long it was. */
  readonly losses: readonly SessionFinding[];
  /** How many entries got a place though their own line or their parent's is lost, and the first of them. */
  readonly placed: number;
  readonly places: readonly SalvagedPlace[];
}

/**
 * Writes what can be read of a session file into a new one beside it, and says what was lost. The old file is only read.
 * Every line that gives an entry is kept byte for byte, in its order, also of types and with fields that this version does
 * not know, and also where it was joined to another or to half of one; left out are lines that cannot be read, an incomplete end, a second header and lines whose id an earlier one has.
 * The new file opens for writing, and there is nothing wrong with it but what single lines say of themselves (`MODIFIED`,
 * `INVALID_FIELDS`, `UNSAFE_KEY`). It appears whole and on the disk, or not at all. Salvaging it again gives the same
 * bytes.
 *
 * An entry whose body is lost but not its place, and a parent that is in no line, are stood for by an entry of type `custom`,
 * customType `sessile.lost`. Only a line whose parents lead back to it, or whose parent is no id, gets another parent, and
 * loses its checksum. A file of an older version is written in the current one, as opening it for writing does.
 *
 * @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE, EMPTY; NO_HEADER where there is neither a header nor an entry;
 *   SESSION_READ_ONLY for a newer version; SESSION_EXISTS where `to` is there; LOG_CHANGED where the file was cut or
 *   rewritten meanwhile; STORAGE_FAILED
 * @throws TypeError, RangeError for arguments that are none
 * @example
 * ```ts
 * const { lost, losses } = await salvageSession("session.jsonl", { to: "session-salvaged.jsonl" });
 * console.log(`${lost.lines} lines are lost`, losses);
 * ```
 */
export function salvageSession(path: string, options: SalvageOptions): Promise<SalvageReport> {
  return salvageSessionOn(nodeFileSystem, path, options);
}

/** {@link salvageSession} on any disk. */
export async function salvageSessionOn(
  fs: FileSystem,
  path: string,
  options: SalvageOptions,
): Promise<SalvageReport> {
  const from = resolve(stringArgument("path", path));
  const to = resolve(stringArgument("to", options?.to));
  const orphans = oneOfOption("orphans", options.orphans, ["chain", "root"]);
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024);
  const maxFindings = integerOption("maxFindings", options.maxFindings, 2000, 0);
  if (options.id !== undefined) nameArgument("id", options.id);
  if (options.cwd !== undefined) stringArgument("cwd", options.cwd);
  const { signal } = options;
  const reading = { maxLineBytes, ...(signal === undefined ? {} : { signal }) };
  return withRegularFile(fs, from, "read", async (file, stat) => {
    if (stat.size === 0) throw new SessileError("EMPTY", `${from} is empty`, { details: { path: from } });
    assertNotExists(fs, to);
    let losses = new Findings(maxFindings);
    const lost = { lines: 0, bytes: 0 };
    const scan = await scanWithConcatenated(file, stat, reading, () => {
      losses = new Findings(maxFindings);
      Object.assign(lost, { lines: 0, bytes: 0 });
      return {
        problem: (problem) => {
          if (!problem.lost) return;
          losses.add(findingOf(problem));
          const bytes = (problem.bytes ?? 0) - problem.joined;
          // What stood in the place of a line feed was nobody's.
          if (problem.repeated || (problem.joined > 0 && bytes <= 1)) return;
          lost.lines++;
          lost.bytes += bytes;
        },
      };
    });
    const header = headerOf(scan, from, to, stat, options);
    const places: SalvagedPlace[] = [];
    let placed = 0;
    const lines = new SalvagedLines(scan, file, stat, header, orphans, (place) => {
      if (++placed <= maxFindings) places.push(place);
    });
    try {
      await publishNew(fs, to, lines.batches(reading));
    } catch (error) {
      throw storageError("write", to, error);
    }
    const kept = headerVersion(header) < formatVersion ? "migrated" : "kept";
    return {
      path: from,
      to,
      id: header.id,
      header: scan.header === undefined ? "made" : kept,
      kept: lines.kept,
      lost,
      losses: losses.list,
      placed,
      places,
    };
  });
}

/** The header of the session, or one for it. */
function headerOf(
  scan: SessionScan,
  from: string,
  to: string,
  stat: FileStat,
  options: SalvageOptions,
): SessionHeader {
  const { reader, rows, damaged } = scan;
  const { header } = reader;
  if (header !== undefined) {
    if (!isNewer(header)) return header;
    const message = `session ${header.id} was written by a newer version`;
    throw new SessileError("SESSION_READ_ONLY", message, { details: { id: header.id, reason: "version" } });
  }
  if (rows.size === damaged.size) {
    const details = { path: from, lines: reader.lines };
    throw new SessileError("NO_HEADER", `no line of ${from} is a header or an entry`, { details });
  }
  const named = [to, from].map((path) => idOfFileName(basename(path))).find(isName);
  const first = rows.timestamp(0);
  const began = Number.isNaN(Date.parse(first)) ? stat.mtimeMs : Date.parse(first);
  return {
    type: "session",
    version: formatVersion,
    id: options.id ?? named ?? uuidv7(Math.floor(began)),
    timestamp: new Date(began).toISOString(),
    cwd: options.cwd ?? "/unknown",
    sessile: extensionVersion,
  };
}

/** Publishes a complete and fsynced file atomically, without replacing an existing one. */
async function publishNew(fs: FileSystem, path: string, batches: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.tmp-${crypto.randomUUID()}`;
  await writeNewFile(fs, temporary, batches);
  try {
    if (!publishExclusive(fs, temporary, path)) throw existsError(path);
  } finally {
    fs.unlink(temporary);
  }
  await fs.syncDirectory(dirname(path));
}

function assertNotExists(fs: FileSystem, path: string): void {
  if (fs.stat(path) !== undefined) throw existsError(path);
}

function existsError(path: string): SessileError {
  return new SessileError("SESSION_EXISTS", `there is a file ${path} already`, { details: { id: path } });
}
