/** The keys of a partition, as `sessile/s3` has them: a bucket may be used through either. */

import type { BlobRef } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { randomHex8, uuidv7 } from "../internal/ids.js";

/** Room for the longest key below the 1024 bytes of R2. */
const maxPrefixBytes = 512;

/** Returns a prefix of keys. Throws a TypeError for one that a program which lists folders would not find. */
export function prefixArgument(value: unknown): string {
  const isText = typeof value === "string" && value.isWellFormed() && !value.startsWith("/");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot name these characters
  const hasUnsafe = isText && /[\u0000-\u001f\u007f\ufffe\uffff\\]|\/\//.test(value);
  if (isText && !hasUnsafe && encodeUtf8(value).length <= maxPrefixBytes) return value;
  const expected = `at most ${maxPrefixBytes} bytes without control characters, backslashes and "//"`;
  throw new TypeError(`prefix: expected ${expected}, got ${describe(value)}`);
}

/** The folders of a partition. */
export type Folder = "sha256" | "blake3" | "trash" | "quarantine" | "staging";

function pathOf(ref: BlobRef): string {
  const [algorithm, hex] = [ref.slice(0, 6), ref.slice(7)];
  return `${algorithm}/${hex.slice(0, 2)}/${hex}`;
}

function refOfPath(path: string): BlobRef | undefined {
  const [, algorithm, digits, hex] = /^(sha256|blake3)\/([0-9a-f]{2})\/([0-9a-f]{64})$/.exec(path) ?? [];
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
    return refOfPath(key.slice(this.prefix.length));
  }

  /** The folder of all copies of a blob in the trash. */
  trashFolder(ref: BlobRef): string {
    return `${this.folder("trash")}${pathOf(ref)}/`;
  }

  /** Each move into the trash has a key of its own: one that is undone removes its own copy only. */
  trashed(ref: BlobRef): string {
    return `${this.trashFolder(ref)}${randomHex8()}`;
  }

  /** The ref of a key in the trash; undefined for a foreign key. */
  trashedOf(key: string): BlobRef | undefined {
    const end = key.lastIndexOf("/");
    return refOfPath(key.slice(this.folder("trash").length, end));
  }

  /** The folder of what was moved to quarantine under a name. */
  quarantineFolder(ref: BlobRef): string {
    return `${this.folder("quarantine")}${pathOf(ref)}/`;
  }

  quarantined(ref: BlobRef): string {
    return `${this.quarantineFolder(ref)}${randomHex8()}`;
  }

  staging(): string {
    return `${this.folder("staging")}${uuidv7(Date.now())}`;
  }

  /** The keys of another partition, below the same prefix. A name has no slash. */
  partition(name: string): Keys {
    return new Keys(`${this.prefix}@${name}/`);
  }
}
