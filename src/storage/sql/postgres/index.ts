/**
 * Sessions and blobs in PostgreSQL, through a driver of the caller: a `Pool` of pg, or PGlite within the process.
 *
 * @module postgres
 */
export type { Durability } from "../../../core/arguments.js";
export { postgresSessionBackend, postgresSessionStore } from "./backend.js";
export { type PostgresMarksOptions, postgresBlobMarks } from "./blob-marks.js";
export type { PostgresQuery, PostgresSessionsOptions } from "./options.js";
export { type PostgresQuotasOptions, postgresBlobQuotas } from "./quotas.js";
export { openPostgres, postgresBlobStore } from "./storage.js";
