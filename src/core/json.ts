/** JSON in pieces, its depth, and copies of it. */

const pieceLength = 4096;

/**
 * Prints a value as `JSON.stringify` does, in pieces of some thousand characters, so that a large value is
 * not in memory twice. A cycle becomes null.
 */
export function* jsonPieces(value: unknown): Generator<string, void, undefined> {
  let piece = "";
  for (const part of jsonParts(value)) {
    piece += part;
    if (piece.length >= pieceLength) {
      yield piece;
      piece = "";
    }
  }
  if (piece !== "") yield piece;
}

/** An array or object that is being printed. `next` is the index of the next member. */
interface Open {
  readonly value: object;
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
}

function* jsonParts(root: unknown): Generator<string, void, undefined> {
  const open: Open[] = [];
  const above = new Set<object>();
  let value: unknown = root;
  for (;;) {
    if (typeof value === "object" && value !== null && !above.has(value)) {
      const isArray = Array.isArray(value);
      const keys = isArray ? undefined : Object.keys(value).filter((key) => isWritten(value as object, key));
      open.push({ value, keys, length: (keys ?? (value as readonly unknown[])).length, next: 0 });
      above.add(value);
      yield isArray ? "[" : "{";
    } else if (typeof value === "string") {
      yield* stringParts(value);
    } else {
      yield scalar(value);
    }
    let last = open.at(-1);
    while (last !== undefined && last.next === last.length) {
      yield last.keys === undefined ? "]" : "}";
      above.delete(last.value);
      open.pop();
      last = open.at(-1);
    }
    if (last === undefined) return;
    if (last.next > 0) yield ",";
    const key = last.keys?.[last.next];
    if (key !== undefined) {
      yield* stringParts(key);
      yield ":";
    }
    value = (last.value as Record<string | number, unknown>)[key ?? last.next];
    last.next++;
  }
}

function isWritten(object: object, key: string): boolean {
  const value = (object as Record<string, unknown>)[key];
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}

function scalar(value: unknown): string {
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return String(value);
  return "null";
}

function* stringParts(text: string): Generator<string, void, undefined> {
  if (text.length <= pieceLength) {
    yield JSON.stringify(text);
    return;
  }
  yield '"';
  let at = 0;
  while (at < text.length) {
    let end = Math.min(text.length, at + pieceLength);
    // JSON.stringify would escape half of a surrogate pair.
    if (isPair(text.charCodeAt(end - 1), text.charCodeAt(end))) end++;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

function isPair(first: number, second: number): boolean {
  return first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
}

/** Whether JSON text is nested deeper than `maxDepth`, without parsing it. Short texts cannot be. */
export function isTooDeep(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth) return false;
  // A native search for opening brackets, which rules out most texts.
  let openers = 0;
  for (let at = text.indexOf("{"); at >= 0 && openers <= maxDepth; at = text.indexOf("{", at + 1)) openers++;
  for (let at = text.indexOf("["); at >= 0 && openers <= maxDepth; at = text.indexOf("[", at + 1)) openers++;
  if (openers <= maxDepth) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      const end = endOfString(text, i);
      if (end < 0) return false;
      i = end;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

/** The index of the quote that closes the string at `start`; -1 if none does. The search is native. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (first > start + 1 && text.charCodeAt(first - 1) === 0x5c) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return -1;
}

/** The value of a JSON text; undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A mutable JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A mutable JSON object. */
export interface JsonObject {
  [name: string]: Json;
}

/** Copies a JSON value deeply. Values outside JSON become null in arrays, and are omitted from objects. */
export function copyJson(value: unknown): Json {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? value.map(copyJson) : copyJsonObject(value);
}

/** {@link copyJson} for an object. */
export function copyJsonObject(value: object): JsonObject {
  const copy: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    // Assigning `__proto__` would set the prototype.
    if (name === "__proto__") {
      Object.defineProperty(copy, name, {
        value: copyJson(field),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } else copy[name] = copyJson(field);
  }
  return copy;
}
