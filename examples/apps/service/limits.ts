/** Every bound of the service. */
export const limits = {
  /** Bytes of a JSON body. */
  bodyBytes: 2 ** 18,
  /** Characters of a question. */
  textCharacters: 100_000,
  /** Attachments of a question. */
  attachments: 10,
  /** Bytes of an upload. */
  uploadBytes: 10 * 2 ** 20,
  /** Sessions of one page of a list. */
  pageSize: 50,
  /** Time after which another process goes on with the turn of one that was killed. */
  claimMs: 2_000,
  /** Time for running requests after SIGTERM. */
  graceMs: 10_000,
  /** Interval at which event streams look for entries of other processes. */
  pollMs: 500,
  /** Bytes of events that a client has not read; past that its stream is closed. */
  unsentBytes: 2 ** 20,
  heartbeatMs: 15_000,
  /** Bytes and time of a refused body that are read so that the client reads the answer. */
  lingerBytes: 2 ** 24,
  lingerMs: 10_000,
  headersMs: 10_000,
  requestMs: 120_000,
} as const;
