/** Bounds of the server, for any client. */
export interface TurnLimits {
  /** Bytes of the JSON of a turn. Default 1 MiB. */
  readonly bodyBytes: number;
  /** Bytes of an upload. Default 10 MiB, the maximum of a turn. */
  readonly uploadBytes: number;
  /** Files in uploads/; the oldest are removed first. Default 100. */
  readonly uploads: number;
  /** Paths in one turn. Default 100. */
  readonly attachments: number;
  /**
   * Bytes of unread events of a client; past that its stream is closed, and the turn goes on. Default 4 MiB,
   * four times `bodyBytes`.
   */
  readonly unsentBytes: number;
  /** Interval of comments in an event stream, which reveal a dead connection. Default 15 s. */
  readonly heartbeatMs: number;
  /** Bytes of a refused body to discard, so that the client can read the response. Default 16 MiB. */
  readonly lingerBytes: number;
  /** Time without a byte of it. Default 10 s. */
  readonly lingerMs: number;
  /** Time for all headers. Default 10 s. */
  readonly headersMs: number;
  /** Time for the whole request. Default 60 s. */
  readonly requestMs: number;
  /** Time without traffic on a connection. Default 60 s. */
  readonly idleMs: number;
  /** Past that a new connection replaces an idle one; see `boundConnections`. Default 64. */
  readonly connections: number;
  /** Time for a turn. Default 10 min. */
  readonly turnMs: number;
  /** Requests to the model in one turn. Default 10. */
  readonly rounds: number;
}

/** The defaults. */
export const turnLimits: TurnLimits = {
  bodyBytes: 2 ** 20,
  uploadBytes: 10 * 2 ** 20,
  uploads: 100,
  attachments: 100,
  unsentBytes: 4 * 2 ** 20,
  heartbeatMs: 15_000,
  lingerBytes: 2 ** 24,
  lingerMs: 10_000,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 60_000,
  connections: 64,
  turnMs: 600_000,
  rounds: 10,
};
