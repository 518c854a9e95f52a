/**
 * Forms of secrets that a regular expression finds in linear time only with care: keys in PEM, JSON Web
 * Tokens, and values of variables whose name marks them as secret.
 */

type Range = readonly [start: number, end: number];

const dashes = "-----";
const header = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** The end of a line: as it is, or as JSON has it. */
const lineEnd = /\r?\n|(?:\\{1,8}r)?\\{1,8}n/g;
/** Longer than a line of PEM with the prefix of an output, such as a line number. */
const maxLine = 4200;
/** Before a line in an output: a number, a sign of a diff or quote, a comment. */
const lineStart = /^(?:\s{0,16}\d{1,7}(?:→|\t|[:|] ?))?[\s+>#*|"'`]{0,16}/;
/** A line of the body: a header of the key, or base64, after which a string may end. */
const bodyLine = /^(?:(?:Proc-Type|DEK-Info|Version|Comment): .{0,200}|[A-Za-z0-9+/=]{0,4096})/;
const endOfString = /^\s{0,16}["'`,;\\+]{0,8}\s{0,16}$/;
/** A shorter line before other text is a word. */
const minLastLine = 16;

/**
 * Private keys in PEM, from their header to their footer; without a footer, to the last line of the body.
 * Each character between two runs of dashes is read once.
 */
export function* findPrivateKeys(text: string): Generator<Range> {
  for (const { 0: begin, index } of text.matchAll(header)) {
    const body = index + begin.length;
    const next = text.indexOf(dashes, body);
    const footer = /^-----END [A-Z0-9 ]{0,40}KEY(?: BLOCK)?-----/.exec(text.slice(next, next + 80));
    if (next >= 0 && footer !== null) yield [index, next + footer[0].length];
    else yield [index, endOfBody(text, body, next < 0 ? text.length : next)];
  }
}

/** The end of the lines of base64 that follow a header without a footer. */
function endOfBody(text: string, from: number, limit: number): number {
  const rest = text.slice(from, limit);
  let end = 0;
  let start = 0;
  for (const { 0: separator, index } of [...rest.matchAll(lineEnd), { 0: "", index: rest.length }]) {
    if (index - start > maxLine) break;
    const line = rest.slice(start, index);
    const indent = lineStart.exec(line)?.[0].length ?? 0;
    const body = bodyLine.exec(line.slice(indent))?.[0].length ?? 0;
    const isWhole = endOfString.test(line.slice(indent + body));
    if (body > 0 && (isWhole || body >= minLastLine)) end = start + indent + body;
    if (!isWhole) break;
    start = index + separator.length;
  }
  return from + end;
}

/** Of base64url. */
const tokenCharacter = /[\w-]/;

/**
 * JSON Web Tokens: three parts in base64url with points between, of which the first two begin as JSON objects do.
 * A run of characters is read once, however many of its places begin like a token.
 */
export function* findJsonWebTokens(text: string): Generator<Range> {
  let from = text.indexOf("eyJ");
  while (from >= 0) {
    const headerEnd = endOfRun(text, from);
    let end = headerEnd;
    if (headerEnd - from >= 16 && text.startsWith(".eyJ", headerEnd)) {
      const payloadEnd = endOfRun(text, headerEnd + 1);
      end = text[payloadEnd] === "." ? endOfRun(text, payloadEnd + 1) : payloadEnd;
      if (payloadEnd - headerEnd >= 12) yield [from, end];
    }
    from = text.indexOf("eyJ", end);
  }
}

function endOfRun(text: string, from: number): number {
  let end = from;
  while (end < text.length && tokenCharacter.test(text[end] as string)) end++;
  return end;
}

const secretName =
  /passw(?:or)?d|passphrase|secret|(?:api|access|private)[_-]?key|(?:auth|access)[_-]?token|credential/;
const assignment = /[\w-]{0,30}["'\\]{0,4}\s{0,8}(?:=|:|=>|:=)\s{0,8}/;
/** In quotes, as members of JSON have it, also names that mean less in a text. */
const quotedName = /pwd|pass|token/;
const plainValue = /["'`\\]{0,4}([\w+/=.~!@#%^&-]{8,200})/;
const quotedValue = /["'`]([^\s"'`\\(){}<>[\]]{8,200})["'`]/;
const assigned = new RegExp(
  `(?:(?:${secretName.source})${assignment.source}|(?:${quotedName.source})(?:=|["']\\s{0,8}[=:]\\s{0,8}))` +
    `(?:${quotedValue.source}|${plainValue.source})`,
  "dgi",
);
const minEntropy = 3;

/**
 * Values that are assigned to a name such as `password` or `API_KEY`, if they have digits and letters and the
 * spread of characters that a random value has. A word of a language, a type or a call is not one.
 */
export function* findAssignedSecrets(text: string): Generator<Range> {
  for (const { 1: quoted, 2: plain = "", indices } of text.matchAll(assigned)) {
    const value = quoted ?? plain;
    const range = indices?.[1] ?? indices?.[2];
    if (range === undefined || !/\d/.test(value) || !/[A-Za-z]/.test(value)) continue;
    if (entropy(value) >= minEntropy) yield range;
  }
}

/** Shannon's entropy in bits a character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
