/** The reader of model names and the table of models, for the modules of the library. */

export { type ModelFacts, type ModelInput, modelFacts } from "./facts.js";
export { isSameModel, type ModelName, readModelName } from "./names.js";
