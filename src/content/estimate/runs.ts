/** Token estimators that count runs of characters by script. */

import { type Kind, kinds, readKind } from "./characters.js";

/** Tokens per character, by script. */
type ScriptWeights = Readonly<
  Record<Exclude<Kind, "lower" | "upper" | "digit" | "space" | "lineEnd" | "mark">, number>
>;

/**
 * The cost of runs of characters. Fitted to o200k_base by least squares of the relative error, on source
 * code, documents and noise. bench/estimate-error.ts measures the error on text outside the fit.
 */
export interface RunWeights {
  /** A piece of a word by length (up to 4, 8, more), if its token includes the space or mark before it. */
  readonly attached: readonly [number, number, number];
  /** A piece of a word after anything else. */
  readonly bare: readonly [number, number, number];
  /** Each letter of a piece beyond the 13th. */
  readonly tail: number;
  /** A run of capitals: the piece, and each letter beyond the second. */
  readonly capitals: readonly [number, number];
  /** Three digits. */
  readonly digits: number;
  /** A letter with a diacritic, in addition. */
  readonly diacritic: number;
  /** Each character of a run that is not a word, such as base64 or a digest: in mixed case, in one case. */
  readonly noise: readonly [number, number];
  /** White space before a digit, in addition: tokens of digits never include it. */
  readonly spaceBeforeDigit: number;
  /** Two spaces or more within a line. */
  readonly spaces: number;
  /** A line end: after a mark, whose token may include it, and after anything else. */
  readonly lineEnd: readonly [number, number];
  /** One mark: before a letter whose token includes it, and alone. */
  readonly mark: readonly [number, number];
  /** Several marks: the first two, each further one, each repeated one. */
  readonly marks: readonly [number, number, number];
  /** A Cyrillic word, in addition to its letters. */
  readonly cyrillicWord: number;
  /** A symbol that repeats the one before. */
  readonly repeatedSymbol: number;
  readonly scripts: ScriptWeights;
}

/** The longest run of one character with a token of its own in o200k_base. */
const longestSpaces = 128;
const longestLineEnds = 16;

const { lower, upper, digit, lineEnd, mark, symbol, cyrillic } = kinds;
const spaceCode = 0x20;

/** Returns an estimator: the tokens of a text, not rounded, in one pass and constant memory. */
export function runEstimator(weights: RunWeights): (text: string) => number {
  const scripts = Float64Array.from({ length: kinds.other + 1 });
  for (const [name, tokens] of Object.entries(weights.scripts)) scripts[kinds[name as Kind]] = tokens;

  return (text) => {
    const { length } = text;
    const word: Word = { end: 0, tokens: 0 };
    let tokens = 0;
    /** The previous character is a space or single mark that the token of a word would include. */
    let attachable = false;
    let previous = 0;
    let at = 0;
    while (at < length) {
      const start = at;
      const code = text.charCodeAt(at);
      const kind = readKind[code] as number;
      if (kind <= digit) {
        readWord(text, at, attachable, weights, word);
        tokens += word.tokens;
        at = word.end;
        attachable = false;
      } else if (kind >= symbol) {
        at++;
        if (kind === symbol && start > 0 && text.charCodeAt(start - 1) === code)
          tokens += weights.repeatedSymbol;
        else tokens += scripts[kind] as number;
        if (kind === cyrillic && previous !== cyrillic) tokens += weights.cyrillicWord;
        attachable = false;
      } else {
        let repeats = 0;
        let last = code;
        let next = 0;
        for (at++; at < length; at++) {
          next = text.charCodeAt(at);
          if (readKind[next] !== kind) break;
          if (next === last) repeats++;
          last = next;
        }
        const nextKind = at < length ? (readKind[next] as number) : lineEnd;
        const more = at - start - 2;
        if (kind === mark) {
          attachable =
            more < 0 && nextKind <= upper && !(start > 0 && text.charCodeAt(start - 1) === spaceCode);
          if (more < 0) tokens += weights.mark[attachable ? 0 : 1];
          else tokens += marksTokens(more, Math.min(repeats, more), weights);
        } else if (kind === lineEnd) {
          tokens += weights.lineEnd[previous === mark ? 0 : 1] + Math.floor((more + 1) / longestLineEnds);
          attachable = false;
        } else {
          if (more >= 0) tokens += weights.spaces + Math.floor((more + 1) / longestSpaces);
          if (nextKind === digit) tokens += weights.spaceBeforeDigit;
          attachable = true;
        }
      }
      previous = kind;
    }
    return tokens;
  };
}

function marksTokens(more: number, repeated: number, { marks }: RunWeights): number {
  return marks[0] + marks[1] * (more - repeated) + marks[2] * repeated;
}

/** The word read so far. */
interface Word {
  end: number;
  tokens: number;
}

/** Reads letters and digits piece by piece: `fileSize12` has three pieces. */
function readWord(text: string, start: number, attachable: boolean, weights: RunWeights, word: Word): void {
  const { length } = text;
  let tokens = 0;
  let digits = 0;
  let capitals = 0;
  let changes = 0;
  let piece = start;
  let attached = attachable;
  let previous = 0;
  let isCapital = false;
  let at = start;
  for (; at < length; at++) {
    const code = text.charCodeAt(at);
    const kind = readKind[code] as number;
    if (kind === previous && kind === lower && code < 128) continue;
    if (kind > digit) break;
    if (code > 127) tokens += weights.diacritic;
    if (kind === digit) digits++;
    else if (kind === upper) capitals++;
    if (kind === previous) continue;
    if (previous === 0) {
      isCapital = kind === upper;
    } else if (kind === lower && previous === upper) {
      // A capital at the start of a word is not a change; a run of capitals before lower case is.
      if (at - piece > 1) changes++;
      isCapital = false;
    } else {
      changes++;
      tokens += pieceTokens(at - piece, previous, isCapital, attached, weights);
      attached = false;
      piece = at;
      isCapital = kind === upper;
    }
    previous = kind;
  }
  const size = at - start;
  word.end = at;
  word.tokens = isNoise(size, digits, changes)
    ? size * weights.noise[capitals > 0 && size - digits > capitals ? 0 : 1]
    : tokens + pieceTokens(at - piece, previous, isCapital, attached, weights);
}

/** Whether a run changes between cases and digits too often for a word. */
function isNoise(size: number, digits: number, changes: number): boolean {
  if (size < 8 || changes < 3 || size === digits) return false;
  return digits > 0 || (size >= 24 && changes * 5 >= size);
}

function pieceTokens(
  length: number,
  kind: number,
  isCapital: boolean,
  attached: boolean,
  weights: RunWeights,
): number {
  if (kind === digit) return Math.ceil(length / 3) * weights.digits;
  if (isCapital && length > 1) return weights.capitals[0] + weights.capitals[1] * (length - 2);
  const byLength = attached ? weights.attached : weights.bare;
  if (length <= 4) return byLength[0];
  if (length <= 8) return byLength[1];
  return byLength[2] + weights.tail * Math.max(0, length - 13);
}
