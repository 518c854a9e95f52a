/**
 * Limits of providers and channels, as data with their sources: sizes, counts, pixels, pages and types. One
 * check. Plain data and pure functions.
 *
 * @module limits
 */

export type { LimitItem } from "./check.js";
export { checkLimits, type LimitSituation, type LimitViolation } from "./check.js";
export { chiralityLimits } from "./data/chirality.js";
export { tetherLimits } from "./data/tether.js";
export type { LimitProfile, LimitRow } from "./profile.js";
export { limitProfiles } from "./profiles.js";
