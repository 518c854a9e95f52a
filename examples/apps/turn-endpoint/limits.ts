/** Bounds of the server: whatever a client does, it costs no more than this. */
export interface TurnLimits {
  /** Of the JSON of a turn. Default 1 MiB. */
  readonly bodyBytes: number;
  /** Of a file that is uploaded. Default 10 MiB, as a turn takes it. */
  readonly uploadBytes: number;
  /** Files that wait in uploads/; the oldest go first. Default 100. */
  readonly uploads: number;
  /** Paths in one turn. Default 100. */
  readonly attachments: number;
  /**
   * Events that a client has not taken yet; past that its stream is cut off, and the turn goes on. Default 4 MiB,
   * some times the largest event, which is a message of `bodyBytes`.
   */
  readonly unsentBytes: number;
  /** A comment is sent where nothing else was, so that a connection that is gone is noticed. Default 15 s. */
  readonly heartbeatMs: number;
  /** Of a body that is refused, read and thrown away so that the client comes to read the answer. Default 16 MiB. */
  readonly lingerBytes: number;
  /** Default 2 s. */
  readonly lingerMs: number;
  /** Until all headers are there. Default 10 s. */
  readonly headersMs: number;
  /** Until the whole request is there. Default 60 s. */
  readonly requestMs: number;
  /** A connection on which nothing moves. Default 60 s. */
  readonly idleMs: number;
  /** Past that a new one takes the place of one that waits; see `boundConnections`. Default 64. */
  readonly connections: number;
  /** Of a turn, from its beginning. Default 10 min. */
  readonly turnMs: number;
  /** How often the model is asked in one turn. Default 10. */
  readonly rounds: number;
}

/** What counts where nothing else is said. */
export const turnLimits: TurnLimits = {
  bodyBytes: 2 ** 20,
  uploadBytes: 10 * 2 ** 20,
  uploads: 100,
  attachments: 100,
  unsentBytes: 4 * 2 ** 20,
  heartbeatMs: 15_000,
  lingerBytes: 2 ** 24,
  lingerMs: 2_000,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 60_000,
  connections: 64,
  turnMs: 600_000,
  rounds: 10,
};
