import { tetherLimits } from "../limits/index.js";
import { utf8Bytes } from "./body.js";
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
