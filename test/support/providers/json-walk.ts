import { isRecord } from "../plain-values.js";
import type { Fault } from "./rule.js";

/** A path with one more step, as providers write it: `messages.3.content.1`. */
export function step(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}.${key}`;
}

/** Every string in a JSON value, keys included, with its path. */
function* stringsIn(value: unknown, path = ""): Generator<{ readonly path: string; readonly text: string }> {
  if (typeof value === "string") yield { path, text: value };
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* stringsIn(item, step(path, index));
  } else if (isRecord(value)) {
    for (const [key, field] of Object.entries(value)) {
      yield { path: step(path, key), text: key };
      yield* stringsIn(field, step(path, key));
    }
  }
}

/** Halves of surrogate pairs have no UTF-8. */
export function loneSurrogates(value: unknown): readonly Fault[] {
  return Array.from(stringsIn(value))
    .filter(({ text }) => !text.isWellFormed())
    .map(({ path }) => ({ path, problem: "a lone surrogate" }));
}

/** Where a value is not what a reader made of it: what the reader does not know, it drops without a word. */
export function differences(sent: unknown, read: unknown, path = ""): readonly Fault[] {
  if (Object.is(sent, read)) return [];
  if (Array.isArray(sent) && Array.isArray(read) && sent.length === read.length) {
    return sent.flatMap((item, index) => differences(item, read[index], step(path, index)));
  }
  if (isRecord(sent) && isRecord(read)) {
    return Object.keys({ ...read, ...sent }).flatMap((key) =>
      differences(sent[key], read[key], step(path, key)),
    );
  }
  return [{ path, problem: "is read as something else, or not at all" }];
}

/** JSON with the members of each object in order, without some of them. */
export function canonicalJson(value: unknown, without: readonly string[]): string {
  return (
    JSON.stringify(value, (_key, member: unknown) => {
      if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
      const members = Object.entries(member).filter(([key]) => !without.includes(key));
      return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? ""
  );
}
