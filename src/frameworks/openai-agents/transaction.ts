/** Checked copies of transactions. Each value of the arguments is read once. */

import { SessileError } from "../../core/errors/index.js";

/** A transaction that no caller can change any more. */
export type TransactionCopy =
  | { readonly type: "append_items"; readonly items: readonly object[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly object[];
      readonly replacement: readonly object[];
    };

/** The fields of each type besides `type`. */
const readFields: Readonly<Record<string, readonly string[]>> = {
  append_items: ["items"],
  replace_suffix: ["expectedSuffix", "replacement"],
};

/**
 * Copies the arguments of a transaction.
 * @throws SessileError INVALID_ENTRY for other fields, and for values that cannot be copied exactly:
 *   accessors, symbols, sparse arrays, dates, cycles, typed arrays except Uint8Array
 */
export function copyTransaction(args: unknown): {
  readonly operationId: string;
  readonly transaction: TransactionCopy;
} {
  const [operationId, transaction] = readArguments(args);
  if (typeof operationId !== "string" || operationId.trim() === "")
    throw invalid("operationId", "a non-empty string", "operationId must be a non-empty string");
  if (typeof transaction !== "object" || transaction === null)
    throw invalid("transaction", "an object", "must be an object");
  const copy = copied(transaction) as Readonly<Record<string, unknown>>;
  const type = String(copy.type);
  const fields = Object.hasOwn(readFields, type) ? readFields[type] : undefined;
  if (fields === undefined)
    throw invalid(
      "transaction.type",
      "a known type",
      undefined,
      "Unsupported session history transaction type.",
    );
  const isWhole =
    Object.keys(copy).length === fields.length + 1 && fields.every((field) => Array.isArray(copy[field]));
  const name = type === "append_items" ? "append" : "suffix";
  if (!isWhole) {
    const message = `Session history ${name} transaction fields are invalid.`;
    throw invalid("transaction", `type and ${fields.join(" and ")} alone`, undefined, message);
  }
  for (const field of fields) for (const item of copy[field] as unknown[]) assertItem(item, field);
  return { operationId, transaction: copy as unknown as TransactionCopy };
}

function readArguments(args: unknown): readonly [operationId: unknown, transaction: unknown] {
  try {
    if (typeof args === "object" && args !== null)
      return [Reflect.get(args, "operationId"), Reflect.get(args, "transaction")];
  } catch {
    // An accessor threw.
  }
  throw invalid("args", "an object", "arguments are invalid");
}

function assertItem(item: unknown, field: string): void {
  if (typeof item !== "object" || item === null || Array.isArray(item) || item instanceof Uint8Array)
    throw unsupported(`transaction.${field}`, "items that are objects");
}

function copied(transaction: object): object {
  let copy: unknown;
  try {
    copy = copyValue(transaction, "transaction", new Set());
    // Refuses values that cannot be copied at all, such as a proxy.
    structuredClone(transaction);
  } catch (error) {
    if (SessileError.is(error, "INVALID_ENTRY")) throw error;
    throw unsupported("transaction", "values that can be copied");
  }
  return copy as object;
}

function copyValue(value: unknown, path: string, above: Set<object>): unknown {
  if (value === null || value === undefined) return value;
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value !== "object") throw unsupported(path, "JSON values, undefined and Uint8Array");
  if (value instanceof Uint8Array) return copyBytes(value, path);
  if (above.has(value)) throw unsupported(path, "no cycle");
  above.add(value);
  const copy = Array.isArray(value) ? copyArray(value, path, above) : copyObject(value, path, above);
  above.delete(value);
  return copy;
}

function copyBytes(value: Uint8Array, path: string): Uint8Array {
  if (Reflect.ownKeys(value).length !== value.length) throw unsupported(path, "bytes without other members");
  return Uint8Array.from(value);
}

function copyArray(value: readonly unknown[], path: string, above: Set<object>): unknown[] {
  const { length } = value;
  // The length is a key too.
  if (Reflect.ownKeys(value).length !== length + 1) throw unsupported(path, "arrays without holes");
  return Array.from({ length }, (_, at) =>
    copyValue(readMember(value, String(at), path), placeByPath(path, at), above),
  );
}

function copyObject(value: object, path: string, above: Set<object>): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw unsupported(path, "plain objects");
  const members = Reflect.ownKeys(value).map((key) => {
    if (typeof key !== "string") throw unsupported(path, "no symbols as keys");
    return [key, copyValue(readMember(value, key, path), placeByPath(path, key), above)] as const;
  });
  return Object.fromEntries(members);
}

/** The field or the item that a member is in. Keys of items are content, which an error must not show. */
function placeByPath(path: string, key: string | number): string {
  if (typeof key === "number") return path.endsWith("]") ? path : `${path}[${key}]`;
  const isField = path === "transaction" && Object.values(readFields).flat().includes(key);
  return isField ? `${path}.${key}` : path;
}

/** A member that is data: an accessor could give another value to the next reader. */
function readMember(value: object, key: string, path: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(value, key);
  if (descriptor?.enumerable === true && "value" in descriptor) return descriptor.value;
  throw unsupported(path, "enumerable members without accessors");
}

/** The error of values that cannot be copied, or not be stored. It shows nothing of them. */
export function unsupported(path: string, expected: string): SessileError<"INVALID_ENTRY"> {
  return invalid(path, expected, "items contain invalid or unsupported data");
}

/** The message is that of the SDK's own session, which its users may match. */
function invalid(
  path: string,
  expected: string,
  problem = "",
  message = `Session history transaction ${problem}.`,
): SessileError<"INVALID_ENTRY"> {
  return new SessileError("INVALID_ENTRY", message, { details: { path, expected } });
}
