import { SessileError } from "../errors/index.js";

/** Why a context cannot be made small enough. */
const reasons = {
  "nothing-to-summarize": "there is nothing left to summarise",
  kept: "what has to stay does not fit",
  longer: "no summary was smaller than what it replaces",
  "over-limit": "what a summary left was still too large",
} as const;

/** The error of a context that cannot be made small enough. */
export function irreducible(
  reason: keyof typeof reasons,
  { tokensBefore, limit }: { readonly tokensBefore: number; readonly limit: number },
  tokens: number,
): SessileError<"IRREDUCIBLE"> {
  const what = `${reasons[reason]} (${tokens} tokens, at most ${limit}); nothing was written`;
  return new SessileError("IRREDUCIBLE", what, { details: { reason, tokensBefore, tokens, limit } });
}
