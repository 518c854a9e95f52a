/**
 * Shapes of plain data. A shape is a check with a TypeScript type ({@link Infer}) and a description, from
 * which schema.ts derives a zod schema. Paths are built only on failure, because checks run for every line.
 */

/** The path to an invalid value, such as `content[2].text`, and the expected value. */
export interface Problem {
  readonly path: string;
  readonly expected: string;
}

/** Returns the first problem of a value, or undefined. Never throws. */
export type Check = (value: unknown) => Problem | undefined;

/** A check with its description as data. */
export interface Shape<T = unknown> extends Check {
  readonly spec: ShapeSpec;
  /** Never present: carries the type of the values that pass. */
  readonly type?: () => T;
}

/** The shape of a member that may be absent. */
export interface OptionalShape<T = unknown> extends Shape<T> {
  readonly isOptional: true;
}

/** The specification that a {@link Shape} is built from. */
export type ShapeSpec =
  | { readonly kind: "anything" }
  /** A check by hand: no schema can be derived. */
  | { readonly kind: "custom" }
  | {
      readonly kind: "string";
      readonly pattern?: RegExp;
      readonly minLength?: number;
      /** Values that a schema requires, and that the caller of the check verifies. */
      readonly among?: readonly string[];
    }
  | { readonly kind: "number"; readonly integerFrom?: number }
  | { readonly kind: "boolean" }
  | { readonly kind: "oneOf"; readonly values: readonly (string | number)[] }
  | { readonly kind: "optional" | "nullable" | "array" | "record"; readonly of: Shape }
  | { readonly kind: "union"; readonly of: readonly [Shape, Shape] }
  | { readonly kind: "object"; readonly fields: Fields }
  | { readonly kind: "variants"; readonly key: string; readonly cases: readonly Shape[] };

/** Shapes of the members of an object, by name. */
export type Fields = Readonly<Record<string, Shape>>;

/** The type of the values that pass a shape. */
export type Infer<S extends Shape> = S extends Shape<infer T> ? T : never;

/** The type of the objects whose members pass. */
export type InferFields<F extends Fields> = Flat<
  { readonly [K in keyof F as F[K] extends OptionalShape ? never : K]: Infer<F[K]> } & {
    readonly [K in keyof F as F[K] extends OptionalShape ? K : never]?: Infer<F[K]>;
  }
>;

type Flat<T> = { [K in keyof T]: T[K] };

function shape<T>(spec: ShapeSpec, check: Check): Shape<T> {
  return Object.assign(check, { spec });
}

function simple<T>(spec: ShapeSpec, expected: string, test: (value: unknown) => boolean): Shape<T> {
  const problem: Problem = { path: "", expected };
  return shape(spec, (value) => (test(value) ? undefined : problem));
}

/** Any value, also undefined. */
export const anything: Shape = shape({ kind: "anything" }, () => undefined);
/** A string, empty or not. */
export const string: Shape<string> = stringAmong();
/** A string that is not empty. */
export const nonEmptyString: Shape<string> = simple(
  { kind: "string", minLength: 1 },
  "a non-empty string",
  (value) => typeof value === "string" && value !== "",
);
/** A finite number. */
export const number: Shape<number> = simple(
  { kind: "number" },
  "a finite number",
  (value) => typeof value === "number" && Number.isFinite(value),
);
/** true or false. */
export const boolean: Shape<boolean> = simple(
  { kind: "boolean" },
  "a boolean",
  (value) => typeof value === "boolean",
);

/** A shape with a check by hand. */
export function custom<T = unknown>(check: Check): Shape<T> {
  return shape({ kind: "custom" }, (value) => check(value));
}

/**
 * A string whose type lists known values and allows others.
 *
 * @param among the values that a schema requires
 */
export function stringAmong<T extends string>(...among: readonly string[]): Shape<T> {
  const spec = { kind: "string", ...(among.length > 0 && { among }) } as const;
  return simple(spec, "a string", (value) => typeof value === "string");
}

/** A string that a pattern matches. */
export function matching<T extends string>(pattern: RegExp, expected = String(pattern)): Shape<T> {
  const test = (value: unknown) => typeof value === "string" && pattern.test(value);
  return simple({ kind: "string", pattern }, expected, test);
}

/** A safe integer of at least `least`. */
export function integerFrom(least: number): Shape<number> {
  const test = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least;
  return simple({ kind: "number", integerFrom: least }, `an integer >= ${least}`, test);
}

/** One of these values. */
export function oneOf<const V extends readonly (string | number)[]>(...values: V): Shape<V[number]> {
  const [only] = values;
  const listed = values.map((value) => JSON.stringify(value)).join(", ");
  const one = typeof only === "number" ? `the number ${only}` : listed;
  const expected = values.length === 1 ? one : `one of ${listed}`;
  return simple({ kind: "oneOf", values }, expected, (value) => values.includes(value as V[number]));
}

/** Absent, or undefined, or of a shape. */
export function optional<T>(of: Shape<T>): OptionalShape<T> {
  const check: Check = (value) => (value === undefined ? undefined : of(value));
  return Object.assign(shape<T>({ kind: "optional", of }, check), { isOptional: true } as const);
}

/** null, or of a shape. */
export function nullable<T>(of: Shape<T>): Shape<T | null> {
  return shape({ kind: "nullable", of }, (value) => (value === null ? undefined : of(value)));
}

/** One of two shapes. Reports the problem of the second. */
export function union<A, B>(first: Shape<A>, second: Shape<B>): Shape<A | B> {
  return shape({ kind: "union", of: [first, second] }, (value) =>
    first(value) === undefined ? undefined : second(value),
  );
}

/** An array whose every item is of a shape. */
export function array<T>(of: Shape<T>): Shape<readonly T[]> {
  return shape({ kind: "array", of }, (value) => {
    if (!Array.isArray(value)) return { path: "", expected: "an array" };
    for (let i = 0; i < value.length; i++) {
      const problem = of(value[i]);
      if (problem !== undefined) return inside(`[${i}]`, problem);
    }
    return undefined;
  });
}

/** An object whose every value is of a shape. */
export function record<T>(of: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return shape({ kind: "record", of }, (value) => {
    if (!isRecord(value)) return notAnObject;
    for (const key of Object.keys(value)) {
      const problem = of(value[key]);
      if (problem !== undefined) return inside(key, problem);
    }
    return undefined;
  });
}

const notAnObject: Problem = { path: "", expected: "an object" };

/** An object with members of given shapes. Other members are allowed. */
export function object<F extends Fields>(fields: F): Shape<InferFields<F>> {
  const keys = Object.keys(fields);
  const checks = Object.values(fields);
  // Valid primitive and absent members are tested inline: a call for each takes twice as long (Node 24).
  const types = Object.values(fields).map(primitiveType);
  const optionals = Object.values(fields).map(({ spec }) => spec.kind === "optional");
  return shape({ kind: "object", fields }, (value) => {
    if (!isRecord(value)) return notAnObject;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      const member = value[key];
      if (member === undefined) {
        if (optionals[i]) continue;
      } else if (typeof member === types[i] && (typeof member !== "number" || Number.isFinite(member))) {
        continue;
      }
      const problem = (checks[i] as Check)(member);
      if (problem !== undefined) return inside(key, problem);
    }
    return undefined;
  });
}

/** The `typeof` that is the whole check of a shape, except that numbers must be finite; else "". */
function primitiveType({ spec }: Shape): "string" | "number" | "boolean" | "" {
  switch (spec.kind) {
    case "optional":
      return primitiveType(spec.of);
    case "string":
      return spec.pattern === undefined && spec.minLength === undefined ? "string" : "";
    case "number":
      return spec.integerFrom === undefined ? "number" : "";
    case "boolean":
      return "boolean";
    default:
      return "";
  }
}

/**
 * An object of one of several shapes, selected by a {@link oneOf} member. A last case whose member is another
 * string matches every value that the other cases do not list.
 *
 * @param expected the expectation in the problem of a value that is not an object
 */
export function variants<const C extends readonly Shape[]>(
  key: string,
  cases: C,
  expected = notAnObject.expected,
): Shape<Infer<C[number]>> {
  const known = new Map<unknown, Shape>();
  let rest: Shape | undefined;
  for (const one of cases) {
    const member = memberShape(one, key).spec;
    if (member.kind !== "oneOf") rest = one;
    else for (const value of member.values) known.set(value, one);
  }
  const unknownCase = oneOf(...(known.keys() as Iterable<string>));
  return shape({ kind: "variants", key, cases }, (value) => {
    if (!isRecord(value)) return { path: "", expected };
    const found = known.get(value[key]) ?? rest;
    return found === undefined ? inside(key, unknownCase(value[key]) as Problem) : found(value);
  });
}

/** The shape of a member of an object. */
export function memberShape({ spec }: Shape, key: string): Shape {
  const member = spec.kind === "object" ? spec.fields[key] : undefined;
  if (member === undefined) throw new TypeError(`expected the shape of an object with the member ${key}`);
  return member;
}

function inside(place: string, { path, expected }: Problem): Problem {
  return { path: joinPath(place, path), expected };
}

/** Whether a value is an object, but not an array or null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `base` followed by `rest`, with a dot if one belongs between them. */
export function joinPath(base: string, rest: string): string {
  if (base === "" || rest === "" || rest.startsWith("[")) return base + rest;
  return `${base}.${rest}`;
}
