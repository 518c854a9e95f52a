/** Names that files and folders can have on every system. */

import { encodeUtf8 } from "../../internal/bytes.js";
import { digestOf } from "./ids.js";

/** Of ext4, APFS and NTFS; the last counts UTF-16 units, of which a name has no more than bytes. */
const maxBytes = 255;
/** A name that is made longer than this is cut. */
const maxLength = 200;

/**
 * Names of devices on Windows, also with an extension.
 *
 * @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file (read 2026-11-23)
 */
const devices = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

/** Whether a name is that of a file on every system, and of the same one: no device, not too long. */
export function isFileName(name: string): boolean {
  if (name === "" || devices.test(name) || /[. ]$|\0/.test(name)) return false;
  return name.length <= maxBytes && encodeUtf8(name).length <= maxBytes;
}

/** A name of letters, digits and hyphens that {@link isFileName}: cut or extended by a digest if need be. */
export function fileNameOf(name: string, source: string): string {
  if (name.length <= maxLength && isFileName(name)) return name;
  return `${name.slice(0, maxLength)}-${digestOf(source).slice(0, 6)}`;
}
