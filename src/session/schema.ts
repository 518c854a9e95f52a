/**
 * The session file as zod schemas, for the boundary: to check lines that come from elsewhere, and to generate
 * a JSON Schema from. They are derived from the shapes that a session itself checks by, and keep members that
 * they do not know.
 *
 * @module session/schema
 */
import * as z from "zod";
import { memberSchemas, schemaOf } from "../internal/schema.js";
import type { SessionEntry, SessionHeader } from "./api/entries.js";
import { entryShape, headerFields } from "./format/entry-types.js";

/**
 * A whole entry of any type that this version knows: its fields, and `id`, `parentId` and `timestamp`. For a
 * parsed JSON line; unknown fields stay. An unknown type does not match, though a session keeps such a line.
 *
 * @example
 * ```ts
 * const entry = sessionEntrySchema.parse(json);
 * const documentation = z.toJSONSchema(sessionEntrySchema);
 * ```
 */
export const sessionEntrySchema: z.ZodType<SessionEntry> = schemaOf(entryShape);

/**
 * The first line of a session. `timestamp` and `cwd` are always written; if another writer left them out they
 * read as empty, as they do when the session is opened.
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
