/** The keys of blobs in a bucket: the same in all stores, so that a bucket of R2 may be used as one of S3. */

import type { BlobRef } from "../../content/index.js";
import { describe } from "../../core/arguments.js";
import { encodeUtf8 } from "../../core/bytes.js";
import { randomHex8, uuidv7 } from "../../core/ids.js";

/** Room for the longest key of a store below the 1024 bytes of a bucket. */
const maxPrefixBytes = 512;

/** Returns a prefix of keys. Throws a TypeError for one that a URL, XML or a list of folders would change. */
export function prefixArgument(value: unknown): string {
  const isText = typeof value === "string" && value.isWellFormed();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot name these characters
  const hasUnsafe = isText && /[\u0000-\u001f\u007f\ufffe\uffff\\]|(^|\/)\.{0,2}\//.test(value);
  const isDots = isText && /(^|\/)\.{1,2}$/.test(value);
  if (isText && !hasUnsafe && !isDots && encodeUtf8(value).length <= maxPrefixBytes) return value;
  const bounds = `at most ${maxPrefixBytes} bytes without control characters and backslashes`;
  const expected = `${bounds}, without a slash at the start and segments ".", ".." or ""`;
  throw new TypeError(`prefix: expected ${expected}, got ${describe(value)}`);
}

/** The folders of a partition. Blobs are in those of their algorithm. */
type BucketFolder = "sha256" | "blake3" | "trash" | "quarantine" | "staging";

const folders = /^(sha256|blake3|trash|quarantine|staging)\//;

/** `<algorithm>/<two digits>/<digest>`. */
function objectPath(ref: BlobRef): string {
  const [algorithm, hex] = [ref.slice(0, 6), ref.slice(7)];
  return `${algorithm}/${hex.slice(0, 2)}/${hex}`;
}

const blobPath = /^(sha256|blake3)\/([0-9a-f]{2})\/([0-9a-f]{64})$/;

function refOfPath(path: string): BlobRef | undefined {
  const [, algorithm, digits, hex] = blobPath.exec(path) ?? [];
  if (hex === undefined || !hex.startsWith(digits as string)) return undefined;
  return `${algorithm as "sha256" | "blake3"}:${hex}`;
}

/** The keys of one partition. */
export class BucketKeys {
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  folder(name: BucketFolder): string {
    return `${this.prefix}${name}/`;
  }

  blob(ref: BlobRef): string {
    return this.prefix + objectPath(ref);
  }

  /** Whether a key is in a folder of this partition: others may lie below the same prefix. */
  isOwn(key: string): boolean {
    return key.startsWith(this.prefix) && folders.test(key.slice(this.prefix.length));
  }

  /** The ref of a blob's key; undefined for a foreign key. */
  refByKey(key: string): BlobRef | undefined {
    return key.startsWith(this.prefix) ? refOfPath(key.slice(this.prefix.length)) : undefined;
  }

  /** Where all copies of a blob in the trash are. */
  trashFolder(ref: BlobRef): string {
    return `${this.folder("trash")}${objectPath(ref)}/`;
  }

  /**
   * Each move into the trash has a key of its own, also those of two collections in one millisecond: one that
   * is undone removes its own copy only.
   */
  trashed(ref: BlobRef, trashedAt: number): string {
    return `${this.trashFolder(ref)}${trashedAt}-${randomHex8()}`;
  }

  /** What a key in the trash tells; undefined for a foreign key. */
  trashedRef(key: string): { readonly ref: BlobRef; readonly trashedAt: number } | undefined {
    const folder = this.folder("trash");
    if (!key.startsWith(folder)) return undefined;
    const slash = key.lastIndexOf("/");
    const ref = refOfPath(key.slice(folder.length, slash));
    const time = /^([0-9]{1,15})-[0-9a-f]{8}$/.exec(key.slice(slash + 1))?.[1];
    return ref !== undefined && time !== undefined ? { ref, trashedAt: Number(time) } : undefined;
  }

  /** The folder of what was moved to quarantine under a name. */
  quarantineFolder(ref: BlobRef): string {
    return `${this.folder("quarantine")}${objectPath(ref)}/`;
  }

  quarantined(ref: BlobRef): string {
    return `${this.quarantineFolder(ref)}${randomHex8()}`;
  }

  staging(): string {
    return `${this.folder("staging")}${uuidv7(Date.now())}`;
  }

  /** The keys of another partition, below the same prefix. A name has no slash. */
  partition(name: string): BucketKeys {
    return new BucketKeys(`${this.prefix}@${name}/`);
  }
}
