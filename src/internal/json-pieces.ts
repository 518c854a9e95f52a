const pieceLength = 4096;

/**
 * The text that JSON.stringify would give for a JSON value, in pieces of some thousand characters, so that a large
 * value is never there twice. A value within itself counts as null.
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

/** An array or an object that is being written: its keys, and how many are. */
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
    // Half a pair would be escaped.
    if (isPair(text.charCodeAt(end - 1), text.charCodeAt(end))) end++;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

function isPair(first: number, second: number): boolean {
  return first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000;
}
