import { png } from "../attachments/samples.js";

/** The conversation of the tests. */
export const to = { channel: "mcp", id: "default" } as const;

/** A PNG of exactly so many bytes: what stands behind its end is no part of the picture. */
export function pngOf(bytes: number, grey = 128): Uint8Array {
  const whole = png(2, 3, grey);
  const padded = new Uint8Array(bytes);
  padded.set(whole);
  return padded;
}
