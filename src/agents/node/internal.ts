/** The parts of this folder that other modules of the library use, and that its users do not see. */

export { headHas, homeFiles, type ListedSession, listSessions, scatteredSession } from "./find-sessions.js";
