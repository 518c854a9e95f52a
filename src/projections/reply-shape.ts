/** Checks the shape of replies. */

import { SessileError } from "../errors/index.js";
import { describe } from "../internal/arguments.js";
import {
  type Check,
  custom,
  type Fields,
  isRecord,
  joinPath,
  nullable,
  type OptionalShape,
  object,
  optional,
  type Shape,
} from "../internal/shape.js";

/** An optional member. Proxies write null for an absent one. */
export function given<T>(shape: Shape<T>): OptionalShape<T | null> {
  return optional(nullable(shape));
}

/** An optional object whose named members pass their checks. */
export function givenFields(fields: Fields): OptionalShape {
  return given(object(fields));
}

/** An array whose first item passes. The others are not read. */
export function firstOf(item: Shape): Shape {
  return custom((value) => {
    if (!Array.isArray(value)) return { path: "", expected: "an array" };
    const problem = value.length === 0 ? undefined : item(value[0]);
    return problem && { path: joinPath("[0]", problem.path), expected: problem.expected };
  });
}

/**
 * Throws INVALID_MESSAGE with the path of the first invalid member. A proxy or a compatible server can send
 * anything.
 */
export function assertReply(reply: unknown, check: Check): void {
  const problem = check(reply);
  if (problem === undefined) return;
  const { path, expected } = problem;
  const got = path === "" ? `, got ${describe(reply)}` : "";
  throw new SessileError(
    "INVALID_MESSAGE",
    `${path === "" ? "reply" : `reply.${path}`}: expected ${expected}${got}`,
    {
      details: { path, expected },
    },
  );
}

/** Bounds a count so that sums stay finite. */
const maxCount = Number.MAX_SAFE_INTEGER;

/** A count of a reply; undefined for anything else, because a wrong count must not lose the reply. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= maxCount ? value : undefined;
}

/** An object of counts; empty for anything else. */
export function countsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** The members that pass their checks. An invalid member must not lose the rest of a reply. */
export function passing<T extends object>(members: T, checks: Readonly<Record<string, Check>>): T {
  const passes = ([key, value]: [string, unknown]) => checks[key]?.(value) === undefined;
  return Object.fromEntries(Object.entries(members).filter(passes)) as T;
}
