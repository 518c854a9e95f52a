/** The parts of this module that other modules of the library use, and that its users do not see. */

export { sessionRedactor } from "./redaction.js";
export { assertStoredTables } from "./shared/sqlite.js";
export { agentRow, agents, dataSets, formats, isOwnAgent, resumeWords, writers } from "./table.js";
export type { ForeignFormatName } from "./types.js";
