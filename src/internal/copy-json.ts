/** A JSON value that can be changed. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object that can be changed. */
export interface JsonObject {
  [name: string]: Json;
}

/** A deep copy of a JSON value; what JSON does not have becomes null, and is left out of objects. */
export function copyJson(value: unknown): Json {
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return null;
  return Array.isArray(value) ? value.map(copyJson) : copyJsonObject(value);
}

/** The same of an object. */
export function copyJsonObject(value: object): JsonObject {
  const copy: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined || typeof field === "function" || typeof field === "symbol") continue;
    // An own `__proto__` is data like any other, and assigning it would not be.
    if (name === "__proto__") {
      Object.defineProperty(copy, name, {
        value: copyJson(field),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } else copy[name] = copyJson(field);
  }
  return copy;
}
