/** JSON that may be cut off at its end, as the first bytes of a file are. */

import { isTooDeep } from "../../core/json.js";
import { maxLineDepth } from "./lines.js";
import { parseJson } from "./values.js";

/**
 * The value of a text; of a cut one the members that are whole. Undefined for a text that is not JSON. Never
 * throws.
 */
export function parseCutJson(text: string): unknown {
  if (isTooDeep(text, maxLineDepth)) return undefined;
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const closed = closedJson(text);
  return closed === undefined ? undefined : parseJson(closed);
}

/** The text up to its last complete member, with the brackets that are open there closed. */
function closedJson(text: string): string | undefined {
  const open: string[] = [];
  let end = -1;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (inString) {
      if (character === "\\") at++;
      else if (character === '"') inString = false;
    } else if (character === '"') {
      inString = true;
    } else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]");
      end = at + 1;
    } else if (character === "}" || character === "]") {
      if (open.pop() !== character) return undefined;
      if (open.length === 0) return text.slice(0, at + 1);
      end = at + 1;
    } else if (character === ",") {
      // The member before a comma is whole.
      end = at;
    }
  }
  return end < 0 || open.length === 0 ? undefined : text.slice(0, end) + open.reverse().join("");
}
