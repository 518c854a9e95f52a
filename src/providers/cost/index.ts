/**
 * The cost of model calls in US dollars: published prices as data with their sources, and sums over a
 * session.
 *
 * @module cost
 */
export { type Cost, type CostOptions, priceForModel, usageCost } from "./cost.js";
export type { ModelPrice, TokenRates } from "./price.js";
export { modelPrices } from "./prices.js";
export { type ModelCost, type SessionCost, type SessionCostOptions, sessionCost } from "./session-cost.js";
