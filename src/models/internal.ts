/** The readers of names and the tables of models and hosts, for the modules of the library. */

export { type ModelFacts, type ModelInput, modelFacts, type TokenFacts } from "./facts.js";
export { asksPriceOf, readProviderName, readsFiles } from "./hosts.js";
export { isSameModel, type ModelName, readModelName } from "./names.js";
