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

/** A member that may be left out; proxies write null for that too. */
export function given<T>(shape: Shape<T>): OptionalShape<T | null> {
  return optional(nullable(shape));
}

/** An object that may be left out, whose named members pass. */
export function givenFields(fields: Fields): OptionalShape {
  return given(object(fields));
}

/** An array of which the first item passes: the others are not read. */
export function firstOf(item: Shape): Shape {
  return custom((value) => {
    if (!Array.isArray(value)) return { path: "", expected: "an array" };
    const problem = value.length === 0 ? undefined : item(value[0]);
    return problem && { path: joinPath("[0]", problem.path), expected: problem.expected };
  });
}

/**
 * Throws INVALID_MESSAGE with the path of the first member that is not as the protocol has it: a proxy, or a
 * server that resembles the provider, may send anything.
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

/** Sums of a few, and milliseconds, are finite numbers still. */
const maxCount = Number.MAX_SAFE_INTEGER;

/** A count of a reply; undefined for anything else, since a wrong count is no reason to lose a reply. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= maxCount ? value : undefined;
}

/** An object of counts; one without members for anything else. */
export function countsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** The members that pass: what a stream says of its reply must not keep the rest of it from being read. */
export function passing<T extends object>(members: T, checks: Readonly<Record<string, Check>>): T {
  const passes = ([key, value]: [string, unknown]) => checks[key]?.(value) === undefined;
  return Object.fromEntries(Object.entries(members).filter(passes)) as T;
}
