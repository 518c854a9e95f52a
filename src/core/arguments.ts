/** Checks of arguments. Their errors name the argument, the expected value and the actual one. */

import { SessileError } from "./errors/index.js";

/** The failure that an acknowledged write survives: `disk` a power loss, `os` a crash of the process. */
export type Durability = "disk" | "os";

/**
 * Returns `value`, or `fallback` if absent. Throws a RangeError unless it is an integer from `min` to `max`.
 */
export function integerOption(
  name: string,
  value: number | undefined,
  fallback: number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  return value === undefined ? fallback : integerArgument(name, value, min, max);
}

/** Returns `value`. Throws a RangeError unless it is a safe integer from `min` to `max`. */
export function integerArgument(
  name: string,
  value: number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    const bound = max === Number.MAX_SAFE_INTEGER ? `>= ${min}` : `from ${min} to ${max}`;
    throw new RangeError(
      `${name}: expected an integer ${bound}, got ${SessileError.printable(String(value))}`,
    );
  }
  return value;
}

/** Returns `value`. Throws a TypeError unless it is a non-empty string. */
export function stringArgument(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw new TypeError(`${name}: expected a non-empty string, got ${describe(value)}`);
  }
  return value;
}

/** Returns `value`, or the first choice if absent. Throws a TypeError for any other value. */
export function oneOfOption<T extends string>(
  name: string,
  value: T | undefined,
  choices: readonly [T, ...T[]],
): T {
  if (value === undefined) return choices[0];
  if (choices.includes(value)) return value;
  const expected = choices.map((choice) => JSON.stringify(choice)).join(" or ");
  throw new TypeError(`${name}: expected ${expected}, got ${describe(value)}`);
}

/** Throws a TypeError unless a value has these functions. `expected` names it, and what makes one. */
export function assertHas(
  name: string,
  value: unknown,
  functions: readonly string[],
  expected: string,
): void {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (functions.every((member) => typeof members[member] === "function")) return;
  throw new TypeError(`${name}: expected ${expected}, got ${describe(value)}`);
}

/** Throws a TypeError unless a value is an object, as options are; `expected` has the ones that are needed. */
export function assertOptions(value: unknown, expected: string): void {
  if (typeof value === "object" && value !== null) return;
  throw new TypeError(`options: expected ${expected}, got ${describe(value)}`);
}

/** A short, safe description of any value, for error messages. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "string")
    return value === "" ? "an empty string" : SessileError.printable(JSON.stringify(value.slice(0, 40)));
  if (typeof value === "object") return "then" in value ? "a promise: await it first" : "an object";
  return typeof value === "function" || typeof value === "symbol" ? `a ${typeof value}` : String(value);
}

/** Ends an exhaustive switch over a union. Throws a TypeError for a value that bypassed the types. */
export function unreachable(value: never): never {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  throw new TypeError(`unexpected value: ${describe(kind ?? value)}`);
}
