import { HttpFailure } from "./http-failure.js";

/** What `POST /api/harness/turn` is sent. */
export interface TurnRequest {
  readonly message: string;
  /** Absolute paths. What else a client may say of a file is not asked. */
  readonly attachments: readonly string[];
}

/**
 * A body as a turn. Files alone are one, and so is text alone.
 *
 * @throws HttpFailure 400 for anything else
 */
export function asTurnRequest(body: unknown, maxAttachments: number): TurnRequest {
  const { message, attachments = [] } = recordOf(body);
  if (typeof message !== "string") throw invalid("message: expected a string");
  if (!Array.isArray(attachments)) throw invalid("attachments: expected an array");
  if (attachments.length > maxAttachments) throw invalid(`attachments: expected at most ${maxAttachments}`);
  const paths = attachments.map((path: unknown, at) => {
    if (typeof path !== "string") throw invalid(`attachments[${at}]: expected a string`);
    return path;
  });
  if (message.trim() === "" && paths.length === 0) throw invalid("there is neither text nor an attachment");
  return { message, attachments: paths };
}

/**
 * A body as the entry that is to be the tip; null for before the first.
 *
 * @throws HttpFailure 400 for anything else
 */
export function asEntryId(body: unknown): string | null {
  const { entryId } = recordOf(body);
  if (entryId === null || typeof entryId === "string") return entryId;
  throw invalid("entryId: expected a string or null");
}

function recordOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw invalid("the body: expected an object");
  }
  return body as Readonly<Record<string, unknown>>;
}

function invalid(message: string): HttpFailure {
  return new HttpFailure(400, { code: "INVALID_BODY", message });
}
