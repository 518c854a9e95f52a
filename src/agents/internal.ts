/** The parts of this module that other modules of the library use, and that its users do not see. */

export { sessionRedactor } from "./redact-session.js";
export { agentRow, agents, formats, isOwnAgent } from "./table.js";
