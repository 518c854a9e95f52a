import { describe } from "../internal/arguments.js";
import { randomHex8 } from "../internal/ids.js";

/** `res_` and 16 random hexadecimal digits. */
export function newResourceId(): string {
  return `res_${randomHex8()}${randomHex8()}`;
}

/** An id from a caller's source; a TypeError says what it should have been. */
export function resourceIdFrom(newId: (() => string) | undefined): string {
  if (newId === undefined) return newResourceId();
  const id = newId();
  if (typeof id === "string" && /^res_[0-9a-f]{16}$/.test(id)) return id;
  throw new TypeError(`newId: expected "res_" and 16 hexadecimal digits, got ${describe(id)}`);
}
