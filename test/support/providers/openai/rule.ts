import type { ProviderRule } from "../rule.js";

/** A rule of OpenAI's, and how its refusal looks. A fault's `problem` is the message in the API's words. */
export interface OpenaiRule extends ProviderRule<unknown> {
  /** The error's `code`. */
  readonly code: string | null;
  /** The error's `param`, where it is not the fault's own path; null where the API names no place. */
  readonly param?: string | null;
  /** Default 400. */
  readonly status?: number;
}
