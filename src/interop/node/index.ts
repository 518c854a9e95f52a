/**
 * Discovery: the sessions of other agents on this machine.
 *
 * @module interop/node
 */

/** Lists the sessions of other agents. */
export async function* findSessions(): AsyncIterable<never> {}

/** Imports what was appended to a session. */
export async function* followSession(): AsyncIterable<never> {}
