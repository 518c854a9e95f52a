/** The parts of this module that the command line and the viewer use. */

export { priceForModel, usageTokens } from "./cost.js";
export { prefixCost, prefixText } from "./prefix-cost.js";
export { type Call, costOfCall, sessionCalls } from "./session-cost.js";
