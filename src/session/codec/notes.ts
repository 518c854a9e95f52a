import type { LineNote } from "./decode.js";

/** What can be wrong with a line besides what is in it. */

export function tooLongNote(bytes: number): LineNote {
  return { code: "LINE_TOO_LONG", message: `the line has ${bytes} bytes, more than the reader takes` };
}

export function tornNote(bytes: number): LineNote {
  return { code: "TORN_TAIL", message: `the last ${bytes} bytes are no whole line` };
}

/**
 * Whether a line ends with the tab that {@link SessionLog.prepare} puts behind a torn line. No writer ends a line so, and a
 * line of whitespace alone is blank to every reader.
 */
export function isEndedLate(bytes: Uint8Array, end = bytes.length): boolean {
  return bytes[end - 1] === 0x09;
}

/** What ends a torn line, and what ends one that is whole. */
export const lateEnding: Uint8Array = Uint8Array.of(0x09, 0x0a);

export function tornLineNote(bytes: number): LineNote {
  return {
    code: "TORN_LINE",
    message: `the line was torn after ${bytes} bytes, and ended by a later writer`,
  };
}

export function beforeHeaderNote(lines: number): LineNote {
  return { code: "BEFORE_HEADER", message: `${lines} lines stand before the header` };
}

export const extraHeaderNote: LineNote = { code: "EXTRA_HEADER", message: "a second header, ignored" };

export const newerVersionNote: LineNote = {
  code: "NEWER_VERSION",
  message: "the session was written by a newer version: it opens for reading only",
};
