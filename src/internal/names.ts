import { describe } from "./arguments.js";

const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** Whether a value is safe as part of a file name. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value.length <= 128 && namePattern.test(value);
}

/** Returns a name that is safe as part of a file name. Throws a TypeError naming the argument. */
export function nameArgument(name: string, value: unknown): string {
  if (isName(value)) return value;
  throw new TypeError(
    `${name}: expected at most 128 letters, digits, dots, underscores and hyphens with no dot or hyphen at the ends, got ${describe(value)}`,
  );
}

/** The directory of a partition. Upper case is spelt out: some file systems do not tell it from lower. */
export function partitionFolder(name: string): string {
  return `@${name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`)}`;
}
