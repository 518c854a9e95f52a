import { isRecord } from "../internal/shape.js";

/** A place in a request that an error names. */
export interface ErrorPath {
  /** As the error has it. */
  readonly path: string;
  /** Members and indexes from the request's root; indexes from 0. */
  readonly keys: readonly (string | number)[];
}

const maxDepth = 6;
const maxTexts = 200;
const maxTextLength = 20_000;

/**
 * The places that an error names, in the order in which they are found: in its message, in its `param`, and in whatever is
 * nested in it, such as Google's field violations. A place begins with a member of the request and goes on in dots, brackets,
 * or both at once, as some write `messages.[3].role`. AWS counts from 1 where it says `member`.
 *
 * @param roots members of the request, such as `messages`
 */
export function pathsIn(error: unknown, roots: readonly string[]): readonly ErrorPath[] {
  if (roots.length === 0) return [];
  const names = roots.map((root) => root.replace(/[^A-Za-z0-9_]/g, "\\$&")).join("|");
  const pattern = new RegExp(`(?<![A-Za-z0-9_])(?:${names})(?:\\.[A-Za-z0-9_]+|\\.?\\[\\d+\\])+`, "g");
  return textsIn(error).flatMap((text) =>
    [...text.matchAll(pattern)].map(([path]) => ({ path, keys: keysOf(path) })),
  );
}

function keysOf(path: string): readonly (string | number)[] {
  const all = path.split(/[.[\]]+/).filter((key) => key !== "");
  const fromOne = all.includes("member");
  const keys = all.filter((key) => key !== "member");
  return keys.map((key) => (/^\d+$/.test(key) ? Number(key) - (fromOne ? 1 : 0) : key));
}

/** Every text of an error, its message first; JSON within a text is read as such by nobody, since paths stand out in it too. */
function textsIn(error: unknown): readonly string[] {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const add = (value: unknown, depth: number): void => {
    if (texts.length >= maxTexts) return;
    if (typeof value === "string") texts.push(value.slice(0, maxTextLength));
    if (typeof value !== "object" || value === null || depth === maxDepth || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Error) add(value.message, depth + 1);
    if (Array.isArray(value)) for (const item of value) add(item, depth + 1);
    else if (isRecord(value)) for (const item of Object.values(value)) add(item, depth + 1);
    if (value instanceof Error) add(value.cause, depth + 1);
  };
  add(error, 0);
  return texts;
}
