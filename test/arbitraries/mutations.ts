import fc from "fast-check";
import { jsonValue } from "./values.js";

/** Words that mean something in what is mutated: a wrong one in the place of another is the likeliest mistake. */
const words = ["", "link", "text", "toolCall", "user", "leaf", "user.message", "assistant.done", "image/png"];

/** What to put in the place of a value. A wrapped one looks like itself where something makes text of it. */
const change: fc.Arbitrary<(value: unknown) => unknown> = fc.oneof(
  fc.constant(() => undefined),
  jsonValue.map((value) => () => value),
  fc.constant((value: unknown) => [value]),
  // Not String(value): a generated object can have a toString of its own.
  fc.constant((value: unknown) => (typeof value === "string" ? `${value}x` : JSON.stringify(value))),
  fc.constantFrom(null, 0, [], {}, ...words).map((value) => () => value),
);

/** A value with one place in it, at any depth, deleted, replaced or added. */
export function mutationOf<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.tuple(value, fc.nat(), change, fc.boolean()).map(([original, at, apply, add]) => {
    const copy = JSON.parse(JSON.stringify({ root: original })) as Record<string, unknown>;
    const places: { readonly owner: Record<string, unknown>; readonly key: string }[] = [];
    const waiting: Record<string, unknown>[] = [copy];
    for (let owner = waiting.pop(); owner !== undefined; owner = waiting.pop()) {
      for (const [key, member] of Object.entries(owner)) {
        places.push({ owner, key });
        if (typeof member === "object" && member !== null) waiting.push(member as Record<string, unknown>);
      }
    }
    const { owner, key } = places[at % places.length] as (typeof places)[number];
    if (add) owner[`${key}More`] = apply(owner[key]);
    else owner[key] = apply(owner[key]);
    // What is undefined is deleted, in an array null, as JSON has it.
    return (JSON.parse(JSON.stringify(copy)) as { root?: unknown }).root;
  });
}
