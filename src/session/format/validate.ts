import { messageShape } from "../../internal/message-shapes.js";
import { isRecord, joinPath, type Problem } from "../../internal/shape.js";
import { entryShape, fieldShapes, headerShape, isEntryType } from "./entry-types.js";

/** The `expected` of a problem that is a `__proto__` key. */
export const unsafeKeyExpected = "no such key";

/** The first problem of an entry's own fields; undefined for a type that is not known. */
export function fieldsProblem(entry: Readonly<Record<string, unknown>>): Problem | undefined {
  return fieldShapes.get(entry.type as string)?.(entry);
}

/** The first problem of a whole entry of a known type. */
export function entryProblem(value: unknown): Problem | undefined {
  if (isRecord(value) && (typeof value.type !== "string" || !isEntryType(value.type)))
    return { path: "type", expected: "an entry type" };
  return entryShape(value);
}

/** The first problem of a header. */
export function headerProblem(value: unknown): Problem | undefined {
  return headerShape(value);
}

/** The first problem of a message, its path beginning with `message`. */
export function messageProblem(value: unknown): Problem | undefined {
  const problem = messageShape(value);
  return problem && { path: joinPath("message", problem.path), expected: problem.expected };
}

/**
 * The first place in `value` that JSON cannot hold, or would silently change: non-finite numbers, functions,
 * symbols, bigints, class instances, nesting past `maxDepth`. Members that are undefined are ignored, as JSON
 * does.
 */
export function jsonProblem(value: unknown, maxDepth: number): Problem | undefined {
  return jsonProblemAt(value, maxDepth);
}

function jsonProblemAt(value: unknown, depthLeft: number): Problem | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { path: "", expected: "a finite number" };
    case "object":
      break;
    default:
      return { path: "", expected: "a JSON value" };
  }
  if (value === null) return undefined;
  if (depthLeft === 0) return { path: "", expected: "less nesting" };
  if ("toJSON" in value) return { path: "", expected: "no toJSON" };
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = jsonProblemAt(value[i], depthLeft - 1);
      if (problem !== undefined)
        return { path: joinPath(`[${i}]`, problem.path), expected: problem.expected };
    }
    return undefined;
  }
  // A plain object can come from another realm, whose Object.prototype has no prototype either.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null)
    return { path: "", expected: "a plain object" };
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    // Most members are strings or numbers, and need no call.
    if (key !== "__proto__") {
      if (typeof member === "string" || member === undefined) continue;
      if (typeof member === "number" && Number.isFinite(member)) continue;
    }
    const problem =
      key === "__proto__" ? { path: "", expected: unsafeKeyExpected } : jsonProblemAt(member, depthLeft - 1);
    // Last, because hasOwn costs more than the rest: members added to Object.prototype are not written.
    if (problem !== undefined && Object.hasOwn(value, key))
      return { path: joinPath(key, problem.path), expected: problem.expected };
  }
  return undefined;
}
