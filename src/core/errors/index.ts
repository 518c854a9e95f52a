/**
 * The one error class of the library, and its codes.
 *
 * @module errors
 */
export type { ErrorCode, ErrorDetails } from "./codes.js";
export { SessileError, type SessileErrorOptions } from "./error.js";
