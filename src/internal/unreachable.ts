/** Ends an exhaustive switch: a compile error where an arm is missing, and a TypeError where the types were wrong. */
export function unreachable(value: never): never {
  throw new TypeError(`unexpected variant: ${JSON.stringify(value)}`);
}
