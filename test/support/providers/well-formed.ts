/** A string somewhere in a JSON value, keys included. */
export interface FoundString {
  readonly keys: readonly (string | number)[];
  readonly text: string;
}

/** Every string in a JSON value that is no Unicode: one with a surrogate that has no partner. */
export function malformedStrings(
  value: unknown,
  keys: readonly (string | number)[] = [],
): readonly FoundString[] {
  if (typeof value === "string") return value.isWellFormed() ? [] : [{ keys, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, at) => malformedStrings(item, [...keys, at]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    ...malformedStrings(key, [...keys, key]),
    ...malformedStrings(member, [...keys, key]),
  ]);
}
