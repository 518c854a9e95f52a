/**
 * Parcels: values of a framework as JSON of an entry. A parcel gives back exactly the value that it was made
 * of: any JSON value, undefined and Uint8Array. Only minus zero becomes zero. Large strings and bytes are
 * blobs, which the entry names by their refs, so that a garbage collection finds them.
 */

import { type BlobStore, digest } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { decodeBase64, encodeBase64 } from "../../core/base64.js";
import { decodeUtf8, encodeUtf8 } from "../../core/bytes.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";

/** A key of an object or an index of an array, for each step from the value to a member. */
type Path = readonly (string | number)[];

/**
 * A member that is not in the JSON as itself, but as null.
 * - `base64`: a string; the blob has the bytes that it encodes.
 * - `data`: a string; `head` ends with `;base64,`, and the blob has the bytes after it.
 * - `text`: a string; the blob is its UTF-8.
 * - `bytes`: a Uint8Array; without a ref the JSON has its base64.
 * - `undefined`.
 */
type OutOfLine =
  | readonly [path: Path, kind: "base64" | "text" | "bytes", ref: BlobRef]
  | readonly [path: Path, kind: "data", ref: BlobRef, head: string]
  | readonly [path: Path, kind: "bytes" | "undefined"];

/** A value in the data of an entry: JSON, or the text of JSON that an entry refuses. */
export type Parcel =
  | { readonly v: unknown; readonly out?: readonly OutOfLine[] }
  | { readonly json: string; readonly out?: readonly OutOfLine[] };

/** Bytes that must be stored before the parcel is complete. */
interface PendingBlob {
  readonly path: Path;
  readonly kind: "base64" | "data" | "text" | "bytes";
  readonly bytes: Uint8Array;
  readonly head?: string;
}

/** A checked copy of a value. {@link Parcels.store} makes a parcel of it. */
export interface PackedValue {
  readonly json: unknown;
  /** Whether an entry would refuse or change the JSON: too much nesting, or a reserved key. */
  readonly isText: boolean;
  readonly pending: readonly PendingBlob[];
  readonly inline: readonly OutOfLine[];
}

/** Nesting from which on a value is stored as text. Stores accept 256 by default. */
const maxInlineDepth = 100;
/** Nesting that is refused: at 1,500 the copy overflowed the stack of a main thread, which has 984 kB. */
const maxDepth = 500;
/** Characters from which on any text is a blob. */
const minTextLength = 65_536;
/** Characters from which on a data URL is a blob: about those of its place and its ref. */
const minDataUrl = 256;
const maxConcurrentBlobs = 8;
/** Steps of a path in an error, and characters of a key. */
const [maxShownSteps, maxShownKey] = [20, 100] as const;

/** Makes parcels and opens them. */
export class Parcels {
  readonly #blobs: BlobStore | undefined;
  readonly #outOfLine: number;

  /** @param blobs undefined keeps all values in the log */
  constructor({ blobs, outOfLine }: { readonly blobs: BlobStore | undefined; readonly outOfLine: number }) {
    this.#blobs = blobs;
    this.#outOfLine = outOfLine;
  }

  /**
   * Copies a value at the call, and checks that it can be kept. Stores nothing.
   * @param place the name of the value in errors, such as `items[2]`
   * @throws SessileError INVALID_ENTRY naming the member: a function, a symbol, a bigint, an infinite number,
   *   a class instance, a cycle, a sparse array
   */
  pack(value: unknown, place: string): PackedValue {
    const packer = new Packer(place, this.#blobs === undefined ? Infinity : this.#outOfLine);
    const json = packer.copy(value, undefined, 0);
    return { json, isText: packer.isText, pending: packer.pending, inline: packer.inline };
  }

  /** A checked copy of a value, whole. Errors as of {@link pack}. */
  copy(value: unknown, place: string): unknown {
    const packer = new Packer(place, Infinity);
    const root = { value: packer.copy(value, undefined, 0) };
    for (const [path, kind] of packer.inline) {
      const [holder, key] = memberAt(root, path);
      setMember(holder, key, kind === "bytes" ? decodeBase64(holder[key] as string) : undefined);
    }
    return root.value;
  }

  /** Stores the blobs of a packed value, and returns its parcel. Do this before the append. */
  async store({ json, isText, pending, inline }: PackedValue): Promise<Parcel> {
    const out: OutOfLine[] = [...inline];
    for await (const stored of mapConcurrent(pending, maxConcurrentBlobs, (blob) => this.#put(blob)))
      out.push(stored);
    const list = out.length === 0 ? {} : { out };
    return isText ? { json: JSON.stringify(json), ...list } : { v: json, ...list };
  }

  /** {@link Parcels.pack} and {@link Parcels.store}. */
  async make(value: unknown, place: string): Promise<Parcel> {
    return this.store(this.pack(value, place));
  }

  /**
   * The value of a parcel, as new objects.
   * @throws SessileError BLOB_CORRUPT if a blob is damaged or missing
   */
  async open(parcel: Parcel): Promise<unknown> {
    const root = { value: "json" in parcel ? JSON.parse(parcel.json) : copyTree(parcel.v) };
    const opened = mapConcurrent(parcel.out ?? [], maxConcurrentBlobs, async (out) => {
      const [path, kind, ref] = out;
      return [path, kind, ref === undefined ? undefined : await this.#get(out, ref)] as const;
    });
    for await (const [path, kind, value] of opened) {
      const [holder, key] = memberAt(root, path);
      if (kind === "bytes" && value === undefined)
        setMember(holder, key, decodeBase64(holder[key] as string));
      else setMember(holder, key, value);
    }
    return root.value;
  }

  async #put({ path, kind, bytes, head = "" }: PendingBlob): Promise<OutOfLine> {
    const [, mediaType] = /^data:([\w.+-]{1,127}\/[\w.+-]{1,127})/.exec(head) ?? [];
    const { ref } = await (this.#blobs as BlobStore).put(bytes, mediaType === undefined ? {} : { mediaType });
    return kind === "data" ? [path, kind, ref, head] : [path, kind, ref];
  }

  async #get([, kind, , head]: OutOfLine, ref: BlobRef): Promise<unknown> {
    const bytes = await this.#blobs?.get(ref);
    if (bytes === undefined) {
      throw new SessileError("BLOB_CORRUPT", `the blob ${ref} is missing`, {
        details: { expected: ref, actual: "missing", size: 0 },
      });
    }
    if (kind === "bytes") return bytes;
    if (kind === "text") return decodeUtf8(bytes);
    return (head ?? "") + encodeBase64(bytes);
  }
}

/** Whether the data of an entry is a parcel. */
export function isParcel(data: unknown): data is Parcel {
  if (!isRecord(data) || !("v" in data || typeof data.json === "string")) return false;
  return data.out === undefined || (Array.isArray(data.out) && data.out.every(Array.isArray));
}

/** The path to a member, last step first. A list for each member would cost as much as the copy. */
interface Step {
  readonly key: string | number;
  readonly up: Step | undefined;
}

/** Copies one value. */
class Packer {
  isText = false;
  readonly pending: PendingBlob[] = [];
  readonly inline: OutOfLine[] = [];
  readonly #place: string;
  readonly #outOfLine: number;
  /** The containers of the member at hand, to find a cycle. */
  readonly #above = new Set<object>();

  constructor(place: string, outOfLine: number) {
    this.#place = place;
    this.#outOfLine = outOfLine;
  }

  copy(value: unknown, step: Step | undefined, depth: number): unknown {
    switch (typeof value) {
      case "string":
        return this.#isLarge(value) ? this.#largeString(value, step) : value;
      case "boolean":
        return value;
      case "number":
        if (!Number.isFinite(value)) throw this.#refusal(step, "a finite number");
        return value;
      case "undefined":
        this.inline.push([stepPath(step), "undefined"]);
        return null;
      case "object":
        return value === null ? null : this.#object(value, step, depth);
      default:
        throw this.#refusal(step, "a JSON value, undefined or a Uint8Array");
    }
  }

  #isLarge(value: string): boolean {
    if (value.length >= this.#outOfLine) return true;
    return this.#outOfLine !== Infinity && value.length >= minDataUrl && value.startsWith("data:");
  }

  #largeString(value: string, step: Step | undefined): string | null {
    const head = dataUrlHead(value);
    const bytes = decodeBase64(value.slice(head.length));
    if (bytes !== undefined) {
      const kind = head === "" ? "base64" : "data";
      this.pending.push({ path: stepPath(step), kind, bytes, head });
      return null;
    }
    if (value.length < minTextLength || !value.isWellFormed()) return value;
    this.pending.push({ path: stepPath(step), kind: "text", bytes: encodeUtf8(value) });
    return null;
  }

  #object(value: object, step: Step | undefined, depth: number): unknown {
    if (value instanceof Uint8Array) return this.#bytes(value, step);
    if (this.#above.has(value)) throw this.#refusal(step, "no cycle");
    if (depth >= maxDepth) throw this.#refusal(step, "less nesting");
    if (depth >= maxInlineDepth) this.isText = true;
    if (Object.getOwnPropertySymbols(value).length > 0) throw this.#refusal(step, "no symbols as keys");
    this.#above.add(value);
    const copy = Array.isArray(value) ? this.#array(value, step, depth) : this.#members(value, step, depth);
    this.#above.delete(value);
    return copy;
  }

  #bytes(value: Uint8Array, step: Step | undefined): string | null {
    const bytes = Uint8Array.from(value);
    if (bytes.length >= this.#outOfLine) {
      this.pending.push({ path: stepPath(step), kind: "bytes", bytes });
      return null;
    }
    this.inline.push([stepPath(step), "bytes"]);
    return encodeBase64(bytes);
  }

  #array(value: readonly unknown[], up: Step | undefined, depth: number): unknown[] {
    if (Object.keys(value).length !== value.length)
      throw this.#refusal(up, "an array without holes and named members");
    return value.map((item, key) => this.copy(item, { key, up }, depth + 1));
  }

  #members(value: object, up: Step | undefined, depth: number): object {
    const prototype: unknown = Object.getPrototypeOf(value);
    // A plain object can come from another realm, whose Object.prototype has no prototype either.
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null)
      throw this.#refusal(up, "a plain object");
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      if (key === "__proto__" || key === "toJSON") this.isText = true;
      setMember(copy, key, this.copy((value as Record<string, unknown>)[key], { key, up }, depth + 1));
    }
    return copy;
  }

  #refusal(step: Step | undefined, expected: string): SessileError<"INVALID_ENTRY"> {
    const path = stepPath(step);
    const shown = path.slice(0, maxShownSteps).map((key) => {
      return typeof key === "number" ? `[${key}]` : `.${key.slice(0, maxShownKey)}`;
    });
    const at = this.#place + shown.join("") + (path.length > shown.length ? "…" : "");
    return new SessileError("INVALID_ENTRY", `${at}: expected ${expected}; nothing was written`, {
      details: { path: at, expected },
    });
  }
}

function stepPath(step: Step | undefined): Path {
  const path: (string | number)[] = [];
  for (let at = step; at !== undefined; at = at.up) path.push(at.key);
  return path.reverse();
}

/** `data:…;base64,` at the start of a string; empty if there is none. */
function dataUrlHead(text: string): string {
  if (!text.startsWith("data:")) return "";
  const comma = text.indexOf(",");
  const head = text.slice(0, comma + 1);
  return head.endsWith(";base64,") ? head : "";
}

function copyTree(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyTree);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = copyTree((value as Record<string, unknown>)[key]);
  return copy;
}

type Holder = Record<string | number, unknown>;

/** The object or array with the member at a path, and the key of the member there. */
function memberAt(root: { value: unknown }, path: Path): readonly [holder: Holder, key: string | number] {
  let holder = root as Holder;
  let key: string | number = "value";
  for (const step of path) {
    const next: unknown = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (typeof next !== "object" || next === null) throw invalidPath();
    [holder, key] = [next as Holder, step];
  }
  if (!Object.hasOwn(holder, key)) throw invalidPath();
  return [holder, key];
}

function invalidPath(): SessileError<"INVALID_ENTRY"> {
  const details = { path: "out", expected: "paths of members of the value" };
  return new SessileError("INVALID_ENTRY", `${details.path}: expected ${details.expected}`, { details });
}

/** Assigning `__proto__` would set the prototype. */
function setMember(holder: Holder, key: string | number, value: unknown): void {
  if (key !== "__proto__") holder[key] = value;
  else Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
}

// Ids of entries, and digests of values. If a framework has an id that identifies a repeated append, the id
// of the entry is made of it, so that a repeated append writes nothing, also in another process and after a
// crash.

/**
 * An id of parts, such as `c/thread/1`. Injective. Printable ASCII without quotes and backslashes, so that a
 * reader takes it from a line without parsing the line.
 */
export function entryId(...parts: readonly (string | number)[]): string {
  return parts.map((part) => escapePart(String(part))).join("/");
}

/** The parts of an {@link entryId}. */
export function entryIdParts(id: string): readonly string[] {
  return id.split("/").map(unescapePart);
}

function escapePart(part: string): string {
  // Code units, so that ill-formed text keeps its own id.
  return part.replace(
    /[^A-Za-z0-9_.:@|+=,;~-]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function unescapePart(part: string): string {
  return part.replace(/%([0-9a-f]{4})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** The SHA-256 of a text, as 64 hexadecimal digits. */
export function textDigest(text: string): string {
  // Lone surrogates would be replaced, and two texts could have one digest.
  const exact = text.isWellFormed() ? `w${text}` : `i${JSON.stringify(text)}`;
  return digest(encodeUtf8(exact)).slice("sha256:".length);
}

/** 96 bits of the SHA-256 of a text, as 16 characters: for an id that each line of a value repeats. */
export function shortDigest(text: string): string {
  const bytes = Uint8Array.from(textDigest(text).match(/../g) as string[], (digits) =>
    Number.parseInt(digits, 16),
  );
  return encodeBase64(bytes.subarray(0, 12)).replaceAll("+", "-").replaceAll("/", "_");
}

/** The SHA-256 of a value. The order of keys and undefined members do not change it. */
export function valueDigest(value: unknown): string {
  return textDigest(canonicalText(value));
}

/** A text of a value with sorted keys. Bytes are base64; undefined members are omitted. */
export function canonicalText(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof Uint8Array) return `bytes"${encodeBase64(value)}"`;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const record = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(record).filter((key) => record[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(record[key])}`)
    .join(",")}}`;
}
