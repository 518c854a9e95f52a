import type { BlobRef } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { randomHex8 } from "../internal/ids.js";

/** Addresses: the URL of a bucket, and the keys in it. */

/** A bucket's URL without a slash at the end, and its name if the URL tells it. */
export interface BucketAddress {
  readonly base: string;
  readonly bucket: string | undefined;
}

/** Parses the URL of a bucket: in path style, `http://host/bucket`, or the bucket's own host. */
export function bucketAddress(url: unknown): BucketAddress {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const isPlain = parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === "";
  if (!isPlain || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    const shown = parsed === undefined ? describe(url) : "another one";
    throw new TypeError(
      `url: expected an http or https URL without credentials, query and fragment, got ${shown}`,
    );
  }
  const path = parsed.pathname.replace(/\/+$/, "");
  const segment = path.slice(path.lastIndexOf("/") + 1);
  return {
    base: parsed.origin + path,
    bucket: path === "" ? bucketOfHost(parsed.hostname) : decodeURIComponent(segment),
  };
}

/** Only AWS tells where the name of a bucket, which may have dots, ends in its host. */
function bucketOfHost(host: string): string | undefined {
  return /^(.+?)\.s3[.-][a-z0-9.-]*amazonaws\.com(?:\.cn)?$/.exec(host)?.[1];
}

/** Room for the longest key of a store below the 1024 bytes of S3. */
const maxPrefixBytes = 512;

/** Returns a prefix of keys. Throws a TypeError for one that a URL or XML would change. */
export function prefixArgument(name: string, value: unknown): string {
  const isText = typeof value === "string" && value.isWellFormed();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot name these characters
  const hasUnsafe = isText && /[\u0000-\u001f\u007f\ufffe\uffff\\]|(^|\/)\.{0,2}\//.test(value);
  const isDots = isText && /(^|\/)\.{1,2}$/.test(value);
  if (isText && !hasUnsafe && !isDots && encodeUtf8(value).length <= maxPrefixBytes) return value;
  const bounds = `at most ${maxPrefixBytes} bytes without control characters and backslashes`;
  const expected = `${bounds}, without a slash at the start and segments ".", ".." or ""`;
  throw new TypeError(`${name}: expected ${expected}, got ${describe(value)}`);
}

/** A key as a path of a URL. Only unreserved characters stay, so that every signer agrees on its spelling. */
export function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", "/");
}

/** The folders of a partition. Blobs are in those of their algorithm. */
export type Folder = "sha256" | "blake3" | "trash" | "quarantine" | "staging";

/** `<algorithm>/<two digits>/<digest>`. */
function pathOf(ref: BlobRef): string {
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
export class Keys {
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  folder(name: Folder): string {
    return `${this.prefix}${name}/`;
  }

  blob(ref: BlobRef): string {
    return this.prefix + pathOf(ref);
  }

  /** The ref of a blob's key; undefined for a foreign key. */
  refOf(key: string): BlobRef | undefined {
    return key.startsWith(this.prefix) ? refOfPath(key.slice(this.prefix.length)) : undefined;
  }

  /** Where all copies of a blob in the trash are. */
  trashFolder(ref: BlobRef): string {
    return `${this.folder("trash")}${pathOf(ref)}/`;
  }

  /**
   * Each move into the trash has a key of its own, also those of two collections in one millisecond: one that
   * is undone removes its own copy only.
   */
  trashed(ref: BlobRef, trashedAt: number): string {
    return `${this.trashFolder(ref)}${trashedAt}-${randomHex8()}`;
  }

  /** What a key in the trash tells; undefined for a foreign key. */
  trashedOf(key: string): { readonly ref: BlobRef; readonly trashedAt: number } | undefined {
    const folder = this.folder("trash");
    if (!key.startsWith(folder)) return undefined;
    const slash = key.lastIndexOf("/");
    const ref = refOfPath(key.slice(folder.length, slash));
    const time = /^([0-9]{1,15})-[0-9a-f]{8}$/.exec(key.slice(slash + 1))?.[1];
    return ref !== undefined && time !== undefined ? { ref, trashedAt: Number(time) } : undefined;
  }

  /** The folder of what was moved to quarantine under a name. */
  quarantineFolder(ref: BlobRef): string {
    return `${this.folder("quarantine")}${pathOf(ref)}/`;
  }

  quarantined(ref: BlobRef, id: string): string {
    return `${this.quarantineFolder(ref)}${id}`;
  }

  staging(id: string): string {
    return `${this.folder("staging")}${id}`;
  }

  /** The keys of another partition, below the same prefix. A name has no slash. */
  partition(name: string): Keys {
    return new Keys(`${this.prefix}@${name}/`);
  }
}
