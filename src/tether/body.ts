import { SessileError } from "../errors/index.js";
import { decodeUtf8 } from "../internal/bytes.js";
import { tooDeep } from "../internal/json-depth.js";
import { tetherLimits } from "../limits/index.js";
import { frameTooLarge, limitExceeded } from "./limit-errors.js";

/** As for a session's lines: what is deeper breaks every recursive reader after this one. */
const maxDepth = 256;

/** The JSON of a body, which is measured before anything is made of it. */
export function parseBody(body: Uint8Array | string): unknown {
  const size = sizeOf(body);
  if (size > tetherLimits.maxWireBytes) throw limitExceeded(frameTooLarge(size));
  const text = typeof body === "string" ? body : decodeUtf8(body);
  if (text === undefined) throw noFrame("UTF-8");
  if (tooDeep(text, maxDepth)) throw noFrame(`JSON that is at most ${maxDepth} deep`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noFrame("JSON", cause);
  }
}

/** Bytes on the wire, or fewer where they are too few to matter. */
function sizeOf(body: Uint8Array | string): number {
  if (typeof body === "string") {
    // One unit of a string is three bytes at most.
    return body.length * 3 <= tetherLimits.maxWireBytes ? body.length : utf8Bytes(body);
  }
  return body.length;
}

function noFrame(expected: string, cause?: unknown): SessileError<"INVALID_MESSAGE"> {
  const message = `frame: expected ${expected}`;
  return new SessileError("INVALID_MESSAGE", message, { details: { path: "", expected }, cause });
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
