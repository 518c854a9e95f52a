/**
 * The conformance suite of session stores, for authors of backends. Its cases run in any test runner.
 */
import { adoptionCases } from "./adoptions.js";
import { answerCases } from "./answers.js";
import { appendCases } from "./appends.js";
import { branchCases } from "./branches.js";
import { conflictCases } from "./conflicts.js";
import { copyCases } from "./copies.js";
import { erasureCases } from "./erasures.js";
import { eventCases } from "./events.js";
import type { ConformanceCase } from "./harness.js";
import { idCases } from "./ids.js";
import { lifecycleCases } from "./lifecycle.js";
import { lineCases } from "./lines.js";
import { listCases } from "./lists.js";
import { recentCases } from "./recent.js";
import { searchCases } from "./search.js";
import { staleCases } from "./stale.js";
import { turnCases } from "./turns.js";
import { writerCases } from "./writers.js";

export type { ConformanceCase, ConformanceFixture } from "./harness.js";

/**
 * The conformance suite of session stores: one case for each guarantee, independent of test runners. A
 * backend is correct if `sessionStore` on it passes all cases, each with a fresh fixture.
 *
 * @example
 * ```ts
 * // vitest
 * import { test } from "vitest";
 *
 * for (const { name, run } of sessionStoreConformance) {
 *   test(name, async ({ skip }) => {
 *     const result = await run({ open: () => sessionStore(backend) });
 *     if (result !== undefined) skip(result.skipped);
 *   });
 * }
 * ```
 * @example
 * ```ts
 * // node:test
 * import { test } from "node:test";
 *
 * for (const { name, run } of sessionStoreConformance) {
 *   test(name, async (t) => {
 *     const result = await run({ open: () => sessionStore(backend) });
 *     if (result !== undefined) t.skip(result.skipped);
 *   });
 * }
 * ```
 */
export const sessionStoreConformance: readonly ConformanceCase[] = [
  ...lifecycleCases,
  ...staleCases,
  ...appendCases,
  ...idCases,
  ...answerCases,
  ...writerCases,
  ...conflictCases,
  ...branchCases,
  ...lineCases,
  ...listCases,
  ...searchCases,
  ...recentCases,
  ...copyCases,
  ...adoptionCases,
  ...erasureCases,
  ...eventCases,
  ...turnCases,
];
