const codes: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"]);

/**
 * Whether an error says that the other end went away, which is no fault of a server's. That its answer is destroyed does not say it:
 * a pipeline destroys the answer where reading what is sent fails.
 */
export function isClientGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && codes.has(error.code);
}
