import { SessileError } from "sessile/errors";

/** What a client is told of something that failed. */
export interface FailureBody {
  readonly code: string;
  readonly message: string;
  readonly category?: string;
  /** Attachments that were not taken, by name: no paths. */
  readonly errors?: readonly unknown[];
}

/** A request that is answered with a status of failure. */
export class HttpFailure extends Error {
  readonly status: number;
  readonly body: FailureBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: FailureBody, headers: Readonly<Record<string, string>> = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const conflicts = new Set(["SESSION_LOCKED", "CONCURRENT_WRITER", "SESSION_BUSY"]);

/** Any error as an answer. What is not meant for a client, such as a path of this machine, is not in it. */
export function failureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (SessileError.is(error, "ATTACHMENT_FAILURE")) {
    const { status, category, errors } = error.details;
    return new HttpFailure(status, { code: error.code, message: error.message, category, errors });
  }
  if (SessileError.is(error, "ENTRY_NOT_FOUND")) {
    return new HttpFailure(404, { code: error.code, message: "there is no such entry" });
  }
  if (error instanceof SessileError) {
    const status = conflicts.has(error.code) ? 409 : error.code === "QUOTA_EXCEEDED" ? 507 : 500;
    return new HttpFailure(status, { code: error.code, message: "the session could not be read or written" });
  }
  return new HttpFailure(500, { code: "INTERNAL", message: "something went wrong" });
}
