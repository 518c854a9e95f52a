import type { LineNote } from "./decode.js";

/** What can be wrong with a line besides what is in it. */

export function tooLongNote(bytes: number): LineNote {
  return { code: "LINE_TOO_LONG", message: `the line has ${bytes} bytes, more than the reader takes` };
}

export function tornNote(bytes: number): LineNote {
  return { code: "TORN_TAIL", message: `the last ${bytes} bytes are no whole line` };
}

export function beforeHeaderNote(lines: number): LineNote {
  return { code: "BEFORE_HEADER", message: `${lines} lines stand before the header` };
}

export const extraHeaderNote: LineNote = { code: "EXTRA_HEADER", message: "a second header, ignored" };

export const newerVersionNote: LineNote = {
  code: "NEWER_VERSION",
  message: "the session was written by a newer version: it opens for reading only",
};
