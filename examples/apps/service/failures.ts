/** Errors as responses: a code for programs, a sentence for people, and the HTTP status of each code. */
import { SessileError } from "sessile/errors";
import { HttpFailure } from "../support/http.js";

/** Codes of the library that are the client's concern. Every other error is the server's own. */
const statuses: Readonly<Record<string, number>> = {
  INVALID_MESSAGE: 400,
  INVALID_ENTRY: 400,
  BLOB_MISMATCH: 400,
  SESSION_NOT_FOUND: 404,
  ENTRY_NOT_FOUND: 404,
  SESSION_EXISTS: 409,
  CONCURRENT_WRITER: 409,
  BLOB_TOO_LARGE: 413,
  LIMIT_EXCEEDED: 413,
  LINE_TOO_LONG: 413,
  MEDIA_INVALID: 415,
  MEDIA_TYPE_MISMATCH: 415,
  QUOTA_EXCEEDED: 507,
};

/** The database or the object store is away, or a commit is unknown: the same request may be sent again. */
const transient = new Set(["STORAGE_FAILED", "WRITER_POISONED", "SESSION_LOCKED"]);

/** Any error as a response. Messages of the server's own errors are not sent. */
export function failureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (error instanceof SessileError) {
    const { code, message } = error;
    const status = statuses[code];
    if (status !== undefined) return new HttpFailure(status, { code, message });
    // Its turn stays as after a crash.
    if (code === "SESSION_CLOSED") return unavailable("SHUTTING_DOWN");
    if (transient.has(code)) return unavailable(code);
  }
  if (error instanceof Error && error.name === "AbortError") return unavailable("SHUTTING_DOWN");
  return new HttpFailure(500, { code: "INTERNAL", message: "something went wrong" });
}

/** 503, for a request that can be sent again. */
export function unavailable(code: string): HttpFailure {
  const body = { code, message: "the service is not available now; send the same request again" };
  return new HttpFailure(503, body, { "retry-after": "1" });
}

/** 400, for a request that does not fit. */
export function invalid(message: string): HttpFailure {
  return new HttpFailure(400, { code: "INVALID_REQUEST", message });
}

/** 404, for a path or an object that this tenant does not have. */
export function notFound(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such thing" });
}
