/**
 * Assertions for conformance cases, without a test runner. Failures name the expected and the actual value.
 */

import { type ErrorCode, SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";

/** A failed assertion, as opposed to an error of the store. */
class Failure extends Error {}

/** Converts any error to a failed assertion. */
export function asFailure(error: unknown): Error {
  if (error instanceof Failure) return error;
  return new Failure(`expected no error, got ${show(error)}`, { cause: error });
}

/** Fails unless both are equal data. Members that are undefined count as absent. */
export function equal(actual: unknown, expected: unknown, subject: string): void {
  if (!isEqual(actual, expected))
    throw new Failure(`${subject}: expected ${show(expected)}, got ${show(actual)}`);
}

/** Fails unless the act throws a SessileError with one of the codes. Returns its details. */
export async function rejects(
  act: () => unknown,
  codes: ErrorCode | readonly ErrorCode[],
  subject: string,
): Promise<unknown> {
  const wanted: readonly ErrorCode[] = typeof codes === "string" ? [codes] : codes;
  const expected = wanted.join(" or ");
  const error = await readError(act, expected, subject);
  for (const code of wanted) if (SessileError.is(error, code)) return error.details;
  throw new Failure(`${subject}: expected ${expected}, got ${show(error)}`);
}

/** Fails unless the act throws a TypeError. */
export async function refuses(act: () => unknown, subject: string): Promise<void> {
  const error = await readError(act, "a TypeError", subject);
  if (!(error instanceof TypeError))
    throw new Failure(`${subject}: expected a TypeError, got ${show(error)}`);
}

async function readError(act: () => unknown, expected: string, subject: string): Promise<unknown> {
  let value: unknown;
  try {
    value = await act();
  } catch (error) {
    return error;
  }
  throw new Failure(`${subject}: expected ${expected}, got ${show(value)}`);
}

/** Fails if the promise takes longer than `ms`. */
export async function within<T>(promise: Promise<T>, subject: string, ms = 60_000): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Failure(`${subject}: expected within ${ms} ms, got nothing`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a instanceof Uint8Array || b instanceof Uint8Array || Array.isArray(a) || Array.isArray(b)) {
    return isList(a) && isList(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => isEqual(a[key], b[key]));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) || value instanceof Uint8Array;
}

const maxShown = 500;

function show(value: unknown): string {
  if (value instanceof Error)
    return `${value.name} ${"code" in value ? `${value.code} ` : ""}"${value.message}"`;
  const plain = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
  const text = JSON.stringify(plain) ?? String(plain);
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}… (${text.length} characters)`;
}
