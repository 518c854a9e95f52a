/** The block at the end of a summary that lists the attachments of the summarised part. */

/** The tag of the block. */
export const coveredTag = "covered-resources";

const opening = `<${coveredTag}>`;
const closing = `</${coveredTag}>`;

/** The first line of a note. The lines after it belong to the note. */
const noted = /^- (res_[0-9a-f]{16})\b/;
const olderNotes = /^- \d{1,9} older ones, not listed here$/;

/** The ids in the blocks of a text, in order, without repetitions. */
export function notedIds(text: string): readonly string[] {
  const ids = new Set<string>();
  for (const { start, end } of blocksIn(text)) {
    for (const line of text.slice(start, end).split("\n")) {
      const id = noted.exec(line)?.[1];
      if (id !== undefined) ids.add(id);
    }
  }
  return [...ids];
}

/**
 * Removes notes from the blocks of a text, and blocks without notes. Returns the same text if all are kept.
 * Notes without an id are removed. An unclosed block ends with the text. Linear in the text.
 */
export function filterNotes(text: string, isKept: (resourceId: string) => boolean): string {
  let result = "";
  let at = 0;
  for (const { start, end } of blocksIn(text)) {
    const before = text.slice(start, end);
    const block = blockWith(before, isKept);
    const prose = text.slice(at, start);
    result += block === "" ? prose.trimEnd() : prose + block;
    at = end;
  }
  return at === 0 ? text : result + text.slice(at);
}

/** The sentence of older versions that asks the model to view, even if it has no tool for that. */
const invitation = "Ask to view one again, by its id, before relying on details:";

/** The sentence before the ids in a block. */
export const idsFollow = "These are their ids:";

/** Replaces the invitation in the blocks of a text. Linear in the text. */
export function withoutInvitation(text: string): string {
  let result = "";
  let at = 0;
  for (const { start, end } of blocksIn(text)) {
    result += text.slice(at, start) + text.slice(start, end).replace(invitation, idsFollow);
    at = end;
  }
  return at === 0 ? text : result + text.slice(at);
}

function blockWith(block: string, isKept: (resourceId: string) => boolean): string {
  const lines: string[] = [];
  let notes = 0;
  let isIn = true;
  for (const line of block.split("\n")) {
    if (line.startsWith("- ")) {
      const id = noted.exec(line)?.[1];
      isIn = id === undefined ? olderNotes.test(line) : isKept(id);
      if (isIn) notes++;
    } else if (line === closing) isIn = true;
    if (isIn) lines.push(line);
  }
  return notes === 0 ? "" : lines.join("\n");
}

function* blocksIn(text: string): Iterable<{ readonly start: number; readonly end: number }> {
  for (let start = text.indexOf(opening); start >= 0; ) {
    const closed = text.indexOf(closing, start);
    const end = closed < 0 ? text.length : closed + closing.length;
    yield { start, end };
    start = text.indexOf(opening, end);
  }
}
