/**
 * Conformance suites for authors of backends. Their cases run in any test runner.
 *
 * @module conformance
 */
export * from "./blobs/index.js";
export * from "./sessions/index.js";
