/** How a message names who made it: the provider by its first name, and the package by the rest. */
export function makerNames(
  provider: string,
  modelId: string,
): { readonly provider: string; readonly model: string; readonly api: string } {
  return { provider: provider.split(".")[0] ?? provider, model: modelId, api: `ai-sdk/${provider}` };
}
