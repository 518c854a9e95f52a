/**
 * Parser of the XML in replies of S3: elements, text and the predefined entities. Attributes are skipped.
 * Everything that these replies do not have is refused: document types, comments, CDATA sections, processing
 * instructions, text beside elements.
 *
 * @see https://www.w3.org/TR/xml/ sections 2 and 4 (read 2026-11-23)
 */

/** An element. It has children or text, never both. */
export interface XmlElement {
  readonly name: string;
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Replies of S3 have four levels at most. */
const maxDepth = 8;

// After white space that S3 sends to keep a connection open during a long copy.
const prolog = /\s*(?:<\?xml[^<>?]*\?>\s*)?/y;
const openTag = /<([A-Za-z_][\w.:-]*)(?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*(\/?)>/y;
const closeTag = /<\/([A-Za-z_][\w.:-]*)\s*>/y;
const characters = /[^<]+/y;
const blank = /^\s*$/;
const reference = /&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));|&/g;
const entities = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
]);

interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

/** Parses a document; undefined for anything else. Never throws; linear. */
export function parseXml(source: string): XmlElement | undefined {
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  match(prolog);
  const open: OpenElement[] = [];
  for (;;) {
    const parent = open.at(-1);
    const started = match(openTag);
    let ended: XmlElement | undefined;
    if (started !== null) {
      const element = { name: started[1] as string, text: "", children: [] };
      if (started[2] === "/") ended = element;
      else if (open.push(element) > maxDepth) return undefined;
    } else if (parent === undefined) {
      return undefined;
    } else {
      const text = match(characters);
      const decoded = text === null ? undefined : decodeText(text[0]);
      if (text !== null) {
        if (decoded === undefined) return undefined;
        parent.text += decoded;
        continue;
      }
      if (match(closeTag)?.[1] !== parent.name) return undefined;
      ended = open.pop();
    }
    if (ended === undefined) continue;
    if (ended.children.length > 0) {
      if (!blank.test(ended.text)) return undefined;
      ended = { ...ended, text: "" };
    }
    const owner = open.at(-1);
    if (owner === undefined) return blank.test(source.slice(at)) ? ended : undefined;
    owner.children.push(ended);
  }
}

/** Replaces references by their characters; undefined if one is unknown. */
function decodeText(text: string): string | undefined {
  if (!text.includes("&")) return text;
  let isSound = true;
  const decoded = text.replace(reference, (_, hex?: string, decimal?: string, name?: string) => {
    const point = hex !== undefined ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN);
    const isScalar = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
    const character = isScalar ? String.fromCodePoint(point) : entities.get(name ?? "");
    if (character === undefined) isSound = false;
    return character ?? "";
  });
  return isSound ? decoded : undefined;
}

/** The text of the first child with this name; undefined without one. */
export function childText({ children }: XmlElement, name: string): string | undefined {
  return children.find((child) => child.name === name)?.text;
}
