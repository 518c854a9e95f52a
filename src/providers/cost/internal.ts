/** The parts of this module that the command line uses. */

export { priceForModel, usageTokens } from "./cost.js";
export { type Call, costOfCall, sessionCalls } from "./session-cost.js";
