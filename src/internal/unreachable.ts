import { describe } from "./arguments.js";

/** Ends a switch over all of a union; what comes here all the same came past the types. */
export function unreachable(value: never): never {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  throw new TypeError(`unexpected value: ${describe(kind ?? value)}`);
}
