/**
 * Limits of providers and channels, as data with their sources: sizes, counts, pixels, pages and types. One
 * check. Plain data and pure functions.
 *
 * @module limits
 */

export {
  checkLimits,
  type LimitItem,
  type LimitProfile,
  type LimitRow,
  type LimitSituation,
  type LimitViolation,
} from "./check.js";
export { chiralityLimits, limitProfiles, tetherLimits } from "./profiles.js";
