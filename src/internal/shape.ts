/**
 * Checks of plain data that say where it is wrong. A check gives undefined for a good value, else the place, relative
 * to the value, and what was expected there. Paths are only built on failure: these run for every line of a session.
 */

/** Where a value is wrong, such as `content[2].text`, and what belongs there. */
export interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** Gives the first problem of a value, or undefined. Never throws. */
export type Check = (value: unknown) => Problem | undefined;

const simple =
  (expected: string, test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? undefined : { path: "", expected };

/** Any value. */
export const anything: Check = () => undefined;
/** A string, empty or not. */
export const text: Check = simple("a string", (value) => typeof value === "string");
/** A string that is not empty. */
export const nonEmptyText: Check = simple(
  "a non-empty string",
  (value) => typeof value === "string" && value !== "",
);
/** A finite number. */
export const finite: Check = simple(
  "a finite number",
  (value) => typeof value === "number" && Number.isFinite(value),
);
/** true or false. */
export const flag: Check = simple("a boolean", (value) => typeof value === "boolean");

/** One of these strings. */
export function oneOf(...values: readonly string[]): Check {
  return simple(`one of ${values.map((value) => JSON.stringify(value)).join(", ")}`, (value) =>
    values.includes(value as string),
  );
}

/** undefined, or what `check` takes. */
export function optional(check: Check): Check {
  return (value) => (value === undefined ? undefined : check(value));
}

/** null, or what `check` takes. */
export function nullable(check: Check): Check {
  return (value) => (value === null ? undefined : check(value));
}

/** What one of two checks takes; the problem named is the second one's. */
export function either(first: Check, second: Check): Check {
  return (value) => (first(value) === undefined ? undefined : second(value));
}

/** An array whose every item passes. */
export function listOf(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return { path: "", expected: "an array" };
    for (let i = 0; i < value.length; i++) {
      const problem = item(value[i]);
      if (problem !== undefined)
        return { path: joinPath(`[${i}]`, problem.path), expected: problem.expected };
    }
    return undefined;
  };
}

/** An object whose named fields pass; others may be there. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  const keys = Object.keys(checks);
  const inOrder = Object.values(checks);
  // Most fields are text or a number, and good: those are looked at here, without a call for each.
  const plain = inOrder.map((check) => (check === text ? "string" : check === finite ? "number" : ""));
  return (value) => {
    if (!isRecord(value)) return { path: "", expected: "an object" };
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      const member = value[key];
      const kind = plain[i];
      if (kind === "string") {
        if (typeof member === "string") continue;
      } else if (kind === "number" && typeof member === "number" && Number.isFinite(member)) {
        continue;
      }
      const problem = (inOrder[i] as Check)(member);
      if (problem !== undefined) return { path: joinPath(key, problem.path), expected: problem.expected };
    }
    return undefined;
  };
}

/** An object whose every value passes. */
export function recordOf(item: Check): Check {
  return (value) => {
    if (!isRecord(value)) return { path: "", expected: "an object" };
    for (const key of Object.keys(value)) {
      const problem = item(value[key]);
      if (problem !== undefined) return { path: joinPath(key, problem.path), expected: problem.expected };
    }
    return undefined;
  };
}

/** Whether `value` is an object that is no array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `base` followed by `rest`, with a dot where one belongs. */
export function joinPath(base: string, rest: string): string {
  if (base === "" || rest === "" || rest.startsWith("[")) return base + rest;
  return `${base}.${rest}`;
}
