import { isRecord } from "../internal/shape.js";

/** Text that any target takes: no lone surrogates, and no NUL where that is refused. The same string where nothing is wrong. */
export function cleanText(text: string, refusesNul: boolean): string {
  const formed = text.isWellFormed() ? text : text.toWellFormed();
  return refusesNul && formed.includes("\0") ? formed.replaceAll("\0", "�") : formed;
}

/** White space to any side: what JavaScript takes for it, and the separators that Python does besides. */
const space = String.raw`\s\u001c-\u001f\u0085`;
const print = new RegExp(`[^${space}]`);
const spaceAtEnd = new RegExp(`[${space}]$`);

/** Whether there is nothing to read: providers refuse text of white space alone. */
export function isBlank(text: string): boolean {
  return !print.test(text);
}

/** Text without white space at its end. */
export function withoutSpaceAtEnd(text: string): string {
  let end = text.length;
  while (spaceAtEnd.test(text.slice(Math.max(0, end - 1), end))) end--;
  return text.slice(0, end);
}

/** Deeper than any tool's arguments, and shallow enough for every JSON parser. */
const maxDepth = 128;

/** A JSON value with all its strings cleaned; the same value where nothing is wrong. What is too deep becomes null. */
export function cleanJson(value: unknown, refusesNul: boolean, depth = 0): unknown {
  if (typeof value === "string") return cleanText(value, refusesNul);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (value === undefined || typeof value === "function" || typeof value === "symbol") return null;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxDepth) return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanJson(item, refusesNul, depth + 1));
    return items.every((item, at) => Object.is(item, value[at])) ? value : items;
  }
  if (!isRecord(value)) return null;
  let changed = false;
  const fields = Object.entries(value).flatMap(([key, field]) => {
    const name = cleanText(key, refusesNul);
    const clean = field === undefined ? undefined : cleanJson(field, refusesNul, depth + 1);
    if (name !== key || !Object.is(clean, field)) changed = true;
    return clean === undefined ? [] : [[name, clean] as const];
  });
  return changed ? Object.fromEntries(fields) : value;
}
