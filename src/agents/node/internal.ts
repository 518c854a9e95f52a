/** The parts of this folder that other modules of the library use, and that its users do not see. */

export { scatteredSession } from "./find-sessions.js";
