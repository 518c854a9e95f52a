/** The copy of one session into another store: the blobs that lines name, then the lines, byte for byte. */

import type { BlobStore } from "../blobs/index.js";
import type { BlobRef } from "../content/index.js";
import { concatBytes } from "../core/bytes.js";
import { mapConcurrent } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { isName } from "../core/ids.js";
import { isRecord } from "../core/shape.js";
import {
  decodeHeads,
  decodeParts,
  defaultLimits,
  formatVersion,
  isTerminatedTornLine,
  missingHeaderError,
  tornLineTerminator,
} from "../log/internal.js";
import type { LogPosition, SessionBackend, SessionHeader, SessionLog } from "../session/index.js";
import { blobRefsInLine, withLineFeed } from "../session/internal.js";
import { type CopiedLine, LineReader } from "./indexed-log.js";
import type { ChosenSession, Tally } from "./options.js";

/** The arguments of a copy. */
interface CopyContext {
  readonly to: SessionBackend;
  readonly blobs: BlobCopies | undefined;
  readonly tally: Tally;
  readonly signal: AbortSignal | undefined;
}

/** Passes over a session that grows as fast as it is copied. The next run has the rest. */
const maxPasses = 16;

/**
 * Copies the lines of a log that the target's log does not have yet, in atomic appends. The target's lines
 * must be the source's first lines, as an interrupted copy leaves them.
 *
 * @returns whether lines were written
 * @throws SessileError SESSION_EXISTS if the target has other lines, LOG_CHANGED if the source was replaced
 */
export async function copyLog(
  source: SessionLog,
  session: ChosenSession,
  context: CopyContext,
): Promise<boolean> {
  const { id } = session;
  const { signal } = context;
  const header = await readHeader(new LineReader(source, id, signal), source);
  const target = await openTarget(header, session, context);
  const writer = new CopyWriter(target.log, context);
  const reader = new LineReader(source, id, signal);
  const lines = reader.read();
  try {
    writer.position = target.position ?? (await passOver(lines, new LineReader(target.log, id, signal)));
    if (writer.position === undefined) return writer.hasWritten;
    await writer.write(lines);
    for (let pass = 1; pass < maxPasses && (await writer.write(reader.read())); pass++);
    return writer.hasWritten;
  } finally {
    await lines.return(undefined);
    context.tally.tornBytes += writer.tornBytes;
    await target.log.close();
  }

  /** Compares the target's lines with the source's. Returns the target's end, or undefined if all is done. */
  async function passOver(
    lines: AsyncGenerator<CopiedLine>,
    own: LineReader,
  ): Promise<LogPosition | undefined> {
    let isTorn = false;
    for await (const { bytes } of own.read()) {
      if (isTorn) throw otherLines(id);
      const { done, value: line } = await lines.next();
      if (done !== true && isEqual(line.bytes, bytes)) await context.blobs?.copy([bytes]);
      // The target has the whole source and more: another writer appended to it.
      else if (done === true || line.isTail) return undefined;
      // An append that was torn was never acknowledged, and is no part of the source.
      else if (isTerminatedTornLine(bytes)) isTorn = true;
      else throw otherLines(id);
    }
    if (!isTorn) return own.position;
    if (target.log.replace === undefined) throw otherLines(id);
    await writer.replace(new LineReader(source, id, signal), own.position as LogPosition);
    return undefined;
  }
}

/** Opens the target's log, or creates it. */
async function openTarget(
  header: SessionHeader,
  { id, partition }: ChosenSession,
  { to }: CopyContext,
): Promise<{ readonly log: SessionLog; readonly position?: LogPosition }> {
  const log = await to.open(id, { partition, mode: "write" });
  if (log !== undefined) {
    // Ends a line that a crash tore.
    await log.prepare?.(true);
    return { log };
  }
  if (!isName(id)) {
    const message = `id: expected the name of a session, got ${SessileError.printable(id)}`;
    throw new SessileError("INVALID_ENTRY", message, { details: { path: "id", expected: "a name" } });
  }
  // Other programs may have written anything, and a path is made of it.
  const { timestamp, cwd } = header;
  const time = Date.parse(timestamp);
  const created = new Date(Number.isNaN(time) ? 0 : time).toISOString();
  return to.create({ id, partition, cwd: cwd.toWellFormed(), timestamp: created });
}

/** The header of a log, read up to its line. */
async function readHeader(reader: LineReader, { location = "" }: SessionLog): Promise<SessionHeader> {
  let lines = 0;
  const { maxDepth } = defaultLimits;
  for await (const { bytes } of reader.read()) {
    const context = { isFirst: lines++ === 0, version: undefined, ordinal: 0, maxDepth };
    for (const { decoded } of decodeParts(bytes, context))
      if (decoded.kind === "header") return decoded.header;
  }
  throw missingHeaderError(location, lines);
}

const maxBatchBytes = 1 << 20;
const maxBatchLines = 4096;

/** Appends lines to a target in batches. */
class CopyWriter {
  readonly #log: SessionLog;
  readonly #context: CopyContext;
  position: LogPosition | undefined;
  hasWritten = false;
  /** Bytes of the source after its last line feed that were not copied. */
  tornBytes = 0;
  /** The tail of the source that was copied as a line: it is read again after the same position. */
  #tailAt: number | undefined;

  constructor(log: SessionLog, context: CopyContext) {
    this.#log = log;
    this.#context = context;
  }

  /** Appends lines. Returns whether there were any. */
  async write(lines: AsyncIterable<CopiedLine>): Promise<boolean> {
    let hasWritten = false;
    let batch: Uint8Array[] = [];
    let bytes = 0;
    const append = async (): Promise<void> => {
      await this.#append(batch);
      hasWritten = true;
      batch = [];
      bytes = 0;
    };
    for await (const line of lines) {
      const whole = this.#wholeLine(line);
      if (whole === undefined) continue;
      batch.push(whole);
      bytes += whole.length;
      if (bytes >= maxBatchBytes || batch.length >= maxBatchLines) await append();
    }
    if (batch.length > 0) await append();
    return hasWritten;
  }

  /** Replaces all lines of the target by the source's, atomically. */
  async replace(source: LineReader, expected: LogPosition): Promise<void> {
    await this.#log.replace?.(this.#wholeLines(source), expected);
    this.hasWritten = true;
  }

  async *#wholeLines(source: LineReader): AsyncGenerator<Uint8Array> {
    for await (const line of source.read()) {
      const whole = this.#wholeLine(line);
      if (whole === undefined) continue;
      await this.#context.blobs?.copy([whole]);
      this.#count([whole]);
      yield whole;
    }
  }

  /**
   * A line with its line feed. A torn tail is undefined: its writer may still be at work. With whole entries
   * joined before the torn one it is a torn line: the source's line takes its place once it is whole.
   */
  #wholeLine({ bytes, at, isTail }: CopiedLine): Uint8Array | undefined {
    if (at === this.#tailAt) return undefined;
    const isWhole = !isTail || (isEntry(bytes) && !isTerminatedTornLine(bytes));
    const isCopied = isWhole || countEntries(bytes) > 0;
    this.tornBytes = isCopied ? 0 : bytes.length;
    if (!isCopied) return undefined;
    if (isTail) this.#tailAt = at;
    return isWhole ? withLineFeed(bytes) : concatBytes([bytes, tornLineTerminator]);
  }

  async #append(batch: readonly Uint8Array[]): Promise<void> {
    const { blobs, signal } = this.#context;
    await blobs?.copy(batch);
    signal?.throwIfAborted();
    ({ position: this.position } = await this.#log.append(batch, this.position as LogPosition));
    this.hasWritten = true;
    this.#count(batch);
  }

  #count(batch: readonly Uint8Array[]): void {
    const { tally } = this.#context;
    for (const line of batch) {
      tally.bytes += line.length;
      tally.entries += countEntries(line.subarray(0, -1));
    }
  }
}

const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };

/** Whether a line ends with an entry. */
function isEntry(line: Uint8Array): boolean {
  return decodeHeads(line, context, { unchecked: true }).at(-1)?.decoded.kind === "entry";
}

function countEntries(line: Uint8Array): number {
  const parts = decodeHeads(line, context, { unchecked: true });
  return parts.filter(({ decoded }) => decoded.kind === "entry").length;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function otherLines(id: string): SessileError {
  const message = `the target has other lines in session ${SessileError.printable(id)}: use syncSessions`;
  return new SessileError("SESSION_EXISTS", message, { details: { id } });
}

// Copies of the blobs that lines name, before the lines themselves.

const concurrency = 4;
/** Bounds the memory of the refs that are known to be in the target. */
const maxKnown = 100_000;

/** Copies blobs from one store to another. */
export class BlobCopies {
  readonly #from: BlobStore;
  readonly #to: BlobStore;
  readonly #tally: Tally;
  readonly #signal: AbortSignal | undefined;
  readonly #known = new Set<BlobRef>();

  constructor(from: BlobStore, to: BlobStore, tally: Tally, signal: AbortSignal | undefined) {
    this.#from = from;
    this.#to = to;
    this.#tally = tally;
    this.#signal = signal;
  }

  /**
   * Copies every blob that these lines name, or renews its lease in the target. A blob that is missing or
   * corrupt in the source is reported and skipped: the copy has the same gap.
   */
  async copy(lines: readonly Uint8Array[]): Promise<void> {
    const wanted = new Map<BlobRef, Uint8Array>();
    for (const line of lines)
      for (const ref of blobRefsInLine(line)) if (!this.#known.has(ref)) wanted.set(ref, line);
    const copied = mapConcurrent(wanted, concurrency, ([ref, line]) => this.#copyOne(ref, line));
    for await (const ref of copied) {
      if (this.#known.size >= maxKnown) this.#known.clear();
      this.#known.add(ref);
    }
  }

  async #copyOne(ref: BlobRef, line: Uint8Array): Promise<BlobRef> {
    const signal = this.#signal;
    signal?.throwIfAborted();
    if ((await this.#to.touch(ref)) !== undefined) return ref;
    const transfer = signal === undefined ? {} : { signal };
    try {
      const source = await this.#from.stream(ref, transfer);
      if (source === undefined) {
        this.#tally.lost.add(ref);
        return ref;
      }
      const mediaType = mediaTypeIn(line, ref);
      const { size } = await this.#to.put(source, {
        ref,
        ...transfer,
        ...(mediaType === undefined ? {} : { mediaType }),
      });
      this.#tally.blobCount++;
      this.#tally.blobBytes += size;
    } catch (error) {
      if (!SessileError.is(error, "BLOB_CORRUPT")) throw error;
      this.#tally.lost.add(ref);
    }
    return ref;
  }
}

/** The media type in the descriptor of a blob: layouts may derive file names from it. */
function mediaTypeIn(line: Uint8Array, ref: BlobRef): string | undefined {
  let found: string | undefined;
  try {
    JSON.parse(new TextDecoder().decode(line), (_, value: unknown) => {
      if (isRecord(value) && value.blob === ref && typeof value.mediaType === "string")
        found = value.mediaType;
      return value;
    });
  } catch {
    // The blobs of a damaged line are copied too.
  }
  return found;
}
