import { isRecord } from "../../internal/shape.js";

/** A value in a text of JSON: where it stands, and what it is made of. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly members?: ReadonlyMap<string, Span>;
  readonly items?: readonly Span[];
}

/**
 * The JSON of `after`, in the words of `text` wherever `after` has what `before` has: digits that a number cannot hold,
 * and blocks that `before` only names, stay as they are written. Objects are the same by identity.
 *
 * @param text JSON that parses to `before`, but for what its reader left out or put in the place of something unknown
 */
export function splicedJson(text: string, before: unknown, after: unknown): string {
  return write(text, spanAt(text, skipSpace(text, 0)), before, after);
}

function write(text: string, span: Span, before: unknown, after: unknown): string {
  if (before === after) return text.slice(span.start, span.end);
  if (Array.isArray(before) && Array.isArray(after) && span.items !== undefined) {
    const { items } = span;
    const written = after.map((item: unknown, index) => {
      const known = before[index] === item || !isObject(item) ? index : before.indexOf(item);
      const at = items[known];
      return at === undefined ? JSON.stringify(item) : write(text, at, before[known], item);
    });
    return `[${written.join(",")}]`;
  }
  if (!isRecord(before) || !isRecord(after) || span.members === undefined) return JSON.stringify(after);
  const members: string[] = [];
  const add = (key: string): void => {
    const member = after[key];
    const at = Object.hasOwn(before, key) ? span.members?.get(key) : undefined;
    if (member === undefined) return;
    members.push(
      `${JSON.stringify(key)}:${at === undefined ? JSON.stringify(member) : write(text, at, before[key], member)}`,
    );
  };
  for (const key of span.members.keys()) if (Object.hasOwn(after, key)) add(key);
  for (const key of Object.keys(after)) if (!span.members.has(key)) add(key);
  return `{${members.join(",")}}`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Of text that JSON.parse takes, no deeper than a line may be. */
function spanAt(text: string, start: number): Span {
  switch (text[start]) {
    case "{": {
      const members = new Map<string, Span>();
      let at = skipSpace(text, start + 1);
      while (text[at] !== "}") {
        const end = stringEnd(text, at);
        const key: string = JSON.parse(text.slice(at, end));
        const member = spanAt(text, skipSpace(text, skipSpace(text, end) + 1));
        members.set(key, member);
        at = skipSpace(text, member.end);
        if (text[at] === ",") at = skipSpace(text, at + 1);
      }
      return { start, end: at + 1, members };
    }
    case "[": {
      const items: Span[] = [];
      let at = skipSpace(text, start + 1);
      while (text[at] !== "]") {
        const item = spanAt(text, at);
        items.push(item);
        at = skipSpace(text, item.end);
        if (text[at] === ",") at = skipSpace(text, at + 1);
      }
      return { start, end: at + 1, items };
    }
    case '"':
      return { start, end: stringEnd(text, start) };
    default: {
      let end = start;
      while (end < text.length && !",]} \t\r\n".includes(text[end] as string)) end++;
      return { start, end };
    }
  }
}

/** Behind the quote that ends the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t" || text[at] === "\r" || text[at] === "\n") at++;
  return at;
}
