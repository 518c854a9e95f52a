import { SessileError } from "../errors/index.js";
import { decodeUtf8 } from "../internal/bytes.js";
import { tooDeep } from "../internal/json-depth.js";
import { tetherLimits } from "../limits/index.js";
import { frameTooLarge, limitExceeded } from "./limit-errors.js";
import { utf8Bytes } from "./wire-bytes.js";

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
