/** Zod schemas derived from shapes. */

import * as z from "zod";
import type { Fields, Infer, Shape } from "./shape.js";

/**
 * Derives the zod schema of a shape. It accepts the same JSON as the shape's check, except for strings with
 * `among`, and keeps unknown members. Only the schema subpaths use it, so that other modules do not load zod.
 */
export function toSchema<T>({ spec }: Shape<T>): z.ZodType<T> {
  return derived(spec) as z.ZodType<T>;
}

/** The schemas of an object's members, for a schema that adds descriptions or defaults. */
export function memberSchemas<F extends Fields>(
  fields: F,
): { readonly [K in keyof F]: z.ZodType<Infer<F[K]>> } {
  const members = Object.entries(fields).map(([name, shape]) => [name, memberSchema(shape)]);
  return Object.fromEntries(members) as { readonly [K in keyof F]: z.ZodType<Infer<F[K]>> };
}

/** A shape that accepts undefined accepts an absent member too, because JSON drops undefined. */
function memberSchema(shape: Shape): z.ZodType {
  const { spec } = shape;
  if (spec.kind === "anything") return z.unknown().catch(undefined);
  const schema = derived(spec);
  return spec.kind !== "optional" && shape(undefined) === undefined ? z.optional(schema) : schema;
}

function derived(spec: Shape["spec"]): z.ZodType {
  switch (spec.kind) {
    case "anything":
      return z.unknown();
    case "string": {
      if (spec.among !== undefined) return z.enum(spec.among);
      if (spec.pattern !== undefined) return z.string().regex(spec.pattern);
      return spec.minLength === undefined ? z.string() : z.string().min(spec.minLength);
    }
    case "number":
      return spec.integerFrom === undefined ? z.number() : z.int().min(spec.integerFrom);
    case "custom":
      throw new TypeError("expected a shape without checks by hand");
    case "boolean":
      return z.boolean();
    case "oneOf":
      return z.literal(spec.values);
    case "optional":
      return z.exactOptional(toSchema(spec.of));
    case "nullable":
      return z.nullable(toSchema(spec.of));
    case "array":
      return z.array(toSchema(spec.of));
    case "record":
      return z.record(z.string(), toSchema(spec.of));
    case "union":
      return z.union(spec.of.map(toSchema));
    case "object":
      return z.looseObject(memberSchemas(spec.fields));
    case "variants":
      return variantsSchema(spec);
  }
}

function variantsSchema({ key, cases }: Shape["spec"] & { readonly kind: "variants" }): z.ZodType {
  const known: string[] = [];
  const schemas = cases.map(({ spec }) => {
    if (spec.kind !== "object") throw new TypeError("expected shapes of objects");
    const member = spec.fields[key]?.spec;
    if (member?.kind === "oneOf") {
      for (const value of member.values) known.push(String(value));
      return z.looseObject(memberSchemas(spec.fields));
    }
    // The last case must not match a known discriminator with wrong members.
    const escaped = known.map((name) => name.replace(/[^\w]/g, "\\$&")).join("|");
    const other = z
      .string()
      .min(1)
      .regex(new RegExp(`^(?!(?:${escaped})$)`));
    return z.looseObject({ ...memberSchemas(spec.fields), [key]: other });
  });
  const [only] = schemas;
  if (schemas.length === 1 && only !== undefined) return only;
  const isClosed = cases.every(
    ({ spec }) => spec.kind === "object" && spec.fields[key]?.spec.kind === "oneOf",
  );
  if (!isClosed) return z.union(schemas);
  return z.discriminatedUnion(key, schemas as unknown as [z.ZodObject, ...z.ZodObject[]]);
}
