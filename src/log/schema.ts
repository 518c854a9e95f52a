/**
 * The session file as zod schemas: to validate lines from other programs, and to generate a JSON Schema. They
 * derive from the shapes that sessions validate with, and keep unknown members.
 */
import * as z from "zod";
import { memberSchemas, toSchema } from "../core/schema.js";
import type { SessionEntry, SessionHeader } from "./entries.js";
import { entryShape, headerFields } from "./entry-types.js";

/**
 * An entry of a known type: its fields, with `id`, `parentId` and `timestamp`. Applies to a parsed JSON line.
 * Unknown fields stay. An unknown type does not match, although a session keeps such a line.
 *
 * @example
 * ```ts
 * const entry = sessionEntrySchema.parse(json);
 * const documentation = z.toJSONSchema(sessionEntrySchema);
 * ```
 */
export const sessionEntrySchema: z.ZodType<SessionEntry> = toSchema(entryShape);

/**
 * The first line of a session. If another writer omitted `timestamp` or `cwd`, they read as empty, as in an
 * open session.
 *
 * @example
 * ```ts
 * const { id, cwd } = sessionHeaderSchema.parse(JSON.parse(headerLine));
 * ```
 */
export const sessionHeaderSchema: z.ZodType<SessionHeader> = z.looseObject({
  ...memberSchemas(headerFields),
  timestamp: z.string().default(""),
  cwd: z.string().default(""),
});
