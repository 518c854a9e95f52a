import { isRecord } from "../../internal/shape.js";
import type { AiSdkProviderOptions } from "./messages.js";

/**
 * What a provider marked a part with, as text that a message of a session can hold: signatures, ids of items. Undefined where
 * there is nothing.
 */
export function signatureOf(options: unknown): string | undefined {
  return isRecord(options) && Object.keys(options).length > 0 ? JSON.stringify(options) : undefined;
}

/** The inverse of {@link signatureOf}; undefined for any other text. */
export function optionsOf(signature: string | undefined): AiSdkProviderOptions | undefined {
  if (signature === undefined) return undefined;
  try {
    const options: unknown = JSON.parse(signature);
    return isProviderOptions(options) ? options : undefined;
  } catch {
    return undefined;
  }
}

function isProviderOptions(value: unknown): value is AiSdkProviderOptions {
  return isRecord(value) && Object.values(value).every(isRecord);
}
