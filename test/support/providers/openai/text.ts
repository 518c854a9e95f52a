import type { Fault } from "../rule.js";
import { pathOf } from "./parse.js";

/** Every string in a value and its path. */
function* stringsIn(value: unknown, path: readonly PropertyKey[]): Generator<[string, string]> {
  if (typeof value === "string") yield [value, pathOf(path)];
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* stringsIn(item, [...path, index]);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* stringsIn(item, [...path, key]);
  }
}

/** Half of a surrogate pair, which UTF-8 cannot have. */
export function brokenText(value: unknown, path: readonly PropertyKey[]): readonly Fault[] {
  return [...stringsIn(value, path)]
    .filter(([text]) => !text.isWellFormed())
    .map(([, at]) => ({ path: at, problem: "We could not parse the JSON body of your request." }));
}

/** A string that is empty or longer than the API takes. */
export function lengthFaults(text: string, path: string, most: number): readonly Fault[] {
  if (text === "") {
    const problem = `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
    return [{ path, problem }];
  }
  if (text.length <= most) return [];
  const problem = `Invalid '${path}': string too long. Expected a string with maximum length ${most}, but got a string with length ${text.length} instead.`;
  return [{ path, problem }];
}

/** An array without items. */
export function emptyArray(items: readonly unknown[], path: string): readonly Fault[] {
  if (items.length > 0) return [];
  const problem = `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
  return [{ path, problem }];
}

const namePattern = /^[a-zA-Z0-9_-]+$/;

/** A name of a function or a participant. */
export function nameFaults(name: string, path: string, most: number): readonly Fault[] {
  const long = lengthFaults(name, path, most);
  if (long.length > 0 || namePattern.test(name)) return long;
  const problem = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${namePattern.source}'.`;
  return [{ path, problem }];
}
