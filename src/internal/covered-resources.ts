/** The tag of the block that lists, at the end of a summary, the attachments that it covers. */
export const coveredTag = "covered-resources";

const opening = `<${coveredTag}>`;
const closing = `</${coveredTag}>`;

/** A line of a block that begins a note; what follows it belongs to the note. */
const noted = /^- (res_[0-9a-f]{16})\b/;
const olderNotes = /^- \d+ older ones, not listed here$/;

/** The ids that the blocks of a text note, each once and in order. */
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
 * A text whose blocks have only the notes that are kept; the same text where all are. A block of which none is left goes. A note
 * without an id is not kept, and a block that nothing closes ends with the text. Linear in the text.
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

/** The sentence by which notes of older versions invite to view, whether or not there is a tool for it. */
const invitation = "Ask to view one again, by its id, before relying on details:";

/** What leads to the ids in a block of notes. */
export const idsFollow = "These are their ids:";

/** A text whose blocks of notes invite to nothing; the text around them stays as it is. Linear in the text. */
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
