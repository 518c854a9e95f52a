/** The parts of this module that the command line uses. */

export { priceOf, usageTokens } from "./cost.js";
export { type Call, costOfCall, sessionCalls } from "./session-cost.js";
