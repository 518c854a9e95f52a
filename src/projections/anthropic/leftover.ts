import { isRecord } from "../../internal/shape.js";
import { cleanJson } from "../clean.js";

/**
 * The fields of a block that a session's own block has no place for, as JSON, so that they go back with it; undefined where there
 * are none. Cache markers are placed anew for each request.
 */
export function leftoverOf(
  block: Readonly<Record<string, unknown>>,
  known: readonly string[],
): string | undefined {
  const rest = Object.entries(block).filter(([key, value]) => {
    return value !== undefined && key !== "cache_control" && key !== "type" && !known.includes(key);
  });
  return rest.length === 0 ? undefined : JSON.stringify(Object.fromEntries(rest));
}

/** The fields of {@link leftoverOf}; none where a signature is something else. */
export function parseLeftover(signature: string | undefined): Readonly<Record<string, unknown>> {
  if (signature === undefined || !signature.startsWith("{")) return {};
  try {
    const fields = cleanJson(JSON.parse(signature), false);
    if (!isRecord(fields)) return {};
    const { type: _, cache_control: __, ...rest } = fields;
    return rest;
  } catch {
    return {};
  }
}
