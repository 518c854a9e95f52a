/**
 * Whether an error is a provider's refusal because the prompt is too long for the model. Takes what any client throws, and
 * looks into its message, code, cause and body. Never throws.
 */
export function isContextOverflow(_error: unknown): boolean {
  return false;
}
