/** The readers of names and the tables of models and hosts, for the modules of the library. */

export { modelFacts, type TokenFacts } from "./facts.js";
export { hostAsksPrice, readProviderName, readsFiles } from "./hosts.js";
export { isOneOf, isSameModel, type ModelName, readModelName } from "./names.js";
