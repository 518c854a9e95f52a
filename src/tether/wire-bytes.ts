import { tetherLimits } from "../limits/index.js";
import type { TetherFrame } from "./frame.js";
import { frameTooLarge, limitExceeded } from "./limit-errors.js";

/**
 * The bytes of a frame as JSON, without writing its images out: base64 takes as many bytes as characters, and nothing is escaped.
 *
 * @throws SessileError LIMIT_EXCEEDED where one text alone is too long: what JSON escapes could else be more than a string holds
 */
export function wireBytes(frame: TetherFrame): number {
  let bytes = 0;
  const rest = JSON.stringify(frame, (key, value: unknown) => {
    if (typeof value !== "string") return value;
    if (value.length > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(value.length));
    if (key !== "data") return value;
    bytes += value.length;
    return "";
  });
  return bytes + utf8Bytes(rest);
}

/** Refuses a frame of ours that is too long for the wire, as its reader would. */
export function assertFitsWire(frame: TetherFrame): void {
  const bytes = wireBytes(frame);
  if (bytes > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(bytes));
}

const encoder = new TextEncoder();
const scratchBytes = 2 ** 16;

/** The bytes of text as UTF-8, counted piece by piece: no copy of it is made. */
export function utf8Bytes(text: string): number {
  const scratch = new Uint8Array(scratchBytes);
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    // A pair that the piece cuts in two does not fit into what is left of the scratch, so it begins the next piece.
    const { read, written } = encoder.encodeInto(text.slice(at, at + scratchBytes), scratch);
    at += read;
    bytes += written;
  }
  return bytes;
}
