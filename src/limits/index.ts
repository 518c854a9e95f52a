/**
 * What providers and channels take: sizes, counts, pixels, pages and types, as data with their sources, and one check.
 * Plain data and pure functions.
 *
 * @module limits
 */
export { checkLimits, type LimitSituation, type LimitViolation } from "./check.js";
export { chiralityLimits } from "./data/chirality.js";
export { tetherLimits } from "./data/tether.js";
export type { LimitItem } from "./item.js";
export type {
  BanRule,
  LimitCondition,
  LimitProfile,
  LimitRow,
  LimitRowBase,
  LimitRule,
  LimitScope,
  LimitUnit,
  NumericRule,
  TypeRule,
} from "./profile.js";
export { limitProfiles } from "./profiles.js";
