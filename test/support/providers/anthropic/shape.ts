import { isRecord } from "../../plain-values.js";
import type { Fault } from "../rule.js";

/** Says what is wrong with a value and where, in the API's words. */
export type Field = (value: unknown, path: string) => readonly Fault[];

const simple =
  (problem: string, test: (value: unknown) => boolean): Field =>
  (value, path) =>
    test(value) ? [] : [{ path, problem }];

export const anything: Field = () => [];
export const text: Field = simple("Input should be a valid string", (value) => typeof value === "string");
export const flag: Field = simple("Input should be a valid boolean", (value) => typeof value === "boolean");
export const object: Field = simple("Input should be an object", isRecord);

/** An integer of at least `least`. */
export function integer(least: number): Field {
  return simple(`Input should be a valid integer greater than or equal to ${least}`, (value) => {
    return Number.isSafeInteger(value) && (value as number) >= least;
  });
}

/** One of these strings. */
export function oneOf(...values: readonly string[]): Field {
  const listed = values.map((value) => `'${value}'`);
  const words = listed.length === 1 ? listed[0] : `${listed.slice(0, -1).join(", ")} or ${listed.at(-1)}`;
  return simple(`Input should be ${words}`, (value) => values.includes(value as string));
}

/** undefined, null, or what `field` takes. */
export function optional(field: Field): Field {
  return (value, path) => (value === undefined || value === null ? [] : field(value, path));
}

/** What either takes; the faults are the second's. */
export function either(first: Field, second: Field): Field {
  return (value, path) => (first(value, path).length === 0 ? [] : second(value, path));
}

/** A list; its items are looked at elsewhere unless `item` is given. */
export function list(item: Field = anything): Field {
  return (value, path) => {
    if (!Array.isArray(value)) return [{ path, problem: "Input should be a valid list" }];
    return value.flatMap((each, index) => item(each, `${path}.${index}`));
  };
}

/** An object of these fields and no other. */
export function fields(known: Readonly<Record<string, Field>>): Field {
  return (value, path) => {
    if (!isRecord(value)) return object(value, path);
    const wrong = Object.entries(known).flatMap(([key, field]) => {
      const at = join(path, key);
      if (value[key] !== undefined) return field(value[key], at);
      return field(undefined, at).length === 0 ? [] : [{ path: at, problem: "Field required" }];
    });
    const extra = Object.keys(value)
      .filter((key) => !Object.hasOwn(known, key))
      .map((key) => ({ path: join(path, key), problem: "Extra inputs are not permitted" }));
    return [...wrong, ...extra];
  };
}

/** One of several objects that `type` tells apart; the path of a fault names which, as the API does. */
export function tagged(kinds: Readonly<Record<string, Readonly<Record<string, Field>>>>): Field {
  const types = Object.keys(kinds);
  return (value, path) => {
    if (!isRecord(value)) return object(value, path);
    const { type } = value;
    if (type === undefined) return [{ path: join(path, "type"), problem: "Field required" }];
    const known = types.find((each) => each === type);
    if (known === undefined) {
      const expected = types.map((each) => `'${each}'`).join(", ");
      const problem = `Input tag '${String(type)}' found using 'type' does not match any of the expected tags: ${expected}`;
      return [{ path, problem }];
    }
    return fields({ type: text, ...kinds[known] })(value, join(path, known));
  };
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
