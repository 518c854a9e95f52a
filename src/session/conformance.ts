/**
 * The conformance suite of session stores, for authors of backends. Its cases run in any test runner.
 *
 * @module session/conformance
 */
import { adoptionCases } from "./conformance/adoptions.js";
import { answerCases } from "./conformance/answers.js";
import { appendCases } from "./conformance/appends.js";
import { branchCases } from "./conformance/branches.js";
import { conflictCases } from "./conformance/conflicts.js";
import { copyCases } from "./conformance/copies.js";
import { erasureCases } from "./conformance/erasures.js";
import { eventCases } from "./conformance/events.js";
import type { ConformanceCase } from "./conformance/harness.js";
import { idCases } from "./conformance/ids.js";
import { lifecycleCases } from "./conformance/lifecycle.js";
import { lineCases } from "./conformance/lines.js";
import { listCases } from "./conformance/lists.js";
import { recentCases } from "./conformance/recent.js";
import { searchCases } from "./conformance/search.js";
import { staleCases } from "./conformance/stale.js";
import { writerCases } from "./conformance/writers.js";

export type { ConformanceCase, ConformanceFixture } from "./conformance/harness.js";

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
];
