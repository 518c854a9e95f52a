/** What each worker of vitest does before its first test: equality of bytes, and the seed of the properties. */
import { expect } from "vitest";

// Read here, because a test may remove the global.
const { compare } = Buffer;
const installed = Symbol.for("sessile.equal-bytes");
const realm = globalThis as { [installed]?: true };

/**
 * Equal arrays of bytes are equal by one comparison: the matchers look at each byte, for about a microsecond.
 * Whatever else is compared is left to them, other bytes too, for their message.
 */
function areEqualBytes(a: unknown, b: unknown): true | undefined {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array)) return undefined;
  return a.constructor === b.constructor && compare(a, b) === 0 ? true : undefined;
}

// Files share their globals where nothing isolates them.
if (realm[installed] === undefined) {
  realm[installed] = true;
  expect.addEqualityTesters([areEqualBytes]);
}

// With the same seed and the same rounds, each property has the same cases; without one, others in each run.
const seed = process.env.SESSILE_SEED;
if (seed !== undefined) {
  const { default: fc } = await import("fast-check");
  if (!Number.isInteger(Number(seed))) throw new RangeError(`SESSILE_SEED: expected an integer, got ${seed}`);
  fc.configureGlobal({ seed: Number(seed) });
}
