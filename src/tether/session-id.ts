import type { TetherSession } from "./frame.js";

/**
 * An id for the session store, the same for the same conversation and another for every other: `tether-` and 32 hexadecimal
 * digits of a digest over instance, channel and id, since names joined by a separator meet (`a_b` and `c`, `a` and `b_c`),
 * and ids from outside may be paths.
 */
export declare function tetherSessionId(session: TetherSession, instance?: string): string;
