/** The body of a refusal, but for `ok`. https://core.telegram.org/bots/api#making-requests, read 2026-11-22. */
export interface FailureFacts {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

/** A call that is refused. */
export class Failure extends Error {
  constructor(readonly facts: FailureFacts) {
    super(facts.description);
  }
}

export function badRequest(why: string): Failure {
  return new Failure({ error_code: 400, description: `Bad Request: ${why}` });
}

/** What is answered to a call that comes too soon. */
export function tooManyRequests(seconds: number): FailureFacts {
  return {
    error_code: 429,
    description: `Too Many Requests: retry after ${seconds}`,
    parameters: { retry_after: seconds },
  };
}
