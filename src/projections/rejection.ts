import { isRecord } from "../internal/shape.js";

/** What a provider said when it refused a request. */
export interface Rejection {
  /** Empty where it said nothing. */
  readonly message: string;
  /** Of HTTP, where it is known. */
  readonly status: number | undefined;
}

/** Libraries wrap what the provider said. */
const wrappers = ["error", "cause", "lastError", "data"] as const;
const maxDepth = 4;

/** What an error of a client, or the body of a response, says. */
export function rejectionOf(error: unknown): Rejection {
  if (typeof error === "string") return { message: error, status: undefined };
  let said = "";
  let found: number | undefined;
  let at = error;
  for (let depth = 0; depth < maxDepth && isRecord(at); depth++) {
    const { message, status, statusCode, code, $metadata } = at;
    const http = isRecord($metadata) ? $metadata.httpStatusCode : undefined;
    if (said === "" && typeof message === "string") said = message;
    found ??= [status, statusCode, http, code].find((one) => typeof one === "number");
    const record: Record<string, unknown> = at;
    if (said === "" && typeof record.error === "string") said = record.error;
    at = wrappers.map((name) => record[name]).find(isRecord);
  }
  return { message: said, status: found };
}

/** Whether a refusal is about what is attached; not of profiles, what is done immediately, or where the documentation is. */
export function isAboutMedia({ message }: Rejection): boolean {
  return /(?<![a-z])(?:image|picture|document(?!ation)|pdf|file|media|base64)/i.test(message);
}

/** Whether a refusal is about how many bytes there are: what is attached makes most of them. */
export function isAboutSize({ message, status }: Rejection): boolean {
  if (status === 413 || /too (?:large|big)|request_too_large/i.test(message)) return true;
  return (
    /exceed|maximum|limit/i.test(message) && /\b(?:size|bytes|payload|entity)|\d ?[kmg]i?b\b/i.test(message)
  );
}

/** Whether a refusal is about how much there is to read, or how often: nothing that is attached is to blame. */
export function isAboutTokens({ message, status }: Rejection): boolean {
  return status !== 413 && /\btokens?\b|context (?:window|length|limit)|rate.?limit|quota/i.test(message);
}
